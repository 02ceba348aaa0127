/* ssm2d_model.h - a trained model in C and C++ programs: open, create a session, run.
 *
 * A model is what `ssm2d train` leaves in a run's folder, a model file that `ssm2d quantize` makes
 * of it, or a configuration and weights. A session fixes batch, rows, columns and threads, and owns
 * all memory that running needs. Running allocates nothing and fails only for invalid arguments.
 *
 *     ssm2d_model *model;  ssm2d_session *session;  ssm2d_error err;
 *     if (ssm2d_model_open("runs/demo", NULL, &model, &err)
 *         || ssm2d_session_create(model, NULL, &session, &err)
 *         || ssm2d_session_prepare(session, 0, pixels, rows, cols, 3, 0, &err)  // 8 bits, any size
 *         || ssm2d_session_run(session, NULL, 1, logits, &err)                  // [1][outputs]
 *         || ssm2d_model_probabilities(model, logits, 1, probabilities, &err)) {
 *         puts(err.line); ...
 *     }
 *
 * Threads: a model may be shared by any number of threads; a session is used by one thread at a
 * time. Results have the same bits for any number of threads and sessions, and in any
 * floating-point mode of the caller, which is restored. The library never prints or exits.
 *
 * libssm2d_model (pkg-config ssm2d-model) contains a private copy of what it needs of libssm2d,
 * with hidden symbols: a program may link either library, or both in any order, shared or static.
 * Objects of one library must not be passed to the other. This header uses types of ssm2d.h.
 * docs/deploy.md has a walk through these functions. MIT licence. */
#ifndef SSM2D_MODEL_H
#define SSM2D_MODEL_H

#include "ssm2d.h"

