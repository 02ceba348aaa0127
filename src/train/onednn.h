/* onednn - oneDNN's matrix products, for the steps of training. Other programs that stand on the
 * graph, libssm2d_model among them, do without the library.
 *
 * oneDNN compiles its code when a kind of product is first computed, and crashes where that finds
 * no memory. So all of that happens while planning, after a look at whether there is enough. */
#ifndef SSM2D_TRAIN_ONEDNN_H
#define SSM2D_TRAIN_ONEDNN_H

#include "graph/graph.h"

/* Gives a graph that is about to be built oneDNN's sgemm. Refuses when there is too little memory
 * for the code that oneDNN compiles. */
ssm2d_status onednn_use(graph *g, ssm2d_error *error);
/* Lets oneDNN compile its code for matrix products, within the context's instruction set: once in a
 * process, before it has computed anything. onednn_use does so; others call it before oneDNN. */
ssm2d_status onednn_start(const ssm2d_context *context, ssm2d_error *error);
/* sgemm_function */
int onednn_sgemm(const sgemm_args *args);

#endif
