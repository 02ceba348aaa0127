/* model - a model is a configuration and a graph builder; its weights are in weights.h.
 *
 *     model_config c;  graph *g;
 *     model_config_named("vit-mini", &c, error);  c.classes = 10;  c.mixer.kind = mixer_find("ssm2d");
 *     model_config_finish(&c, error);
 *     graph_create(context, 1, &g, error);
 *     tensor *logits = model_build(g, &c, batch);                      // build.h
 *
 * Adding a model: a file with its builder, compiled for both number types, and its line in
 * registry.c. */
#ifndef SSM2D_MODELS_MODEL_H
#define SSM2D_MODELS_MODEL_H

#include "mixers/mixer.h"

#include <cjson/cJSON.h>

typedef struct model model;

typedef struct model_config {
    const model *model;
    int image[2]; /* rows, columns, in pixels */
    int channels, patch, classes;
    int dim, depth, heads;
    double mlp_ratio;
    int qkv_bias;
    double norm_eps;
    int pos_embed;
    double drop_path;
    mixer_config mixer;
} model_config;

/* images: [batch][channels][rows][cols] -> [batch][classes] */
typedef tensor *model_builder(graph *g, const model_config *c, tensor *images);

/* how weights begin; see weights.h */
typedef enum model_start { START_XAVIER, START_TRUNC_NORMAL } model_start;

struct model {
    const char *name, *help;
    model_builder *build;
    model_start start;
    model_config preset; /* zero: must be given */
    int paper_classes;   /* the paper's number of parameters is for so many; 0: not in the paper */
    double paper[3];     /* in millions: plain, real, complex */
};

const model *model_at(int i); /* the i-th model that can be asked for by name, NULL past the last */

/* ---- configuration --------------------------------------------------------------------------- */

/* Everything as the table has it for this name. */
ssm2d_status model_config_named(const char *name, model_config *config, ssm2d_error *error);
/* Keys given in the object replace those in *config; `model`, read first, replaces all of them.
 * Unknown keys that are not in `others` (a NULL-ended list, or NULL) are refused with a suggestion.
 * *config may be all zeros if there is a `model`. */
ssm2d_status model_config_from_json(const char *file, const cJSON *object,
                                    const char *const *others, model_config *config,
                                    ssm2d_error *error);
ssm2d_status model_config_read(const ssm2d_context *context, const char *path, model_config *config,
                               ssm2d_error *error);
/* One key from text: "dim" and "192", "mixer.place" and "ffn"; JSON, or a bare word. `where` is for
 * messages: "--set". */
ssm2d_status model_config_set(const char *where, const char *key, const char *text,
                              model_config *config, ssm2d_error *error);
/* Fills in what follows from the rest (the patch) and checks that all of it fits together. A
 * builder needs this before. */
ssm2d_status model_config_finish(model_config *config, ssm2d_error *error);
/* To be freed with cJSON_Delete; NULL without memory. Read again it gives the same
 * configuration. */
cJSON *model_config_to_json(const model_config *config);
ssm2d_status model_config_write(const ssm2d_context *context, const char *path,
                                const model_config *config, ssm2d_error *error);

/* The i-th key as model_config_set takes it, and what it is; 0 past the last. For help and
 * suggestions. */
int model_config_key(int i, char *key, size_t size, const char **help);

int model_hidden(const model_config *c); /* width of the MLP inside a block */
/* what the mixer acts on: dim, or the hidden width */
int model_mixer_channels(const model_config *c);

#endif
