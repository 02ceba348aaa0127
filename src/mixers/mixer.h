/* mixer - what mixes patch tokens over their grid inside a block of a model.
 *
 * Adding one: a file that defines a `mixer`, its line in mixer.c and in CMakeLists.txt. A mixer
 * owns its configuration, a struct of at most MIXER_OWN bytes that is described by fields; it takes
 * channels and grid from the tokens it is given. */
#ifndef SSM2D_MIXERS_MIXER_H
#define SSM2D_MIXERS_MIXER_H

#include "core/field.h"
#include "graph/graph.h"

#include <cjson/cJSON.h>

typedef enum mixer_place {
    PLACE_ATTN,  /* after the block's first norm, feeding q, k and v */
    PLACE_BLOCK, /* before the whole block, residual included */
    PLACE_FFN    /* between the two layers of the MLP, before its activation */
} mixer_place;

typedef struct mixer mixer;

enum { MIXER_OWN = 192 };

typedef struct mixer_config {
    const mixer *kind;                    /* never NULL: `none` is a kind */
    int place;                            /* a mixer_place */
    _Alignas(double) char own[MIXER_OWN]; /* the kind's own configuration */
} mixer_config;

struct mixer {
    const char *name, *help;
    size_t own_size;
    const field_group *fields; /* of its own configuration; NULL: it has none */
    const char *headline;      /* the choice among them that every description shows; or NULL */
    /* What a JSON object that does not say so means, where that is not the default; may be NULL. */
    void (*from_file)(void *own);
    /* Keys of earlier versions, ended by NULL, and the reader of those in an object; or NULL. */
    const char *const *old_keys;
    ssm2d_status (*read_old)(field_source from, const cJSON *object, void *own, ssm2d_error *error);
    /* Refuses a configuration that cannot work on so many channels; may be NULL. */
    ssm2d_status (*check)(const void *own, int channels, ssm2d_error *error);
    /* Declares the parameters for one block of a model; NULL: it has none. */
    tensor *(*params)(graph *g, const mixer_config *m, int channels, token_grid grid,
                      const char *block);
    /* y = mixer(x). x, y: [B][grid.first + rows*cols][channels]; the tokens before the grid's first
     * pass unchanged. */
    tensor *(*apply)(graph *g, tensor *x, tensor *params, const mixer_config *m);
    /* For pictures: how many channels have a kernel of their own before they repeat, and the kernel
     * of all directions of the first `count` channels, without D: out[count][2*rows-1][2*cols-1],
     * by the offset of the input from the output.
     * NULL: there is none. */
    int (*kernels)(const void *own, int channels);
    ssm2d_status (*kernel)(ssm2d_context *context, const void *own, int channels, int rows,
                           int cols, const float *params, int count, double *out,
                           ssm2d_error *error);
};

extern const mixer mixer_none, mixer_ssm2d, mixer_s4nd, mixer_ema;

const mixer *mixer_at(int i); /* NULL past the last */
const mixer *mixer_find(const char *name);
/* "none, ssm2d, s4nd or ema" */
const char *mixer_names(char *text, size_t size);

/* ---- configuration --------------------------------------------------------------------------- */

/* kind, place `attn`, and the kind's defaults. */
void mixer_config_default(const mixer *kind, mixer_config *m);
/* Settings as a model's table has them: "directions=4 n_ssm=2". */
ssm2d_status mixer_config_preset(const char *settings, mixer_config *m, ssm2d_error *error);

/* One key, without "mixer.", but for `kind`; known is set to 0 when there is no such key. */
ssm2d_status mixer_config_set(field_source from, const char *key, const char *text, mixer_config *m,
                              int *known, ssm2d_error *error);
/* Refuses a key that the mixer does not have, with a suggestion. */
ssm2d_status mixer_config_refuse(field_source from, const mixer_config *m, const char *key,
                                 ssm2d_error *error);
/* All keys of an object but `kind`; refuses unknown ones with a suggestion. */
ssm2d_status mixer_config_from_json(field_source from, const cJSON *object, mixer_config *m,
                                    ssm2d_error *error);
/* An object, or null for none; to be freed with cJSON_Delete; NULL without memory. */
cJSON *mixer_config_to_json(const mixer_config *m);
ssm2d_status mixer_config_check(const mixer_config *m, int channels, ssm2d_error *error);
/* The i-th key that mixer_config_set takes, and what it is; 0 past the last. */
int mixer_config_key(const mixer_config *m, int i, const char **key, const char **help);
/* The field `place`, which every mixer has besides those of its kind. */
const ssm2d_field *mixer_place_field(void);
/* What distinguishes it: "ssm2d (d_state 16, n_ssm 2, directions 4, real)", or "none". */
const char *mixer_config_text(const mixer_config *m, char *text, size_t size);

/* ---- in a graph ------------------------------------------------------------------------------ */

/* The parameters of a block's mixer; NULL when it has none. */
tensor *mixer_params(graph *g, const mixer_config *m, int channels, token_grid grid,
                     const char *block);
/* y = mixer(x) with the parameters of `block`. */
tensor *mix(graph *g, tensor *x, const mixer_config *m, const char *block);

#endif
