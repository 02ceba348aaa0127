/* bench_bounds - how close the layer comes to the machine's limits: its multiply-adds per second,
 * and the bytes per second that it can read and write. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Multiply-adds of one channel of one image in a forward pass. Directions share one two-sided
 * kernel, so the cost of a convolution does not depend on their number. */
static double forward_products(const bench_case *c, const char *algorithm)
{
    const double rows = (double)c->rows, cols = (double)c->cols, cells = rows * cols;
    /* a direction connects a quarter of the pairs of cells, plus those on borders */
    if (!strcmp(algorithm, "direct"))
        return cells * fmin(c->config.directions * (rows + 1) * (cols + 1) / 4, cells);
    if (!strcmp(algorithm, "fft")) {
        /* The usual count for real data, 2.5 n log2 n operations, forward and inverse, padded to
         * twice the sides; a complex product is four multiply-adds for two elements. */
        const double padded = 4 * cells, transform = 1.25 * padded * log2(padded);
        return 2 * transform + 2 * padded;
    }
    const double products = c->config.values == SSM2D_REAL ? 12 : 44; /* of one coordinate */
    return cells * c->config.directions * products * c->config.d_state;
}

/* Forward and backward together, as a multiple of forward alone: a convolution has two more of its
 * size, for the gradients of the input and of the kernel; fft has the transforms of the input and
 * of the output's gradient, and one inverse; a recurrence runs once more and backwards. */
static double train_products(const bench_case *c, const char *algorithm)
{
    if (!strcmp(algorithm, "fft")) return 2.5 * forward_products(c, algorithm);
    return 3 * forward_products(c, algorithm);
}

void bench_find_bounds(const bench_case *c, double products_per_ms, bench_result *r)
{
    enum { FORWARD_ARRAYS = 2, TRAIN_ARRAYS = 5, COPY_ARRAYS = 2 }; /* u, y; u, dy, du */
    const double images = (double)c->batch * c->config.channels;
    if (products_per_ms > 0) {
        r->forward_products =
            images * forward_products(c, r->algorithm) / products_per_ms / r->forward;
        r->train_products = images * train_products(c, r->algorithm) / products_per_ms / r->train;
    }
    r->forward_bandwidth = r->memory * FORWARD_ARRAYS / COPY_ARRAYS / r->forward;
    r->train_bandwidth = r->memory * TRAIN_ARRAYS / COPY_ARRAYS / r->train;
}

static void print_share(double share)
{
    if (share > 0)
        printf(" %8.1f %%", 100 * share);
    else
        printf(" %10s", "-");
}

void bench_print_bounds(const bench_result *r, const char *name)
{
    printf("%-22s %-7s", name, r->algorithm);
    print_share(r->forward_products);
    print_share(r->forward_bandwidth);
    print_share(r->train_products);
    print_share(r->train_bandwidth);
    printf("\n");
}

void bench_print_bounds_head(void)
{
    printf("\nShare of the machine's limits that the layer reaches: of the sgemm peak (nominal "
           "multiply-adds; fft: 2.5 n log2 n\noperations, padded to twice the sides), and of the "
           "speed of memcpy, if every array were read or written once.\n");
    printf("%-22s %-7s %21s %21s\n", "", "", "------ forward ------", " forward + backward -");
    printf("%-22s %-7s %10s %10s %10s %10s\n", "case", "algo", "sgemm", "memcpy", "sgemm",
           "memcpy");
}
