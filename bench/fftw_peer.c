/* fftw_peer [THREADS] - times FFTW on the layer's convolution, beside the layer's own `fft` and the
 * algorithm that `auto` chooses.
 *
 * y[b][i][j][h] = sum_{p,q} k[h][i-p][j-q] u[b][p][q][h], |i-p| < rows, |j-q| < cols: the two-sided
 * kernel of all directions. One image at a time on each thread, zero-padded to at least 2n-1 on
 * each side, transformed, multiplied, transformed back. Two layouts of the padded image, both
 * through the guru interface and planned with FFTW_MEASURE: channels last, as u is, and channels
 * first, where the padding also transposes. The layer's times include generating the kernel; FFTW's
 * do not. Both include transforming it. */
#include "core/clock.h"
#include "core/context.h"
#include "core/rng.h"

#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64, ROUNDS = 7 };

typedef struct job {
    size_t batch, rows, cols, channels, prows, pcols; /* p: padded */
    int channels_last;
    const float *u, *kernel; /* kernel: [2*rows-1][2*cols-1][channels], offset 0 in the middle */
    float *y;
    float *padded[MAX_THREADS];
    fftwf_complex *spectrum[MAX_THREADS], *kernel_spectrum;
    fftwf_plan forward, backward;
} job;

/* Milliseconds. */
static double now(void) { return 1e3 * clock_seconds(); }

/* The smallest even number from n on that has no prime factor beyond 7. */
static size_t good_size(size_t n)
{
    for (n += n % 2;; n += 2) {
        size_t rest = n;
        for (size_t p = 2; p <= 7; p++)
            while (rest % p == 0) rest /= p;
        if (rest == 1) return n;
    }
}

static size_t at(const job *j, size_t row, size_t col, size_t channel)
{
    if (j->channels_last) return (row * j->pcols + col) * j->channels + channel;
    return (channel * j->prows + row) * j->pcols + col;
}

static void make_plans(job *j)
{
    int h = (int)j->channels, n1 = (int)j->prows, n2 = (int)j->pcols, half = n2 / 2 + 1;
    int last = j->channels_last, cs = last ? h : 1; /* cs: from one column to the next */
    fftwf_iodim real_dims[2] = {{n1, n2 * cs, half * cs}, {n2, cs, cs}};
    fftwf_iodim complex_dims[2] = {{n1, half * cs, n2 * cs}, {n2, cs, cs}};
    fftwf_iodim real_many = {h, last ? 1 : n1 * n2, last ? 1 : n1 * half};
    fftwf_iodim complex_many = {h, last ? 1 : n1 * half, last ? 1 : n1 * n2};
    j->forward = fftwf_plan_guru_dft_r2c(2, real_dims, 1, &real_many, j->padded[0], j->spectrum[0],
                                         FFTW_MEASURE);
    j->backward = fftwf_plan_guru_dft_c2r(2, complex_dims, 1, &complex_many, j->spectrum[0],
                                          j->padded[0], FFTW_MEASURE);
}

static void image_task(void *arg, size_t image, int worker)
{
    job *j = arg;
    float *padded = j->padded[worker];
    fftwf_complex *spectrum = j->spectrum[worker];
    size_t plane = j->rows * j->cols * j->channels,
           bins = j->prows * (j->pcols / 2 + 1) * j->channels;
    const float *u = j->u + image * plane;
    float *y = j->y + image * plane;
    memset(padded, 0, j->prows * j->pcols * j->channels * sizeof *padded);
    for (size_t r = 0; r < j->rows; r++)
        for (size_t c = 0; c < j->cols; c++)
            for (size_t h = 0; h < j->channels; h++)
                padded[at(j, r, c, h)] = u[(r * j->cols + c) * j->channels + h];
    fftwf_execute_dft_r2c(j->forward, padded, spectrum);
    /* written out: C's complex product checks for NaN */
    for (size_t i = 0; i < bins; i++) {
        float re = spectrum[i][0], im = spectrum[i][1], kre = j->kernel_spectrum[i][0],
              kim = j->kernel_spectrum[i][1];
        spectrum[i][0] = re * kre - im * kim;
        spectrum[i][1] = re * kim + im * kre;
    }
    fftwf_execute_dft_c2r(j->backward, spectrum, padded);
    for (size_t r = 0; r < j->rows; r++)
        for (size_t c = 0; c < j->cols; c++)
            for (size_t h = 0; h < j->channels; h++)
                y[(r * j->cols + c) * j->channels + h] = padded[at(j, r, c, h)];
}

