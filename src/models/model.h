/* model - a model is a configuration and a graph builder; its weights are in weights.h.
 *
 *     model_config c;  graph *g;
 *     model_config_named("vit-mini", &c, error);  c.outputs = 10;
 *     model_config_set((field_source){"--mixer"}, "mixer", "ssm2d", &c, error);
 *     model_config_finish(&c, error);
 *     graph_create(context, 1, &g, error);
 *     tensor *logits = model_build(g, &c, batch);
 *
 * Models of one kind are a family: a builder, the family's own configuration, and the named models.
 * Adding a family: a file that defines a `model_family`, its line in registry.c and in
 * CMakeLists.txt. Adding a model to a family: a line in the family's table. */
#ifndef SSM2D_MODELS_MODEL_H
#define SSM2D_MODELS_MODEL_H

#include "mixers/mixer.h"

typedef struct model model;
typedef struct model_family model_family;

enum { MODEL_OWN = 512 };

/* A family's own configuration is kept as bytes in model_config.own; its struct is declared with
 * this, so that compilers expect to find it there. */
#define OWN_CONFIG __attribute__((may_alias))
/* The last layers of a task of its own: from the tokens after the last block, [batch][tokens][dim]
 * with their grid, to what the task's loss takes. */
struct model_config;
typedef tensor *model_head(graph *g, const struct model_config *c, tensor *tokens);

typedef struct model_config {
    const model *model; /* what it began as */
    int image[2];       /* rows and columns in pixels */
    int channels, outputs;
    mixer_config mixer;
    model_head *head;                     /* NULL: the family's own, [batch][outputs] */
    _Alignas(double) char own[MODEL_OWN]; /* the family's own configuration */
} model_config;

/* What a mixer begins with in a model, as mixer_config_preset takes it. */
typedef struct mixer_preset {
    const char *mixer, *settings;
} mixer_preset;

struct model {
    const char *name, *help;
    const model_family *family;
    int image, channels, outputs; /* image: rows and columns; 0: must be given */
    int keeps_channels;           /* a run does not take the data's; images are converted */
    const void *own;              /* the family's own configuration; zeros must be given */
    const char *missing;          /* "KEY=VALUE ..": what a file means that lacks newer keys */
    const mixer_preset *mixers;   /* ends without a mixer */
    const layer_kind *mixer;      /* of a run that names none; NULL: ssm2d */
    int hidden;                   /* not listed: it has no size of its own */
};

/* The names in a file of weights. */
typedef struct array_names {
    const void *file;
    int (*has)(const void *file, const char *name);
} array_names;

struct model_family {
    const char *name;
    size_t own_size;
    const ssm2d_field *fields; /* of its own configuration */
    const model *models;       /* ends without a name */
    /* Whether images of this size can be taken as they are. */
    int (*fits)(const model_config *c, int rows, int cols);
    /* Fills in what follows from the rest; may be NULL. */
    void (*fill)(model_config *c);
    /* Checks what goes beyond the bounds of fields, which hold by then. */
    ssm2d_status (*check)(const model_config *c, ssm2d_error *error);
    /* images: [batch][channels][rows][cols] -> [batch][outputs] */
    tensor *(*build)(graph *g, const model_config *c, tensor *images);
    /* How many blocks there are, and the tokens after the first `blocks` of them, with their grid:
     * images -> [batch][tokens][dim]. Arrays have the names that they have in build. */
    int (*depth)(const model_config *c);
    tensor *(*tokens)(graph *g, const model_config *c, tensor *images, int blocks);
    /* Changes what a new image size makes impossible, such as a table too small for it; may be
     * NULL. */
    void (*adapt)(model_config *c);
    /* Published files may use other names for the model's arrays. `ours` holds the name in the
     * file, and is replaced by the model's. Returns 0 for an array that is not a
     * parameter and is skipped. NULL: names are the same. */
    int (*rename)(const array_names *names, const char *name, char ours[PARAM_NAME]);
};

/* ---- models by name -------------------------------------------------------------------------- */

const model *model_at(int i);  /* the i-th model that is listed, NULL past the last */
const model *model_any(int i); /* the i-th of all, listed or not */
/* The error says which names there are. */
ssm2d_status model_find(const char *name, const model **found, ssm2d_error *error);

/* ---- configuration --------------------------------------------------------------------------- */

/* Everything as the table has it for this name, without a mixer. */
ssm2d_status model_config_named(const char *name, model_config *config, ssm2d_error *error);
/* The mixer of a run that names none. */
const layer_kind *model_default_mixer(const model *m);
/* Puts a mixer in, with the settings that the model's table has for it. */
ssm2d_status model_config_use_mixer(model_config *config, const layer_kind *kind,
                                    ssm2d_error *error);

/* One key from text: "dim" and "192", "mixer.place" and "ffn", "model" and "vit", which replaces
 * all of them. from.where is for messages: "--set". */
ssm2d_status model_config_set(field_source from, const char *key, const char *text,
                              model_config *config, ssm2d_error *error);
/* Whether there is such a key. */
int model_config_has(const model_config *config, const char *key);

/* Keys given in the object replace those in *config; `model`, read first, replaces all of them.
 * Unknown keys that are not in `others` (a NULL-ended list, or NULL) are refused with a suggestion.
 * *config may be all zeros if there is a `model`. */
ssm2d_status model_config_from_json(const char *file, const cJSON *object,
                                    const char *const *others, model_config *config,
                                    ssm2d_error *error);
ssm2d_status model_config_read(const ssm2d_context *context, const char *path, model_config *config,
                               ssm2d_error *error);
/* To be freed with cJSON_Delete; NULL if out of memory. Read again it gives the same
 * configuration. */
cJSON *model_config_to_json(const model_config *config);
ssm2d_status model_config_write(const ssm2d_context *context, const char *path,
                                const model_config *config, ssm2d_error *error);
/* Fills in what follows from the rest (the patch of `vit`) and checks that all of it fits
 * together. A builder needs this before. */
ssm2d_status model_config_finish(model_config *config, ssm2d_error *error);
/* The same model for images of another size: sets it, and finishes. */
ssm2d_status model_config_resize(model_config *config, const int image[2], ssm2d_error *error);
/* Whether both are the same model. */
int model_config_same(const model_config *a, const model_config *b);

/* The i-th key as model_config_set takes it, and what it is; 0 past the last. For help and
 * suggestions. */
enum { MODEL_KEY = 48 };
int model_config_key(const model_config *config, int i, char key[MODEL_KEY], const char **help);
/* The fields that every model has, besides those of its family; a list that ends without a name. */
const ssm2d_field *model_common_fields(void);
/* The value of a key of the model or its family as text; "-" when the family has none. */
const char *model_config_text(const model_config *config, const char *key, char *text, size_t size);

/* ---- graph ----------------------------------------------------------------------------------- */

/* Declares the input "images" [batch][channels][rows][cols] and returns the logits
 * [batch][outputs], for a loss to be added. config lives as long as the graph. */
tensor *model_build(graph *g, const model_config *config, size_t batch);

#endif
