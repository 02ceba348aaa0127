/* bench - what the parts of `ssm2d bench` share. All times are in milliseconds. */
#ifndef SSM2D_TOOLS_BENCH_H
#define SSM2D_TOOLS_BENCH_H

#include "command.h"

extern const command command_bench_train, command_bench_infer; /* parts of `ssm2d bench` */

typedef void (*bench_work)(void *arg);

double bench_now(void);

/* The shortest of `times` runs: what the machine can do when nothing else disturbs it. */
double bench_time(bench_work work, void *arg, int times);
double bench_median(double *values, int count); /* sorts values */
/* prints ,"key":value as JSON; null when it is not positive: there is none */
void bench_number(const char *key, double value);
/* says that the machine is busy, when the median of a time is so many times its shortest */
void bench_warn(double spread);

/* Holds oneDNN to the instruction set that we use; it listens only before its first
 * multiplication. */
void bench_match_cpu(const ssm2d_context *context);

/* One Linear, H -> H: y = x W^T forward; dx = dy W and dW = dy^T x backward. x, y, dy, dx:
 * [tokens][channels] */
typedef struct bench_linear bench_linear;

ssm2d_status bench_linear_create(ssm2d_context *context, size_t tokens, size_t channels,
                                 const float *x, const float *dy, bench_linear **linear,
                                 ssm2d_error *error);
void bench_linear_forward(void *linear);
void bench_linear_train(void *linear); /* forward and backward */
void bench_linear_destroy(bench_linear *linear);

/* What this machine can multiply: oneDNN's sgemm of large square matrices, one for each thread, all
 * at once. */
typedef struct bench_peak bench_peak;

ssm2d_status bench_peak_create(ssm2d_context *context, bench_peak **peak, ssm2d_error *error);
void bench_peak_run(void *peak);
double bench_peak_products(const bench_peak *peak); /* multiply-adds in a run */
void bench_peak_destroy(bench_peak *peak);

/* What is measured, and how long it may take. */
typedef struct bench_case {
    ssm2d_config config;
    size_t batch, rows, cols;
    ssm2d_type type;
    const char *algorithm;
    double seconds;
} bench_case;

/* Medians over `rounds` rounds; in each, every kind of work was timed, and the ratios were
 * taken. */
typedef struct bench_result {
    char algorithm[16];
    size_t bytes; /* of the workspace */
    int rounds;
    double forward, train;               /* of the layer, kernels included */
    double linear_forward, linear_train; /* 0 in double, which oneDNN does not have */
    double memory;                       /* copying the input */
    double kernel, kernel_train;         /* generating the kernels; with the adjoint */
    double forward_ratio, train_ratio;   /* to the Linear of the same round */
    /* median of `train` over its shortest; well above 1 on a busy machine */
    double spread;
} bench_result;

ssm2d_status bench_layer(ssm2d_context *context, const bench_case *c, bench_result *result,
                         ssm2d_error *error);

/* How the time of the kernels with their adjoint (one direction, 8 channels) grows with the number
 * of cells: times of square grids of side 16 to 1024, and the slope of a least-squares line through
 * log(time) against log(cells). */
enum { BENCH_SIDES = 7 };
typedef struct bench_growth {
    size_t side[BENCH_SIDES];
    double time[BENCH_SIDES], exponent;
} bench_growth;

ssm2d_status bench_kernel_growth(ssm2d_context *context, double seconds, bench_growth *growth,
                                 ssm2d_error *error);

#endif
