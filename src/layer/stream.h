/* stream - a scan plan of one row, and the states it carries from row to row. */
#ifndef SSM2D_LAYER_STREAM_H
#define SSM2D_LAYER_STREAM_H

#include "layer/plan.h"

struct ssm2d_stream {
    ssm2d_context *context;
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    void *states;
    size_t bytes; /* of states */
};

#endif
