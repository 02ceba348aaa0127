/* plan - what a plan has decided, and where each array stands in a workspace.
 *
 * Everything behind the public functions is compiled for float and for double; the `functions` of a
 * plan leads to one of them. A new algorithm is a file that defines an `algorithm`, and a line in
 * the table of execute.c. */
#ifndef SSM2D_LAYER_PLAN_H
#define SSM2D_LAYER_PLAN_H

#include "core/context.h"
#include "layer/config.h"
#include "layer/params.h"

#include <stdint.h>

/* Offsets of a workspace's arrays in bytes; NOWHERE: the plan has no use for it. Shapes: K systems,
 * C rows of C, W the padded width of a state (see simd/simd_table.h). */
enum { NOWHERE = 0 };

typedef struct regions {
    size_t coef;   /* [K][COEFS][W] */
    size_t c;      /* [C][2][W], with sqrt(1/N) and the averaging in it */
    size_t centre; /* [C] the kernel at (0,0) */
    size_t d;      /* [H] a copy of D */
    size_t norm;   /* [2][H] a copy of gamma and beta */
    size_t states; /* per worker: kernel rows of states */
    size_t krows;  /* [C][trunc_rows][trunc_cols] the kernels, as they are generated */
    /* [trunc_rows*trunc_cols][ktable_stride] the same by cells, and later their gradient */
    size_t ktable;
    size_t k2;                     /* two-sided kernels, see two_sided.h */
    size_t dk2;                    /* their gradient */
    size_t dcoef, dc, dcentre, dd; /* gradients of coef, c, centre, d */
    size_t z;                      /* [batch][rows][cols][H] before the LayerNorm */
    size_t dz;
    size_t norm_sums; /* partial sums of dgamma, dbeta */
    size_t own[4];    /* whatever the algorithm wants */
} regions;

typedef struct algorithm algorithm;
typedef struct typed_functions typed_functions;

struct ssm2d_plan {
    ssm2d_context *context;
    ssm2d_config config;
    ssm2d_plan_options options;
    param_offsets params;
    const typed_functions *functions;
    const algorithm *algorithm;
    const void *simd;                       /* simd_table of the plan's number type */
    int lanes, vectors;                     /* vectors of channels: ceil(H / lanes) */
    int systems, c_rows, width, wide;       /* K, C, padded d_state, W */
    int rows, cols, trunc_rows, trunc_cols; /* grid, and the part of the kernel that is used */
    size_t ktable_stride;
    int state_block;          /* kernel rows that the adjoint keeps at once */
    size_t states_per_worker; /* in numbers */
    ssm2d_strides conv_out;   /* where the convolution writes: y, or z when a LayerNorm follows */
    regions at;
    size_t bytes;
    int own[8]; /* whatever the algorithm has decided */
};

struct ssm2d_workspace {
    const ssm2d_plan *plan;
    const ssm2d_context *context; /* to be destroyed with: the plan may be gone by then */
    char *memory;                 /* plan->bytes */
};

/* While planning: makes room for `bytes` in the workspace and returns its offset, 64-byte aligned,
 * never NOWHERE. Sizes that do not fit a size_t leave plan->bytes at SIZE_MAX, which is refused in
 * the end. */
size_t plan_reserve(ssm2d_plan *plan, size_t count, size_t size);

#define REGION(type, ws, region) ((type *)(void *)((ws)->memory + (ws)->plan->at.region))

/* One way to compute y = conv(u) + D.u and its adjoint. All but `plan` and `cost` run in a
 * workspace and cannot fail. */
struct algorithm {
    const char *name;
    /* wants the kernels in k2, and gives their gradient in dk2; else works from coef, c, centre */
    int uses_kernel;
    /* Multiply-adds of a forward pass, weighted by how far the algorithm stays from the machine's
     * peak; for `auto`. */
    double (*cost)(const ssm2d_plan *plan);
    ssm2d_status (*plan)(ssm2d_plan *plan, ssm2d_error *error); /* decides and reserves */
    /* after coef and k2 are there; may be NULL */
    void (*prepare)(const ssm2d_plan *plan, ssm2d_workspace *ws);
    void (*apply)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *u, void *y);
    /* dy with strides `conv_out`. Adds to du unless NULL; writes dk2, or dcoef, dc, dcentre, dd, if
     * want_params. */
    void (*backward)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *u, const void *dy,
                     void *du, int want_params);
};

/* The functions of one number type. */
struct typed_functions {
    size_t size;                        /* of a number */
    const algorithm *const *algorithms; /* ended by NULL */
    const void *(*simd)(cpu_level level, int *lanes);
    void (*plan_regions)(ssm2d_plan *plan); /* what every algorithm needs */
    void (*prepare)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params);
    void (*apply)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *u, void *y);
    void (*backward)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams);
    void (*kernel)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, void *kernel);
    void (*kernel_backward)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params,
                            const void *dkernel, void *dparams);
    void (*stream_push)(ssm2d_stream *stream, const void *u, void *y);
    /* of state, between rows; SIZE_MAX: beyond counting */
    size_t (*stream_numbers)(const ssm2d_plan *plan);
};

extern const typed_functions layer_functions_f32, layer_functions_f64;

#endif
