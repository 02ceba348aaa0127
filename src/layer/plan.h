/* plan - what a plan has decided, and where each array stands in a workspace.
 *
 * Everything behind the public functions is compiled for float and for double; the `functions` of a
 * plan leads to one of them. The layer is computed either by one of the convolutions of src/conv
 * with a kernel made here, or by the recurrence (scan.c). */
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
    size_t centre; /* [C] the kernel at (0,0), in double whatever the number type is */
    size_t d;      /* [H] a copy of D */
    size_t norm;   /* [2][H] a copy of gamma and beta */
    size_t states; /* per worker: kernel rows of states */
    size_t krows;  /* [C][trunc_rows][trunc_cols] the kernels, as they are generated */
    /* [trunc_rows*trunc_cols][ktable_stride] the same by cells, and later their gradient */
    size_t ktable;
    size_t k2;                     /* two-sided kernels, see conv/two_sided.h */
    size_t dk2;                    /* their gradient */
    size_t conv;                   /* the memory of the convolution */
    size_t dcoef, dc, dcentre, dd; /* gradients of coef, c, centre, d */
    size_t z;                      /* [batch][rows][cols][H] before the LayerNorm */
    size_t dz;
    size_t norm_sums; /* partial sums of dgamma, dbeta */
} regions;

typedef struct conv_plan conv_plan;
typedef struct typed_functions typed_functions;

/* What planning decides for the recurrence. */
typedef struct scan_plan {
    int channels; /* of one task */
    int block;    /* rows whose states the adjoint keeps at once */
    int blocks;
    int chunks;           /* parts of the batch in backward, a task each */
    size_t state;         /* numbers that one image, channel and direction carries along */
    size_t gradient;      /* numbers of the gradient of one channel and direction */
    size_t scratch_size;  /* of one worker, in numbers */
    size_t scratch, sums; /* regions: of all workers; gradients [chunk][direction][channel] */
} scan_plan;

struct ssm2d_plan {
    ssm2d_context *context;
    ssm2d_config config;
    ssm2d_plan_options options;
    param_offsets params;
    const typed_functions *functions;
    const char *algorithm; /* its name */
    conv_plan *conv;       /* owned; NULL: the layer runs as a scan */
    scan_plan scan;
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
};

/* What a workspace holds. Only asserts look at it. */
typedef enum workspace_state { HOLDS_NOTHING, HOLDS_KERNELS, HOLDS_FORWARD } workspace_state;

struct ssm2d_workspace {
    const ssm2d_plan *plan;
    const ssm2d_context *context; /* to be destroyed with: the plan may be gone by then */
    char *memory;                 /* plan->bytes */
    workspace_state state;
};

/* While planning: makes room for `bytes` in the workspace and returns its offset, 64-byte aligned,
 * never NOWHERE. Sizes that do not fit a size_t leave plan->bytes at SIZE_MAX, which is refused in
 * the end. */
size_t plan_reserve(ssm2d_plan *plan, size_t count, size_t size);

#define REGION(type, ws, region) ((type *)(void *)((ws)->memory + (ws)->plan->at.region))

/* The functions of one number type. */
struct typed_functions {
    size_t size; /* of a number */
    const void *(*simd)(cpu_level level, int *lanes);
    const char *(*algorithm)(int i); /* the name of the i-th, NULL past the last */
    /* Decides for the i-th algorithm and reserves regions; allocates no more than a few structs. */
    ssm2d_status (*plan)(ssm2d_plan *plan, int i, ssm2d_error *error);
    double (*cost)(const ssm2d_plan *plan); /* estimated, in multiply-adds of a forward pass */
    /* whether rounding errors are relative to the largest value of an array, not to each */
    int (*error_of_largest)(const ssm2d_plan *plan);
    /* Computes the tables that executing needs, for the plan that is kept or measured. */
    ssm2d_status (*finish)(ssm2d_plan *plan, ssm2d_error *error);
    void (*release)(ssm2d_plan *plan); /* what plan and finish allocated */
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
