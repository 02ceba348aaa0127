/* theory - the topics of `ssm2d theory`: what the paper proves about kernels, computed by the
 * library. */
#ifndef SSM2D_TOOLS_THEORY_H
#define SSM2D_TOOLS_THEORY_H

#include "theory_kernels.h"

/* How a topic is shown. */
typedef struct theory_view {
    int side;      /* of its kernels */
    uint64_t seed; /* of what is drawn at random */
} theory_view;

typedef struct theory_topic {
    const char *name, *title;
    int side; /* when none is given */
    /* Prints the topic's table to standard output. */
    ssm2d_status (*print)(ssm2d_context *context, const theory_view *view, ssm2d_error *error);
    /* Draws its picture to a .png, .svg or .pdf. */
    ssm2d_status (*draw)(ssm2d_context *context, const theory_view *view, const char *path,
                         ssm2d_error *error);
} theory_topic;

extern const theory_topic theory_pascal, theory_ranks, theory_special_case, theory_paths,
    theory_relaxation;

/* Draws the lattice paths, the paper's Figure 2, as `ssm2d theory paths -o PATH` does. */
ssm2d_status theory_paths_draw(ssm2d_context *context, const char *path, ssm2d_error *error);

#endif
