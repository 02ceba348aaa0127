/* mixer - what mixes patch tokens over their grid inside a block: one small interface, one file per kind.
 *
 * Adding one: a file with what a `mixer` needs, its line in mixers.c, its file in CMakeLists.txt. This header does not depend
 * on the number type; apply is there for both. */
#ifndef SSM2D_MIXERS_MIXER_H
#define SSM2D_MIXERS_MIXER_H

#include "ssm2d.h"

struct graph_f32;
struct graph_f64;
struct tensor_f32;
struct tensor_f64;

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

/* x, y: [B][first + rows*cols][channels]; tokens before `first` pass unchanged. params: all of the mixer's as one tensor. */
typedef struct tensor_f32 *mixer_apply_f32(struct graph_f32 *g, struct tensor_f32 *x, struct tensor_f32 *params,
                                           const mixer_config *m, int first, int rows, int cols);
typedef struct tensor_f64 *mixer_apply_f64(struct graph_f64 *g, struct tensor_f64 *x, struct tensor_f64 *params,
                                           const mixer_config *m, int first, int rows, int cols);

struct mixer {
    const char *name, *help;
    /* The i-th parameter array for so many channels; 0 past the last, so that a kind without parameters always says 0. */
    int (*array)(const mixer_config *m, int channels, int i, ssm2d_param *param);
    ssm2d_status (*init)(const mixer_config *m, int channels, uint64_t seed, float *params, ssm2d_error *error);
    mixer_apply_f32 *apply_f32;
    mixer_apply_f64 *apply_f64;
};

extern const mixer mixer_none, mixer_ssm2d;

const mixer *mixer_at(int i); /* NULL past the last */
const mixer *mixer_find(const char *name);
size_t mixer_total(const mixer_config *m, int channels);                 /* numbers in all its arrays */
extern const char *const mixer_place_names[], *const mixer_init_names[]; /* in the order of their values; end with NULL */

#endif
