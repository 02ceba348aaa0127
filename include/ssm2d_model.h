/* ssm2d_model.h - a trained model in C and C++ programs: open, create a session, run.
 *
 * A model is what `ssm2d train` leaves in a run's folder, a model file that `ssm2d quantize` makes
 * of it, or a configuration and weights. A session
 * fixes (batch, rows, columns, threads) and holds all memory of a run. Running it allocates nothing
 * and fails only when it is called wrongly.
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
 * time. Neither the number of threads of a session nor that of sessions changes a bit of the
 * results, nor does the caller's floating-point mode, which is restored. The library never prints
 * or exits.
 *
 * libssm2d_model (pkg-config ssm2d-model) contains all that it needs of libssm2d, under names that
 * nobody else sees: a program links either library, or both in any order, shared or static. No
 * object of the one is given to the other. Of ssm2d.h this header takes the types. docs/deploy.md
 * has a walk through these functions. MIT licence. */
#ifndef SSM2D_MODEL_H
#define SSM2D_MODEL_H

#include "ssm2d.h"

#ifdef __cplusplus
extern "C" {
#endif

SSM2D_API const char *ssm2d_model_version(void);

/* Structs that begin with their own size may grow, as those of ssm2d.h: start from the
 * ssm2d_model_*_default() functions, which set it. */

/* ---- opening --------------------------------------------------------------------------------- */

typedef struct ssm2d_model ssm2d_model;

/* Which weights of a run's folder: those after the latest epoch (of a run with --ema, their
 * average), or those of the best epoch. */
typedef enum ssm2d_model_weights { SSM2D_MODEL_LAST, SSM2D_MODEL_BEST } ssm2d_model_weights;

typedef struct ssm2d_model_options {
    size_t size; /* of this struct */
    ssm2d_model_weights weights;
    /* The instruction set and the memory of the model and its sessions, as in
     * ssm2d_context_options. JSON is parsed in memory of malloc, which is freed before a function
     * returns. They are called by functions named open, create, close and destroy, and by
     * ssm2d_session_prepare for an image that is larger than those before, in the thread that calls
     * those: with several threads, by several at once. */
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
 * epoch: options->weights is not used. options may be NULL: the defaults. Files are checked before
 * anything is believed; pipes and devices are refused. */
SSM2D_API ssm2d_status ssm2d_model_open(const char *path, const ssm2d_model_options *options,
                                        ssm2d_model **model, ssm2d_error *error);
/* Opens a model's configuration (JSON, as config.json of a run) and weights (safetensors). Such a
 * model has no names of outputs, its task is taken for classification, and to prepare pixels a
 * session has to be told how. Position embeddings of weights for another image size are
 * interpolated. */
SSM2D_API ssm2d_status ssm2d_model_open_files(const char *config, const char *weights,
                                              const ssm2d_model_options *options,
                                              ssm2d_model **model, ssm2d_error *error);
/* All sessions of a model must be destroyed before it. Accepts NULL. */
SSM2D_API void ssm2d_model_close(ssm2d_model *model);

/* ---- what it is ------------------------------------------------------------------------------ */

/* Texts live as long as the model. */
typedef struct ssm2d_model_info {
    size_t size;        /* of this struct */
    const char *model;  /* vit-mini, swin .. */
    const char *family; /* vit, swin, mega */
    const char *mixer;  /* ssm2d, s4nd, ema, none */
    /* What it predicts: "classification", one of the classes, or "attributes", which of them an
     * image has; one output for each class or attribute. */
    const char *task;
    int outputs;
    const char *activation;   /* what makes probabilities of outputs: "softmax" or "sigmoid" */
    int rows, cols, channels; /* of the images that it was trained on; 1 channel: grey, 3: RGB */
    size_t parameters;
    int blocks; /* after each of which features can be taken */
    /* How the weights of linear layers were stored: "float32", "bfloat16" or "int8". In a model of
     * type int8 they are multiplied as 8-bit integers. */
    const char *type;
    const char *card; /* of a model file: its description; NULL: it has none */
} ssm2d_model_info;

/* Fills in as much as info->size says that there is space for. */
SSM2D_API void ssm2d_model_info_get(const ssm2d_model *model, ssm2d_model_info *info);
static inline ssm2d_model_info ssm2d_model_info_of(const ssm2d_model *m)
{
    ssm2d_model_info info;
    info.size = sizeof info;
    ssm2d_model_info_get(m, &info);
    return info;
}
/* The name of an output from 0, that of its class or attribute; NULL: it has none, or there is no
 * such output. */
SSM2D_API const char *ssm2d_model_output_name(const ssm2d_model *model, int i);

/* How 8-bit pixels become what the model reads: resized with antialiasing, as Pillow and
 * torchvision do, then (pixel / 255 - mean) / std for each channel. */
typedef enum ssm2d_model_filter { SSM2D_BILINEAR, SSM2D_BICUBIC } ssm2d_model_filter;

typedef struct ssm2d_model_preparation {
    size_t size;           /* of this struct */
    float mean[3], std[3]; /* of pixels from 0 to 1; of grey images the first */
    /* 0: all of an image is squashed into the model's size; else from 0.1 to 1: the middle of it at
     * its own aspect ratio, this part of its shorter side */
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
/* That of the run's evaluation, as much as preparation->size says that there is space for. Returns
 * 0, and leaves it as it is, for a model that was opened from files. */
SSM2D_API int ssm2d_model_preparation_get(const ssm2d_model *model,
                                          ssm2d_model_preparation *preparation);

/* ---- session --------------------------------------------------------------------------------- */

typedef struct ssm2d_session ssm2d_session;

typedef struct ssm2d_session_options {
    size_t size;  /* of this struct */
    size_t batch; /* images that are run at once, at most: 1 to 1,048,576 */
    /* Of the model's images; 0: those of training. For others the position embedding and tables of
     * relative positions are interpolated, and kernels computed for the new grid, as `ssm2d eval
     * --image-size` does. */
    int rows, cols;
    int threads; /* of this session alone, as in ssm2d_context_options; 0: all processors */
    /* 0: the session computes outputs, which are logits; else features: the tokens after this many
     * blocks, and no block more is computed */
    int features;
    const ssm2d_model_preparation *preparation; /* NULL: that of the run's evaluation */
    size_t max_bytes; /* refuse to take more memory for this session; 0: no limit */
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
SSM2D_API size_t ssm2d_session_bytes(const ssm2d_session *session); /* that it has taken */

/* What a run of the session writes for one image. */
typedef struct ssm2d_session_output {
    size_t size;    /* of this struct */
    size_t numbers; /* outputs, or of features tokens * dim */
    /* Features are [tokens][dim]: `first` tokens that belong to no place of the image (a class
     * token), then those of the grid in raster order. Of outputs these are 0. */
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

/* Prepares an image as number `index` of the session's batch, where it stays until another takes
 * its place, or the session is run on images of the caller's. pixels: 8 bits, row by row; channels:
 * 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA; stride: bytes from a row to the next, negative ones too,
 * or 0 for rows without gaps. Grey becomes RGB and RGB grey as the model needs it; what is
 * transparent becomes white. Refuses images that are empty or of more than 65536 rows or columns,
 * and any when the model was opened from files and the session has no preparation. */
SSM2D_API ssm2d_status ssm2d_session_prepare(ssm2d_session *session, size_t index,
                                             const uint8_t *pixels, size_t rows, size_t cols,
                                             int channels, ptrdiff_t stride, ssm2d_error *error);
/* Those images as the model reads them, [batch][channels][rows][cols]. */
SSM2D_API const float *ssm2d_session_prepared(const ssm2d_session *session);
/* Runs the model on the first `count` images, at most the session's batch: images[count][channels]
 * [rows][cols], prepared by the caller, or NULL for those of ssm2d_session_prepare. out[count]
 * [numbers] gets outputs or features. Fails only when called wrongly: with NULL, with too many
 * images, or with images that were not prepared. */
SSM2D_API ssm2d_status ssm2d_session_run(ssm2d_session *session, const float *images, size_t count,
                                         float *out, ssm2d_error *error);
/* probabilities[count][outputs] of logits[count][outputs], by the model's activation. Fails only
 * when called wrongly, with NULL. */
SSM2D_API ssm2d_status ssm2d_model_probabilities(const ssm2d_model *model, const float *logits,
                                                 size_t count, double *probabilities,
                                                 ssm2d_error *error);

/* ---- parameters of a layer in files -------------------------------------------------------------
 *
 * Safetensors with an array for each that ssm2d_layer_param lists, under its name: "A", or with a
 * prefix "blocks.0.mixer.A", as PyTorch's state_dict has them and `ssm2d train` writes them. prefix
 * NULL: none. The array params is the flat one of ssm2d.h. */

/* Writes a file that appears complete or not at all, with kind and settings in its metadata.
 * Refuses numbers that are not finite. */
SSM2D_API ssm2d_status ssm2d_params_save(const char *path, const char *prefix,
                                         const ssm2d_layer *layer, const float *params,
                                         ssm2d_error *error);
SSM2D_API ssm2d_status ssm2d_params_save_double(const char *path, const char *prefix,
                                                const ssm2d_layer *layer, const double *params,
                                                ssm2d_error *error);
/* Refuses a file that lacks an array, has one of another shape, or one under this prefix that the
 * layer does not have; numbers that are not finite; and metadata of other settings (but `init`).
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
