/* mixer - a layer of any kind (layers/kinds.def), or none, that mixes patch tokens over their grid
 * inside a block of a model. Its channels and grid are those of the tokens. */
#ifndef SSM2D_MIXERS_MIXER_H
#define SSM2D_MIXERS_MIXER_H

#include "graph/graph.h"
#include "layers/layer_kind.h"

#include <cjson/cJSON.h>

typedef enum mixer_place {
    PLACE_ATTN,  /* after the block's first norm, feeding q, k and v */
    PLACE_BLOCK, /* before the whole block, residual included */
    PLACE_FFN    /* between the two layers of the MLP, before its activation */
} mixer_place;

typedef struct mixer_config {
    const layer_kind *kind; /* never NULL; mixer_none: the plain model */
    int place;              /* a mixer_place */
    layer_values values;    /* the kind's settings, except channels */
} mixer_config;

/* The plain model, without settings and functions; not a kind of layer. */
extern const layer_kind mixer_none;

const layer_kind *mixer_at(int i); /* none, then every kind of layer; NULL past the last */
const layer_kind *mixer_find(const char *name);
/* "none, ssm2d, s4nd or ema" */
const char *mixer_names(char *text, size_t size);
/* The kind's settings without `channels`; ended by a field without a name. */
const ssm2d_field *mixer_fields(const layer_kind *kind);
/* The mixer's layer with this number of channels. */
ssm2d_layer mixer_layer(const mixer_config *m, int channels);

/* ---- configuration --------------------------------------------------------------------------- */

/* kind, place `attn`, and the kind's defaults. */
void mixer_config_default(const layer_kind *kind, mixer_config *m);
/* Parses the settings in a table of models: "directions=4 n_ssm=2". */
ssm2d_status mixer_config_preset(const char *settings, mixer_config *m, ssm2d_error *error);

/* Sets one key, given without "mixer."; any but `kind`. known is set to 0 for an unknown key. */
ssm2d_status mixer_config_set(field_source from, const char *key, const char *text, mixer_config *m,
                              int *known, ssm2d_error *error);
/* Refuses a key that the mixer does not have, with a suggestion. */
ssm2d_status mixer_config_refuse(field_source from, const mixer_config *m, const char *key,
                                 ssm2d_error *error);
/* Reads all keys of an object except `kind`; refuses unknown ones with a suggestion. */
ssm2d_status mixer_config_from_json(field_source from, const cJSON *object, mixer_config *m,
                                    ssm2d_error *error);
/* Returns an object, or JSON null for no mixer; free it with cJSON_Delete. NULL: out of memory. */
cJSON *mixer_config_to_json(const mixer_config *m);
ssm2d_status mixer_config_check(const mixer_config *m, int channels, ssm2d_error *error);
/* Key i of those that mixer_config_set accepts, and its help; returns 0 past the last. */
int mixer_config_key(const mixer_config *m, int i, const char **key, const char **help);
/* The field `place`, which every mixer has besides those of its kind. */
const ssm2d_field *mixer_place_field(void);
/* A short description: "ssm2d (d_state 16, n_ssm 2, directions 4, real)", or "none". */
const char *mixer_config_text(const mixer_config *m, char *text, size_t size);

/* ---- in a graph ------------------------------------------------------------------------------ */

/* The parameters of a block's mixer in one tensor; NULL if there is no mixer. */
tensor *mixer_params(graph *g, const mixer_config *m, int channels, token_grid grid,
                     const char *block);
/* As mix, with arrays called BLOCK.PART.NAME instead of BLOCK.mixer.NAME; part lives as long as the
 * graph. */
tensor *mix_as(graph *g, tensor *x, const mixer_config *m, const char *block, const char *part);
/* y = mixer(x) with the parameters of `block`. x, y: [B][grid.first + rows*cols][channels]; tokens
 * before the grid pass unchanged. */
tensor *mix(graph *g, tensor *x, const mixer_config *m, const char *block);

/* ---- pictures -------------------------------------------------------------------------------- */

int mixer_has_kernels(const mixer_config *m);
/* Number of channels with different kernels, before they repeat. */
int mixer_kernels(const mixer_config *m, int channels);
/* The kernels of the first `count` channels, all directions together, without D:
 * out[count][2*rows-1][2*cols-1], indexed by input position - output position. */
ssm2d_status mixer_kernel(ssm2d_context *context, const mixer_config *m, int channels, int rows,
                          int cols, const float *params, int count, double *out,
                          ssm2d_error *error);

#endif
