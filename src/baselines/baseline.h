/* baseline - what the kinds of baselines share: a table of kinds, plans and workspaces.
 *
 * Adding a kind: its configuration in ssm2d_baselines.h, a baseline_kind with fields and parameters
 * (s4nd_kind.c), baseline_functions for both number types, and a line in baseline.c. */
#ifndef SSM2D_BASELINES_BASELINE_H
#define SSM2D_BASELINES_BASELINE_H

#include "core/context.h"
#include "core/rng.h"
#include "baselines/ema_plan.h"
#include "baselines/s4nd_plan.h"
#include "ssm2d_baselines.h"

typedef union baseline_config {
    ssm2d_baseline_config base;
    ssm2d_s4nd_config s4nd;
    ssm2d_ema_config ema;
} baseline_config;

enum { BASELINE_ARRAYS = 5 };

typedef struct baseline_functions baseline_functions;

typedef struct baseline_kind {
    const char *name, *config_name;
    const size_t *sizes; /* of every version of it, ended by 0 */
    const ssm2d_field *fields;
    /* Beyond the bounds of fields; may be NULL. */
    ssm2d_status (*check)(const baseline_config *c, ssm2d_error *error);
    /* The arrays, in order, with their shapes; returns how many. */
    int (*list)(const baseline_config *c, ssm2d_baseline_param *table);
    int has_identity; /* whether SSM2D_INIT_IDENTITY means something */
    /* The k-th number of the i-th array. */
    double (*draw)(const baseline_config *c, ssm2d_init init, int i, size_t k, rng *r);
    const baseline_functions *functions[2]; /* of float, of double */
} baseline_kind;

extern const baseline_kind baseline_s4nd, baseline_ema;

/* full <- the caller's configuration, if it is valid. */
ssm2d_status baseline_config_read(baseline_config *full, const ssm2d_baseline_config *config,
                                  const baseline_kind **kind, ssm2d_error *error);
/* Returns how many numbers all parameters of a configuration have. */
size_t baseline_params_total(const baseline_kind *kind, const baseline_config *c);
/* For tables of arrays: one with so many axes. */
ssm2d_baseline_param baseline_array(const char *name, int rank, const size_t *shape, int system);
#define BASELINE_ARRAY(name, system, ...)                                                          \
    baseline_array(name, (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)),                  \
                   (size_t[]){__VA_ARGS__}, system)

/* ---- plans ----------------------------------------------------------------------------------- */

struct ssm2d_baseline_plan {
    ssm2d_context *context;
    const baseline_kind *kind;
    const baseline_functions *functions;
    baseline_config config;
    ssm2d_plan_options options;
    const char *algorithm; /* its name */
    int channels, rows, cols;
    const void *simd; /* simd_table of the plan's number type */
    int lanes, vectors;
    s4nd_plan s4nd; /* what the kind has decided */
    ema_plan ema;
    size_t bytes; /* of a workspace */
};

typedef enum baseline_state { BASELINE_EMPTY, BASELINE_PREPARED, BASELINE_APPLIED } baseline_state;

struct ssm2d_baseline_workspace {
    const ssm2d_baseline_plan *plan;
    const ssm2d_context *context; /* to be destroyed with: the plan may be gone by then */
    char *memory;
    baseline_state state; /* only asserts look at it */
};

/* The functions of one kind and one number type, as those of the layer (layer/plan.h). */
struct baseline_functions {
    size_t size; /* of a number */
    const void *(*simd)(cpu_level level, int *lanes);
    const char *(*algorithm)(int i);
    ssm2d_status (*plan)(ssm2d_baseline_plan *plan, int i, ssm2d_error *error);
    double (*cost)(const ssm2d_baseline_plan *plan);
    ssm2d_status (*finish)(ssm2d_baseline_plan *plan, ssm2d_error *error); /* may be NULL */
    void (*release)(ssm2d_baseline_plan *plan);                            /* may be NULL */
    int (*kernel_shape)(const ssm2d_baseline_plan *plan, size_t shape[3]);
    void (*prepare)(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                    const void *params);
    void (*apply)(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws, const void *u,
                  void *y);
    void (*backward)(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                     const void *params, const void *u, const void *dy, void *du, void *dparams);
    void (*kernel)(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                   const void *params, void *kernel);
};

extern const baseline_functions s4nd_functions_f32, s4nd_functions_f64;
extern const baseline_functions ema_functions_table_f32, ema_functions_table_f64;

/* While planning: makes room for count * size bytes in the workspace and returns its offset. */
size_t baseline_reserve(ssm2d_baseline_plan *plan, size_t count, size_t size);

#define BASELINE_REGION(type, ws, offset) ((type *)(void *)((ws)->memory + (offset)))

#endif
