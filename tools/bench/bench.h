/* bench - what the parts of `ssm2d bench` share. All times are in milliseconds. */
#ifndef SSM2D_TOOLS_BENCH_H
#define SSM2D_TOOLS_BENCH_H

#include "layers/ssm2d/ssm2d_config.h"
#include "tools/command.h"

extern const command command_bench_linear, command_bench_train, command_bench_infer,
    command_bench_data, command_bench_scale, command_bench_guard, command_bench_conv;

/* ---- timing ---------------------------------------------------------------------------------- */

typedef void (*bench_work)(void *arg);

double bench_now(void);

/* Returns the shortest of `times` runs, which other processes have disturbed least. */
double bench_time(bench_work work, void *arg, int times);
double bench_median(double *values, int count); /* sorts values */

/* The speed of a machine varies over time. So everything that is compared is timed in every round,
 * and ratios are taken within a round; the result is the median over all rounds. */
typedef struct bench_item {
    bench_work run;
    void *on; /* its argument; NULL: the item is left out */
} bench_item;

enum { BENCH_ROUNDS = 200 };
typedef double bench_samples[BENCH_ROUNDS];

/* Runs rounds for `seconds`, but at least three. samples[i][round] is the time of item i, the
 * shortest of a few runs; 0 for items that are left out. Returns the number of rounds. */
int bench_rounds(const bench_item *items, int count, double seconds, bench_samples *samples);
/* The median of a[round] / b[round]; 0 if b was left out. */
double bench_ratio(const double *a, const double *b, int rounds);

/* ---- printing -------------------------------------------------------------------------------- */

/* Prints ,"key":value as JSON, or null for a value that is not positive, which means none. */
void bench_number(const char *key, double value);
/* Warns that the machine is busy, when spread (median over shortest time) is well above 1. */
void bench_warn(double spread);

/* ---- oneDNN ---------------------------------------------------------------------------------- */

/* A new array of values around 0, which the caller frees; NULL if out of memory. */
float *bench_array(ssm2d_context *context, size_t count);

/* A Linear layer, H -> H: y = x W^T forward; dx = dy W and dW = dy^T x backward. x, y, dy, dx:
 * [tokens][channels]; x and dy are borrowed. */
typedef struct bench_linear bench_linear;

ssm2d_status bench_linear_create(ssm2d_context *context, size_t tokens, size_t channels,
                                 const float *x, const float *dy, bench_linear **linear,
                                 ssm2d_error *error);
void bench_linear_forward(void *linear);
void bench_linear_train(void *linear); /* forward and backward */
void bench_linear_destroy(bench_linear *linear);

/* The peak speed of matrix products on this machine: oneDNN's sgemm on large square matrices, one
 * product per thread, all at once. */
typedef struct bench_peak bench_peak;

ssm2d_status bench_peak_create(ssm2d_context *context, bench_peak **peak, ssm2d_error *error);
void bench_peak_run(void *peak);
double bench_peak_products(const bench_peak *peak); /* multiply-adds in a run */
void bench_peak_destroy(bench_peak *peak);

/* A depthwise convolution with bias, in the memory layout that oneDNN prefers. */
typedef struct onednn_conv onednn_conv;

typedef struct onednn_conv_shape {
    size_t batch, rows, cols, channels, kernel;
} onednn_conv_shape;

ssm2d_status onednn_conv_create(ssm2d_context *context, const onednn_conv_shape *shape,
                                onednn_conv **conv, ssm2d_error *error);
void onednn_conv_forward(void *conv);
void onednn_conv_input_gradient(void *conv);
void onednn_conv_train(void *conv); /* forward and backward */
void onednn_conv_destroy(onednn_conv *conv);

/* ---- layers ---------------------------------------------------------------------------------- */

/* A layer with its plan and arrays. u, y, dy, du: [batch][rows][cols][channels] */
typedef struct bench_subject {
    ssm2d_context *context;
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    ssm2d_type type;
    size_t bytes; /* of u */
    int borrows;  /* u, y, dy and du belong to another subject */
    void *params, *dparams, *u, *y, *dy, *du, *kernel;
} bench_subject;

/* on: the subject whose u, y, dy and du are used; NULL: the new subject has its own. The caller
 * closes *s, after a failure as well. */
ssm2d_status bench_subject_open(ssm2d_context *context, const ssm2d_layer *layer,
                                const ssm2d_plan_options *options, const bench_subject *on,
                                bench_subject *s, ssm2d_error *error);
void bench_subject_close(bench_subject *s);
void bench_subject_forward(void *s);
void bench_subject_input_gradient(void *s);
void bench_subject_train(void *s); /* forward and backward */

/* One measurement of the layer, and how many seconds it may take. */
typedef struct bench_case {
    ssm2d_config config;
    size_t batch, rows, cols;
    ssm2d_type type;
    const char *algorithm;
    double seconds;
} bench_case;

/* S4ND or EMA at the same shape; the ratios are to the layer in the same round. */
enum { BENCH_BASELINES = 2 };
typedef struct bench_baseline_result {
    const char *name;
    char algorithm[16];
    double forward, train, forward_ratio, train_ratio;
} bench_baseline_result;

/* Medians over `rounds` rounds. */
typedef struct bench_result {
    char algorithm[16];
    size_t bytes; /* of the workspace */
    int rounds;
    double forward, train;                     /* of the layer, kernels included */
    double linear_forward, linear_train;       /* 0 in double: oneDNN has no such sgemm */
    double memory;                             /* a copy of the input */
    double kernel, kernel_train;               /* generating the kernels; with the adjoint */
    double forward_ratio, train_ratio;         /* to the Linear of the same round */
    double forward_products, train_products;   /* share of the sgemm peak; 0 in double */
    double forward_bandwidth, train_bandwidth; /* share of a copy's bytes per second */
    bench_baseline_result baselines[BENCH_BASELINES];
    /* median of `train` over its shortest; well above 1 on a busy machine */
    double spread;
} bench_result;

ssm2d_status bench_layer(ssm2d_context *context, const bench_case *c, bench_result *result,
                         ssm2d_error *error);

/* Fills in the shares of the bounds from the times. products_per_ms: the machine's peak in
 * multiply-adds per millisecond; 0: unknown. */
void bench_find_bounds(const bench_case *c, double products_per_ms, bench_result *result);
void bench_print_bounds_head(void);
void bench_print_bounds(const bench_result *result, const char *name);

/* How the time for the kernels and their adjoint (one direction, 8 channels) grows with the number
 * of cells: times for square grids of side 16 to 1024, and the slope of the least-squares line
 * through log(time) over log(cells). */
enum { BENCH_SIDES = 7 };
typedef struct bench_growth {
    size_t side[BENCH_SIDES];
    double time[BENCH_SIDES], exponent;
} bench_growth;

ssm2d_status bench_kernel_growth(ssm2d_context *context, double seconds, bench_growth *growth,
                                 ssm2d_error *error);

#endif
