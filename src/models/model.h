/* model - a model is a configuration and a graph builder; its weights are in weights.h.
 *
 *     model_config c;  graph *g;
 *     model_config_named("vit-mini", &c, error);  c.outputs = 10;
 *     model_config_set((field_source){"--mixer"}, "mixer", "ssm2d", &c, error);
 *     model_config_finish(&c, error);
 *     graph_create(context, 1, &g, error);
 *     tensor *logits = model_build(g, &c, batch);
 *
 * A family has a builder, its own configuration, and named models. To add a family, write a file
 * that defines a `model_family`, and add it to registry.c and CMakeLists.txt. To add a model, add a
 * line to the family's table. */
#ifndef SSM2D_MODELS_MODEL_H
#define SSM2D_MODELS_MODEL_H

#include "mixers/mixer.h"

typedef struct model model;
typedef struct model_family model_family;

enum { MODEL_OWN = 512 };

/* A family's own configuration is stored as bytes in model_config.own; its struct is declared with
 * this attribute, so that compilers allow the access. */
#define OWN_CONFIG __attribute__((may_alias))
/* A task's own head: from the tokens after the last block, [batch][tokens][dim] with their grid, to
 * the input of the task's loss. */
struct model_config;
typedef tensor *model_head(graph *g, const struct model_config *c, tensor *tokens);

/* The key of outputs in files: their number in a configuration, their names in data.json and in
 * exported models. It dates from when classification was the only task. */
#define OUTPUTS_KEY "classes"

typedef struct model_config {
    const model *model; /* the named model that it started from */
    int image[2];       /* rows and columns in pixels */
    int channels, outputs;
    mixer_config mixer;
    model_head *head;                     /* NULL: the family's head, [batch][outputs] */
    _Alignas(double) char own[MODEL_OWN]; /* the family's own configuration */
} model_config;

/* The initial settings of a mixer in a model, in the form of mixer_config_preset. */
typedef struct mixer_preset {
    const char *mixer, *settings;
} mixer_preset;

struct model {
    const char *name, *help;
    const model_family *family;
    int image, channels, outputs; /* image: rows and columns; 0: must be given */
    int keeps_channels;           /* a run converts images to these channels */
    const void *own;              /* the family's own configuration; zeros must be given */
    const char *missing;          /* "KEY=VALUE ..": original defaults of keys missing in files */
    const mixer_preset *mixers;   /* ends with an entry without a mixer */
    const layer_kind *mixer;      /* the default mixer; NULL: ssm2d */
    int hidden;                   /* not listed, because its size must be given */
};

/* The names of arrays in a file of weights. */
typedef struct array_names {
    const void *file;
    int (*has)(const void *file, const char *name);
} array_names;

struct model_family {
    const char *name;
    size_t own_size;
    const ssm2d_field *fields; /* of its own configuration */
    const model *models;       /* ends with an entry without a name */
    /* Whether the model accepts images of this size. */
    int (*fits)(const model_config *c, int rows, int cols);
    /* Fills in fields that follow from others; may be NULL. */
    void (*fill)(model_config *c);
    /* Checks conditions beyond the bounds of fields, which have been checked before. */
    ssm2d_status (*check)(const model_config *c, ssm2d_error *error);
    /* images: [batch][channels][rows][cols] -> [batch][outputs] */
    tensor *(*build)(graph *g, const model_config *c, tensor *images);
    /* The number of blocks, and the tokens after the first `blocks` of them, with their grid:
     * images -> [batch][tokens][dim]. Arrays have the same names as in build. */
    int (*depth)(const model_config *c);
    tensor *(*tokens)(graph *g, const model_config *c, tensor *images, int blocks);
    /* The side in pixels of such a token; NULL: the tokens divide the image evenly. */
    int (*token_side)(const model_config *c, int blocks);
    /* Adapts fields to a new image size, such as the size of a table; may be NULL. */
    void (*adapt)(model_config *c);
    /* Published files may use other names for the model's arrays. Replaces `ours`, which holds the
     * name in the file, by the model's name. Returns 0 for an array that is not a parameter and is
     * skipped. NULL: names are the same. */
    int (*rename)(const array_names *names, const char *name, char ours[PARAM_NAME]);
};

/* ---- models by name -------------------------------------------------------------------------- */

const model *model_at(int i);  /* the i-th listed model, NULL past the last */
const model *model_any(int i); /* the i-th of all models, including hidden ones */
/* The error lists the names. */
ssm2d_status model_find(const char *name, const model **found, ssm2d_error *error);

/* ---- configuration --------------------------------------------------------------------------- */

/* The configuration of a named model, without a mixer. */
ssm2d_status model_config_named(const char *name, model_config *config, ssm2d_error *error);
/* The mixer of runs that do not name one. */
const layer_kind *model_default_mixer(const model *m);
/* Sets the mixer, with the settings that the model has for it. */
ssm2d_status model_config_use_mixer(model_config *config, const layer_kind *kind,
                                    ssm2d_error *error);

/* Sets one key from text: "dim" and "192", "mixer.place" and "ffn"; "model" and "vit", which
 * replaces all keys. from.where names the source in messages: "--set". */
ssm2d_status model_config_set(field_source from, const char *key, const char *text,
                              model_config *config, ssm2d_error *error);
/* Whether there is such a key. */
int model_config_has(const model_config *config, const char *key);

/* Sets the keys of a JSON object; `model`, read first, replaces all of them. Unknown keys that are
 * not in `others` (a NULL-terminated list, or NULL) are refused with a suggestion. *config may be
 * all zeros if the object has a `model`. */
ssm2d_status model_config_from_json(const char *file, const cJSON *object,
                                    const char *const *others, model_config *config,
                                    ssm2d_error *error);
ssm2d_status model_config_read(const ssm2d_context *context, const char *path, model_config *config,
                               ssm2d_error *error);
/* Returns an object that reads as the same configuration; the caller frees it with cJSON_Delete.
 * NULL: out of memory. */
cJSON *model_config_to_json(const model_config *config);
/* Fills in fields that follow from others (the patch of `vit`) and checks the configuration. To be
 * called before building. */
ssm2d_status model_config_finish(model_config *config, ssm2d_error *error);
/* Changes the image size, and finishes the configuration. */
ssm2d_status model_config_resize(model_config *config, const int image[2], ssm2d_error *error);
/* Whether both configurations are equal. */
int model_config_same(const model_config *a, const model_config *b);

/* The i-th key that model_config_set accepts, and its help; returns 0 past the last. */
enum { MODEL_KEY = 48 };
int model_config_key(const model_config *config, int i, char key[MODEL_KEY], const char **help);
/* The fields that every model has besides those of its family. */
const ssm2d_field *model_common_fields(void);
/* The value of a key of the model or its family as text; "-" if there is no such key. */
const char *model_config_text(const model_config *config, const char *key, char *text, size_t size);

/* ---- graph ----------------------------------------------------------------------------------- */

/* Declares the input "images" [batch][channels][rows][cols] and returns the logits
 * [batch][outputs]. config must live as long as the graph. */
tensor *model_build(graph *g, const model_config *config, size_t batch);

#endif
