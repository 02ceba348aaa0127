/* layer_case - a folder with one case of a bare layer: case.json, and one .npy per parameter, `u`
 * and `dy`.
 *
 * What kind of layer it is says "kind" in case.json. Adding one: a file that defines a layer_kind
 * (layer_ssm2d.c), and a line in the table of layer_case.c. */
#ifndef SSM2D_TOOLS_LAYER_CASE_H
#define SSM2D_TOOLS_LAYER_CASE_H

#include "io/npy.h"
#include "ssm2d_baselines.h"

#include <cjson/cJSON.h>

typedef struct layer_kind layer_kind;

typedef struct layer_case {
    const char *folder;
    const layer_kind *kind;
    union {
        ssm2d_config ssm2d;
        ssm2d_baseline_config base;
        ssm2d_s4nd_config s4nd;
        ssm2d_ema_config ema;
    } config;
    size_t batch, rows, cols;
    size_t params_count, grid_count; /* elements of all parameters; of u */
    double *params, *u, *dy;         /* freed by layer_case_free */
} layer_case;

/* An array of parameters. */
typedef struct layer_array {
    const char *name; /* of its file, without .npy */
    int rank;
    size_t shape[SSM2D_BASELINE_RANK];
    size_t offset, size; /* in numbers */
} layer_array;

/* What is needed to run a case, in numbers of one type: results come last. */
typedef struct layer_run {
    ssm2d_type type;
    const char *algorithm;
    const void *params, *u, *dy;
    void *kernel, *y, *du, *dparams; /* the gradients are zero before */
} layer_run;

struct layer_kind {
    const char *name;
    /* Reads and checks the configuration and the sizes; `path` is for messages. */
    ssm2d_status (*read)(const char *path, const cJSON *root, layer_case *c, ssm2d_error *error);
    int (*array)(const layer_case *c, int i, layer_array *array); /* 0: there is no i-th */
    /* The shape of u, dy, y and du in files, and how their cells stand there; returns the rank. */
    int (*grid)(const layer_case *c, size_t shape[4], ssm2d_strides *strides);
    int (*kernel)(const layer_case *c, size_t shape[4]); /* the shape of K; returns the rank */
    /* Refuses parameters that are not finite. */
    ssm2d_status (*check)(const layer_case *c, ssm2d_type type, const void *params,
                          ssm2d_error *error);
    ssm2d_status (*run)(ssm2d_context *context, const layer_case *c, const layer_run *r,
                        ssm2d_error *error);
    /* The gradient of the loss with respect to K; NULL: there is none to compare with. */
    ssm2d_status (*dkernel)(ssm2d_context *context, const layer_case *c, double *dkernel,
                            ssm2d_error *error);
};

extern const layer_kind layer_kind_ssm2d, layer_kind_s4nd, layer_kind_ema;

/* Reads and checks all files. The caller calls layer_case_free, after a failure as well. */
ssm2d_status layer_case_read(const ssm2d_context *context, const char *folder, layer_case *c,
                             ssm2d_error *error);
/* The part of it that is in case.json. */
ssm2d_status layer_case_parse(const char *path, const cJSON *root, layer_case *c,
                              ssm2d_error *error);
void layer_case_free(const ssm2d_context *context, layer_case *c);

/* Reads the array in folder/NAME.npy, which the caller frees with npy_free; refuses an array of
 * another shape. */
ssm2d_status layer_case_array(const ssm2d_context *context, const char *folder, const char *name,
                              int rank, const size_t *shape, npy_array *array, ssm2d_error *error);

/* For kinds: a size of the grid, from 1 to 2^20. */
ssm2d_status layer_case_size(const char *path, const cJSON *root, const char *key, size_t *size,
                             ssm2d_error *error);
/* The options of a plan for the case. */
ssm2d_plan_options layer_case_options(const layer_case *c, const layer_run *r);

#endif
