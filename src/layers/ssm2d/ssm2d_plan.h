/* ssm2d_plan - the plan of a 2-D SSM, and the offsets of arrays in its workspace. The layer is
 * computed either by a convolution of src/conv with the layer's kernel, or by the recurrence
 * (scan.c). */
#ifndef SSM2D_LAYERS_SSM2D_PLAN_H
#define SSM2D_LAYERS_SSM2D_PLAN_H

#include "layers/ssm2d/ssm2d_config.h"

/* Offsets of the parameter arrays that a configuration has. Real: a, b, c. Polar: each with its
 * angle. Cartesian: a with its angle; b and c hold pairs (re, im). */
typedef struct param_offsets {
    size_t a, a_angle, b, b_angle, c, c_angle, d, gamma, beta;
} param_offsets;

/* Offsets of a workspace's arrays in bytes; 0: unused by the plan. Shapes: K systems, C rows of C,
 * W the padded width of a state (see simd/simd_table.h). */
typedef struct regions {
    size_t coef;   /* [K][COEFS][W] */
    size_t c;      /* [C][2][W], includes the factors sqrt(1/N) and of the average */
    size_t centre; /* [C] the kernel at (0,0), always in double */
    size_t d;      /* [H] a copy of D */
    size_t norm;   /* [2][H] a copy of gamma and beta */
    size_t states; /* per worker: rows of states of the kernel recursion */
    size_t krows;  /* [C][trunc_rows][trunc_cols] the kernels as generated */
    /* [trunc_rows*trunc_cols][ktable_stride] the same, cells first; later their gradient */
    size_t ktable;
    size_t k2;                     /* two-sided kernels, see conv/two_sided.h */
    size_t dk2;                    /* their gradient */
    size_t conv;                   /* scratch of the convolution */
    size_t dcoef, dc, dcentre, dd; /* gradients of coef, c, centre, d */
    size_t z;                      /* [batch][rows][cols][H] before LayerNorm or activation */
    size_t dz;
    size_t norm_sums; /* partial sums of dgamma, dbeta */
} regions;

typedef struct conv_plan conv_plan;

/* Sizes and regions of the recurrence. */
typedef struct scan_plan {
    int channels; /* channels of one task */
    int block;    /* rows whose states the adjoint recomputes at a time */
    int blocks;
    int chunks;           /* parts of the batch in backward, a task each */
    size_t state;         /* elements of state per image, channel and direction */
    size_t gradient;      /* elements of the gradient per channel and direction */
    size_t scratch_size;  /* of one worker, in elements */
    size_t scratch, sums; /* regions: of all workers; gradients [chunk][direction][channel] */
} scan_plan;

typedef struct ssm2d_kind_plan {
    ssm2d_plan base;
    ssm2d_config config;
    param_offsets params;
    conv_plan *conv; /* owned; NULL: the layer runs as a scan */
    scan_plan scan;
    int systems, c_rows, width, wide; /* K, C, padded d_state, W */
    int trunc_rows, trunc_cols;       /* size of the kernel, truncated to the grid */
    size_t ktable_stride;
    int state_block;          /* kernel rows that the adjoint recomputes at a time */
    size_t states_per_worker; /* in elements */
    plane_strides conv_out;   /* strides of y, or of z if LayerNorm or SiLU follows */
    regions at;
} ssm2d_kind_plan;

static inline const ssm2d_kind_plan *ssm2d_plan_of(const ssm2d_plan *plan)
{
    return (const ssm2d_kind_plan *)plan;
}

#define REGION(type, ws, region) REGION_AT(type, ws, ssm2d_plan_of((ws)->plan)->at.region)

extern const layer_functions ssm2d_functions_f32, ssm2d_functions_f64;

#endif
