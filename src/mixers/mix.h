/* mix - puts a mixer into a graph. Compiled for float and double. */
#ifndef SSM2D_MIXERS_MIX_H
#define SSM2D_MIXERS_MIX_H

#include "graph/graph.h"
#include "mixers/mixer.h"

/* The parameters of a block's mixer, one tensor `<block>.mixer`; NULL when it has none. */
tensor *NAME(mix_params)(graph *g, const mixer_config *m, int channels, const char *block);
/* y = mixer(x) with the parameters of `block`. x, y: [B][first + rows*cols][channels] */
tensor *NAME(mix)(graph *g, tensor *x, const mixer_config *m, const char *block, int first, int rows, int cols);

#endif