#ifdef __cplusplus
extern "C" {
#endif

SSM2D_API const char *ssm2d_model_version(void);

/* Structs that begin with their own size may grow, like those of ssm2d.h: start from the functions
 * named default, which set the size. */

/* ---- opening --------------------------------------------------------------------------------- */

typedef struct ssm2d_model ssm2d_model;

/* Which weights of a run's folder: those of the latest epoch (for a run with --ema, their moving
 * average), or those of the best epoch. */
typedef enum ssm2d_model_weights { SSM2D_MODEL_LAST, SSM2D_MODEL_BEST } ssm2d_model_weights;

typedef struct ssm2d_model_options {
    size_t size; /* of this struct */
    ssm2d_model_weights weights;
    /* Instruction set and allocator of the model and its sessions, as in ssm2d_context_options.
     * (JSON is parsed in memory from malloc, which is freed before the function returns.) The
     * allocator is called by functions named open, create, close and destroy, and by
     * ssm2d_session_prepare for an image larger than those before; always in the calling thread,
     * so that several threads may call it at once. */
    const char *cpu;
    void *(*allocate)(size_t bytes, void *user);
    void (*release)(void *memory, void *user);
    void *user;
} ssm2d_model_options;

SSM2D_API void ssm2d_model_options_init(ssm2d_model_options *options, size_t size);
/* the latest weights, the best instruction set, malloc */
static inline ssm2d_model_options ssm2d_model_options_default(void)
{
    ssm2d_model_options options;
    ssm2d_model_options_init(&options, sizeof options);
    return options;
}

/* Opens the model of a run's folder, finished or not, or a model file, which has the weights of one
 * epoch: options->weights is not used then. options may be NULL: the defaults. Files are validated
 * before use; pipes and devices are refused. */
SSM2D_API ssm2d_status ssm2d_model_open(const char *path, const ssm2d_model_options *options,
                                        ssm2d_model **model, ssm2d_error *error);
/* Opens a model's configuration (JSON, like config.json of a run) and weights (safetensors). Such a
 * model has no output names, its task is assumed to be classification, and a session needs
 * options.preparation to prepare pixels. Position embeddings for another image size are
 * interpolated. */
SSM2D_API ssm2d_status ssm2d_model_open_files(const char *config, const char *weights,
                                              const ssm2d_model_options *options,
                                              ssm2d_model **model, ssm2d_error *error);
/* All sessions of a model must be destroyed before it. Accepts NULL. */
SSM2D_API void ssm2d_model_close(ssm2d_model *model);

/* ---- describing a model ---------------------------------------------------------------------- */

/* Texts live as long as the model. */
typedef struct ssm2d_model_info {
    size_t size;        /* of this struct */
    const char *model;  /* vit-mini, swin .. */
    const char *family; /* vit, swin, mega */
    const char *mixer;  /* ssm2d, s4nd, ema, none */
    /* "classification": one class per image; "attributes": several yes-or-no labels per image.
     * There is one output per class or attribute. */
    const char *task;
    int outputs;
    const char *activation;   /* from outputs to probabilities: "softmax" or "sigmoid" */
    int rows, cols, channels; /* of the training images; 1 channel: grey, 3: RGB */
    size_t parameters;        /* number of trained values */
    int blocks;               /* number of blocks; features can be taken after each */
    /* How the weights of linear layers were stored: "float32", "bfloat16" or "int8". In a model of
     * type int8 they are multiplied as 8-bit integers. */
    const char *type;
    const char *card; /* of a model file: its description; NULL: it has none */
} ssm2d_model_info;

/* Writes at most info->size bytes. */
SSM2D_API void ssm2d_model_info_get(const ssm2d_model *model, ssm2d_model_info *info);
static inline ssm2d_model_info ssm2d_model_info_of(const ssm2d_model *m)
{
    ssm2d_model_info info;
    info.size = sizeof info;
    ssm2d_model_info_get(m, &info);
    return info;
}
/* The name of the class or attribute of output i, from 0; NULL if it has no name or there is no
 * such output. */
SSM2D_API const char *ssm2d_model_output_name(const ssm2d_model *model, int i);

/* How 8-bit pixels become the model's input: resized with antialiasing, as in Pillow and
 * torchvision, then (pixel / 255 - mean) / std for each channel. */
typedef enum ssm2d_model_filter { SSM2D_BILINEAR, SSM2D_BICUBIC } ssm2d_model_filter;

typedef struct ssm2d_model_preparation {
    size_t size;           /* of this struct */
    float mean[3], std[3]; /* of pixels from 0 to 1; grey images use the first element */
    /* 0: the whole image is resized to the model's size, whatever its aspect ratio; 0.1 to 1: a
     * centre crop that keeps the aspect ratio and has this part of the shorter side */
    double crop;
    ssm2d_model_filter filter;
} ssm2d_model_preparation;

SSM2D_API void ssm2d_model_preparation_init(ssm2d_model_preparation *preparation, size_t size);
/* mean 0, std 1, no crop, bilinear */
static inline ssm2d_model_preparation ssm2d_model_preparation_default(void)
{
    ssm2d_model_preparation preparation;
    ssm2d_model_preparation_init(&preparation, sizeof preparation);
    return preparation;
}
/* The preparation used by the run's evaluation; writes at most preparation->size bytes. Returns 0,
 * and writes nothing, for a model that was opened from files. */
SSM2D_API int ssm2d_model_preparation_get(const ssm2d_model *model,
                                          ssm2d_model_preparation *preparation);

/* ---- session --------------------------------------------------------------------------------- */

typedef struct ssm2d_session ssm2d_session;

typedef struct ssm2d_session_options {
    size_t size;  /* of this struct */
    size_t batch; /* most images that are run at once: 1 to 1,048,576 */
    /* Size of the model's input; 0: that of training. For another size, position embeddings and
     * tables of relative positions are interpolated, and kernels are computed for the new grid, as
     * in `ssm2d eval --image-size`. */
    int rows, cols;
    int threads; /* of this session, as in ssm2d_context_options; 0: all processors */
    /* 0: the session computes outputs (logits); N: features, the tokens after block N; later blocks
     * are not computed */
    int features;
    const ssm2d_model_preparation *preparation; /* NULL: that of the run's evaluation */
    size_t max_bytes; /* refuse a session that needs more memory; 0: no limit */
} ssm2d_session_options;

SSM2D_API void ssm2d_session_options_init(ssm2d_session_options *options, size_t size);
/* one image of the size of training, all processors, outputs */
static inline ssm2d_session_options ssm2d_session_options_default(void)
{
    ssm2d_session_options options;
    ssm2d_session_options_init(&options, sizeof options);
    return options;
}

/* options may be NULL: the defaults. Several threads may create sessions of one model at
 * once. */
SSM2D_API ssm2d_status ssm2d_session_create(const ssm2d_model *model,
                                            const ssm2d_session_options *options,
                                            ssm2d_session **session, ssm2d_error *error);
SSM2D_API void ssm2d_session_destroy(ssm2d_session *session);       /* accepts NULL */
SSM2D_API size_t ssm2d_session_bytes(const ssm2d_session *session); /* memory in use */

/* The output of a session for one image. */
typedef struct ssm2d_session_output {
    size_t size;  /* of this struct */
    size_t count; /* number of elements: outputs, or tokens * dim for features */
    /* Features are [tokens][dim]: first `first` tokens without a position in the image (a class
     * token), then those of the grid in raster order. All 0 for outputs. */
    size_t tokens, dim;
    int first, grid_rows, grid_cols;
} ssm2d_session_output;

SSM2D_API void ssm2d_session_output_get(const ssm2d_session *session, ssm2d_session_output *output);
static inline ssm2d_session_output ssm2d_session_output_of(const ssm2d_session *p)
{
    ssm2d_session_output output;
    output.size = sizeof output;
    ssm2d_session_output_get(p, &output);
    return output;
}

/* ---- running: one thread at a time uses a session -------------------------------------------- */

/* Prepares an image and stores it at `index` in the session's batch, where it stays until it is
 * replaced or the session is run on the caller's images. pixels: 8 bits, row by row; channels: 1
 * grey, 2 grey and alpha, 3 RGB, 4 RGBA; stride: bytes from one row to the next, which may be
 * negative, or 0 for rows without gaps. Grey and RGB are converted to what the model needs;
 * transparent pixels become white. Refuses images that are empty or have more than 65536 rows or
 * columns, and every image if the model was opened from files and the session has no
 * preparation. */
SSM2D_API ssm2d_status ssm2d_session_prepare(ssm2d_session *session, size_t index,
                                             const uint8_t *pixels, size_t rows, size_t cols,
                                             int channels, ptrdiff_t stride, ssm2d_error *error);
/* The prepared images, the model's input: [batch][channels][rows][cols]. */
SSM2D_API const float *ssm2d_session_prepared(const ssm2d_session *session);
/* Runs the model on `count` images, at most the session's batch: images[count][channels][rows]
 * [cols], prepared by the caller, or NULL for the first `count` of ssm2d_session_prepare. Writes
 * outputs or features to out, ssm2d_session_output.count elements for each image. Fails only for
 * invalid arguments: NULL, too many images, or images that were not prepared. */
SSM2D_API ssm2d_status ssm2d_session_run(ssm2d_session *session, const float *images, size_t count,
                                         float *out, ssm2d_error *error);
/* Computes probabilities[count][outputs] from logits[count][outputs] by the model's activation.
 * Fails only if an argument is NULL. */
SSM2D_API ssm2d_status ssm2d_model_probabilities(const ssm2d_model *model, const float *logits,
                                                 size_t count, double *probabilities,
                                                 ssm2d_error *error);

/* ---- parameters of a layer in files -------------------------------------------------------------
 *
 * Safetensors files with one array per parameter of ssm2d_layer_param, under its name: "A", or with
 * a prefix, "blocks.0.mixer.A", as in PyTorch's state_dict and the files of `ssm2d train`. prefix
 * NULL: none. params is the flat array of ssm2d.h. */

/* Writes a file with kind and settings in its metadata; it appears complete or not at all. Refuses
 * values that are not finite. */
SSM2D_API ssm2d_status ssm2d_params_save(const char *path, const char *prefix,
                                         const ssm2d_layer *layer, const float *params,
                                         ssm2d_error *error);
SSM2D_API ssm2d_status ssm2d_params_save_double(const char *path, const char *prefix,
                                                const ssm2d_layer *layer, const double *params,
                                                ssm2d_error *error);
/* Refuses a file in which an array is missing, has another shape, or has this prefix but is not one
 * of the layer's; values that are not finite; and metadata with other settings (except `init`).
 * Other number types are converted. On failure the contents of params are undefined. */
SSM2D_API ssm2d_status ssm2d_params_load(const char *path, const char *prefix,
                                         const ssm2d_layer *layer, float *params,
                                         ssm2d_error *error);
SSM2D_API ssm2d_status ssm2d_params_load_double(const char *path, const char *prefix,
                                                const ssm2d_layer *layer, double *params,
                                                ssm2d_error *error);

#ifdef __cplusplus
}
#endif
#endif