static void convolve(ssm2d_context *context, job *j)
{
    float scale = 1 / (float)(j->prows * j->pcols);
    memset(j->padded[0], 0, j->prows * j->pcols * j->channels * sizeof(float));
    for (size_t r = 0; r < 2 * j->rows - 1; r++)
        for (size_t c = 0; c < 2 * j->cols - 1; c++) {
            size_t row = (r + j->prows - j->rows + 1) % j->prows,
                   col = (c + j->pcols - j->cols + 1) % j->pcols;
            for (size_t h = 0; h < j->channels; h++)
                j->padded[0][at(j, row, col, h)] =
                    scale * j->kernel[(r * (2 * j->cols - 1) + c) * j->channels + h];
        }
    fftwf_execute_dft_r2c(j->forward, j->padded[0], j->kernel_spectrum);
    pool_run(context->pool, j->batch, image_task, j);
}

/* The largest difference from the definition, at a few cells. */
static double worst_error(const job *j)
{
    double worst = 0;
    rng random = rng_seed(3);
    for (int k = 0; k < 20; k++) {
        size_t b = rng_next(&random) % j->batch, i = rng_next(&random) % j->rows,
               c = rng_next(&random) % j->cols;
        size_t h = rng_next(&random) % j->channels;
        double sum = 0;
        for (size_t p = 0; p < j->rows; p++)
            for (size_t q = 0; q < j->cols; q++)
                sum +=
                    (double)
                        j->kernel[((i + j->rows - 1 - p) * (2 * j->cols - 1) + c + j->cols - 1 - q)
                                      * j->channels
                                  + h]
                    * j->u[((b * j->rows + p) * j->cols + q) * j->channels + h];
        double error = fabs(sum - j->y[((b * j->rows + i) * j->cols + c) * j->channels + h]);
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static double measure_fftw(ssm2d_context *context, job *j, int channels_last)
{
    int threads = ssm2d_context_threads(context);
    size_t cells = j->prows * j->pcols * j->channels,
           bins = j->prows * (j->pcols / 2 + 1) * j->channels;
    double best = INFINITY;
    j->channels_last = channels_last;
    for (int t = 0; t < threads; t++) {
        j->padded[t] = fftwf_alloc_real(cells);
        j->spectrum[t] = fftwf_alloc_complex(bins);
    }
    j->kernel_spectrum = fftwf_alloc_complex(bins);
    make_plans(j);
    for (int i = 0; i < ROUNDS; i++) {
        double start = now();
        convolve(context, j);
        best = fmin(best, now() - start);
    }
    double error = worst_error(j);
    if (!(error < 1e-3)) {
        fprintf(stderr, "fftw_peer: wrong by %g\n", error);
        exit(1);
    }
    fftwf_destroy_plan(j->forward);
    fftwf_destroy_plan(j->backward);
    for (int t = 0; t < threads; t++) {
        fftwf_free(j->padded[t]);
        fftwf_free(j->spectrum[t]);
    }
    fftwf_free(j->kernel_spectrum);
    return best;
}

static double measure_layer(ssm2d_context *context, const job *j, const char *algorithm,
                            char *chosen, size_t size)
{
    ssm2d_error error;
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    ssm2d_layer *layer = NULL;
    char settings[64];
    ssm2d_plan_options options = ssm2d_plan_options_default();
    double best = INFINITY;
    snprintf(settings, sizeof settings, "channels=%zu init=authors", (size_t)j->channels);
    options.batch = j->batch;
    options.grid = ssm2d_grid_2d(j->rows, j->cols);
    options.algorithm = algorithm;
    options.inference = 1;
    if (ssm2d_layer_create(context, "ssm2d", settings, &layer, &error)) {
        fprintf(stderr, "fftw_peer: %s\n", error.line);
        exit(1);
    }
    float *params = calloc(ssm2d_layer_param_count(layer), sizeof *params);
    if (!params || ssm2d_params_init(layer, 1, params, &error)
        || ssm2d_plan_create(context, layer, &options, &plan, &error)
        || ssm2d_workspace_create(plan, &workspace, &error)) {
        fprintf(stderr, "fftw_peer: %s\n", params ? error.line : "no memory");
        exit(1);
    }
    for (int i = 0; i < ROUNDS; i++) {
        double start = now();
        ssm2d_forward(plan, workspace, params, j->u, j->y);
        best = fmin(best, now() - start);
    }
    snprintf(chosen, size, "%s", ssm2d_plan_algorithm(plan));
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    ssm2d_layer_destroy(layer);
    free(params);
    return best;
}

static float *noise(rng *random, size_t count)
{
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; values && i < count; i++) values[i] = (float)rng_uniform(random, -0.1, 0.1);
    return values;
}

int main(int argc, char **argv)
{
    static const size_t cases[][4] = {
        {128, 8, 8, 192}, {32, 14, 14, 192}, {128, 16, 16, 96}, {32, 32, 32, 96}, {8, 56, 56, 96}};
    ssm2d_context_options options = {.size = sizeof options,
                                     .threads = argc > 1 ? atoi(argv[1]) : 0};
    ssm2d_context *context;
    ssm2d_error error;
    if (ssm2d_context_create(&options, &context, &error)
        || ssm2d_context_threads(context) > MAX_THREADS) {
        fprintf(stderr, "fftw_peer: %s\n", context ? "too many threads" : error.line);
        return 1;
    }
    printf("threads %d, %s. Milliseconds, forward, the best of %d.\n",
           ssm2d_context_threads(context), ssm2d_context_cpu(context), ROUNDS);
    printf("%-20s %20s %20s %10s %16s\n", "case", "FFTW, channels last", "FFTW, transposed",
           "ssm2d fft", "ssm2d auto");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        job j = {.batch = cases[i][0],
                 .rows = cases[i][1],
                 .cols = cases[i][2],
                 .channels = cases[i][3]};
        size_t count = j.batch * j.rows * j.cols * j.channels;
        char name[64], fft[16], chosen[16];
        rng random = rng_seed(1);
        float *u = noise(&random, count),
              *kernel = noise(&random, (2 * j.rows - 1) * (2 * j.cols - 1) * j.channels);
        j.u = u;
        j.kernel = kernel;
        j.y = malloc(count * sizeof *j.y);
        if (!u || !kernel || !j.y) return 1;
        j.prows = good_size(2 * j.rows - 1);
        j.pcols = good_size(2 * j.cols - 1);
        double last = measure_fftw(context, &j, 1), first = measure_fftw(context, &j, 0);
        double ours = measure_layer(context, &j, "fft", fft, sizeof fft);
        double automatic = measure_layer(context, &j, "auto", chosen, sizeof chosen);
        snprintf(name, sizeof name, "%zu x %zux%zu x %zu", j.batch, j.rows, j.cols, j.channels);
        printf("%-20s %20.2f %20.2f %10.2f %7.2f (%s)\n", name, last, first, ours, automatic,
               chosen);
        fflush(stdout);
        free(u);
        free(kernel);
        free(j.y);
    }
    ssm2d_context_destroy(context);
    return 0;
}
