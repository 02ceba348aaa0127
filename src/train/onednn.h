/* onednn - oneDNN's matrix products for training steps. Other users of the graph, such as
 * libssm2d_model, do not need the library.
 *
 * oneDNN compiles its code when a kind of product is first computed, and crashes if it runs out of
 * memory then. All code is therefore compiled while planning, after checking the free memory. */
#ifndef SSM2D_TRAIN_ONEDNN_H
#define SSM2D_TRAIN_ONEDNN_H

#include "graph/graph.h"

/* Sets oneDNN's sgemm in a graph that is about to be built. Fails if there is too little memory for
 * the code that oneDNN compiles. */
ssm2d_status onednn_use(graph *g, ssm2d_error *error);
/* Compiles oneDNN's code for matrix products, within the context's instruction set, once per
 * process. onednn_use calls it; other users call it before their first product. */
ssm2d_status onednn_start(const ssm2d_context *context, ssm2d_error *error);
/* sgemm_function */
int onednn_sgemm(const sgemm_args *args);

#endif
