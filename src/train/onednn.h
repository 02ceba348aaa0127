/* onednn - oneDNN's matrix products, for the steps of training. Other programs that stand on the
 * graph, libssm2d_model among them, do without the library. */
#ifndef SSM2D_TRAIN_ONEDNN_H
#define SSM2D_TRAIN_ONEDNN_H

#include "graph/graph.h"

/* Gives a graph that is about to be built oneDNN's sgemm. */
void onednn_use(graph *g);
/* Keeps oneDNN to the context's instruction set, where that is lower than the machine's. It is for
 * the process as a whole, and without effect once oneDNN has computed anything. */
void onednn_match_cpu(const ssm2d_context *context);
/* sgemm_function */
int onednn_sgemm(const sgemm_args *args);

#endif
