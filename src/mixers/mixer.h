/* mixer - what mixes patch tokens over their grid inside a block: one small interface, one file per
 * kind.
 *
 * Adding one: a file with what a `mixer` needs, its line in mixer.c, its file in CMakeLists.txt. */
#ifndef SSM2D_MIXERS_MIXER_H
#define SSM2D_MIXERS_MIXER_H

#include "graph/graph.h"

typedef enum mixer_place {
    PLACE_ATTN,  /* after the block's first norm, feeding q, k and v */
    PLACE_BLOCK, /* before the whole block, residual included */
    PLACE_FFN    /* between the two layers of the MLP, before GELU */
} mixer_place;

typedef struct mixer mixer;

typedef struct mixer_config {
    const mixer *kind; /* never NULL: `none` is a kind */
    mixer_place place;
    ssm2d_init init;
    ssm2d_config layer; /* its channels follow from the model */
} mixer_config;

/* x, y: [B][first + rows*cols][channels]; tokens before `first` pass unchanged. params: all of the
 * mixer's as one tensor. */
typedef tensor *mixer_apply(graph *g, tensor *x, tensor *params, const mixer_config *m, int first,
                            int rows, int cols);

struct mixer {
    const char *name, *help;
    /* The i-th parameter array for so many channels; 0 past the last, so that a kind without
     * parameters always says 0. */
    int (*array)(const mixer_config *m, int channels, int i, ssm2d_param *param);
    ssm2d_status (*init)(const mixer_config *m, int channels, uint64_t seed, float *params,
                         ssm2d_error *error);
    mixer_apply *apply;
};

extern const mixer mixer_none, mixer_ssm2d;

const mixer *mixer_at(int i); /* NULL past the last */
const mixer *mixer_find(const char *name);
/* numbers in all its arrays */
size_t mixer_total(const mixer_config *m, int channels);
/* in the order of their values; end with NULL */
extern const char *const mixer_place_names[], *const mixer_init_names[];

/* ---- in a graph ------------------------------------------------------------------------------ */

/* The parameters of a block's mixer, one tensor `<block>.mixer`; NULL when it has none. */
tensor *mix_params(graph *g, const mixer_config *m, int channels, const char *block);
/* y = mixer(x) with the parameters of `block`. x, y: [B][first + rows*cols][channels] */
tensor *mix(graph *g, tensor *x, const mixer_config *m, const char *block, int first, int rows,
            int cols);

#endif
