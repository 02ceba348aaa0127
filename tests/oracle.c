#include "oracle.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One coordinate of the state: the values computed from the raw parameters. */
typedef struct scalars {
    double complex a[4], b[2], c[2];
} scalars;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double complex polar(double radius, double raw_angle)
{
    double angle = 2 * acos(-1.0) * sigmoid(raw_angle);
    return radius * cos(angle) + radius * sin(angle) * I;
}

const double *oracle_param(const ssm2d_config *config, const double *params, const char *name)
{
    ssm2d_param p;
    for (int i = 0; param_get(config, i, &p); i++)
        if (strcmp(p.name, name) == 0) return params + p.offset;
    return NULL;
}

/* The parameter arrays after the kernel's; those that the configuration does not have are NULL. */
typedef struct arrays {
    const double *A, *A_angle, *A_radius, *B, *B_angle, *B_radius, *C, *C_angle, *C_radius;
} arrays;

static arrays find_arrays(const ssm2d_config *config, const double *params)
{
    return (arrays){
        oracle_param(config, params, "A"),        oracle_param(config, params, "A_angle"),
        oracle_param(config, params, "A_radius"), oracle_param(config, params, "B"),
        oracle_param(config, params, "B_angle"),  oracle_param(config, params, "B_radius"),
        oracle_param(config, params, "C"),        oracle_param(config, params, "C_angle"),
        oracle_param(config, params, "C_radius"),
    };
}

static scalars scalars_of(const ssm2d_config *config, const arrays *raw, int direction, int channel,
                          int n)
{
    int H = config->channels, N = config->d_state, S = config->n_ssm,
        shared = config->share_directions;
    int K = shared ? S : config->directions * S;
    int first = config->assign == SSM2D_ASSIGN_DISTINCT ? direction * S : direction * H;
    int system = (first + channel) % K;
    if (config->assign == SSM2D_ASSIGN_PAPER) system = direction * S + channel % S;
    if (shared) system = channel % S;
    int row = !config->c_per_channel ? system : shared ? channel : direction * H + channel;
    int rows = !config->c_per_channel ? K : shared ? H : config->directions * H;

    scalars s;
    for (int m = 0; m < 4; m++) {
        size_t a = ((size_t)m * K + system) * N + n;
        s.a[m] = config->values == SSM2D_REAL ? sigmoid(raw->A[a])
                                              : polar(sigmoid(raw->A_radius[a]), raw->A_angle[a]);
    }
    for (int m = 0; m < 2; m++) {
        size_t b = ((size_t)m * K + system) * N + n, c = ((size_t)m * rows + row) * N + n;
        switch (config->values) {
        case SSM2D_REAL:
            s.b[m] = sigmoid(raw->B[b]);
            s.c[m] = raw->C[c];
            break;
        case SSM2D_CARTESIAN:
            s.b[m] = sigmoid(raw->B[2 * b]) + sigmoid(raw->B[2 * b + 1]) * I;
            s.c[m] = raw->C[2 * c] + raw->C[2 * c + 1] * I;
            break;
        case SSM2D_POLAR:
            s.b[m] = polar(sigmoid(raw->B_radius[b]), raw->B_angle[b]);
            s.c[m] = polar(raw->C_radius[c], raw->C_angle[c]);
            break;
        }
    }
    return s;
}

static double step_factor(ssm2d_norm norm, size_t i, size_t j)
{
    if (norm == SSM2D_NORM_NONE) return 1;
    if (norm == SSM2D_NORM_HALF) return 0.5;
    return i == 0 || j == 0 ? 1 : 0.5;
}

static double cell_factor(ssm2d_norm norm, size_t i, size_t j)
{
    return norm == SSM2D_NORM_PAPER && (i == 0 || j == 0) ? 2 : 1;
}

/* Adds Re(c1 h + c2 v), cell by cell. */
static void recursion(ssm2d_norm norm, const scalars *s, size_t rows, size_t cols, double *taps)
{
    double complex *h = calloc(rows * cols, sizeof *h), *v = calloc(rows * cols, sizeof *v);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            size_t at = i * cols + j;
            double g = step_factor(norm, i, j);
            if (j > 0) h[at] = g * (s->a[0] * h[at - 1] + s->a[1] * v[at - 1]);
            if (i > 0) v[at] = g * (s->a[2] * h[at - cols] + s->a[3] * v[at - cols]);
            if (i == 0 && j == 0) {
                h[at] = s->b[0];
                v[at] = s->b[1];
            }
            taps[at] += cell_factor(norm, i, j) * creal(s->c[0] * h[at] + s->c[1] * v[at]);
        }
    free(h);
    free(v);
}

/* A path is a word of i downs and j rights. A step right arrives in the horizontal state, a step
 * down in the vertical one; its factor depends on the state it comes from. The first state is h
 * with weight b1 or v with weight b2. 2^(i+j) words. */
static double path_sum(ssm2d_norm norm, const scalars *s, size_t i, size_t j)
{
    double complex sum = 0;
    for (unsigned long word = 0; word < 1ul << (i + j); word++) {
        if ((size_t)__builtin_popcountl(word) != i) continue; /* a set bit is a step down */
        for (int first = 0; first < 2; first++) {
            double complex product = s->b[first];
            int vertical = first;
            size_t row = 0, col = 0;
            for (size_t step = 0; step < i + j; step++) {
                int down = (int)(word >> step & 1);
                row += (size_t)down;
                col += (size_t)!down;
                product *= s->a[2 * down + vertical] * step_factor(norm, row, col);
                vertical = down;
            }
            sum += product * s->c[vertical];
        }
    }
    return cell_factor(norm, i, j) * creal(sum);
}

void oracle_kernel(const ssm2d_config *config, const double *params, oracle_method method,
                   size_t rows, size_t cols, double *kernel)
{
    size_t cells = rows * cols;
    double scale = sqrt(1.0 / config->d_state);
    arrays raw = find_arrays(config, params);
    for (int r = 0; r < config->directions; r++)
        for (int ch = 0; ch < config->channels; ch++) {
            double *taps = kernel + ((size_t)r * config->channels + ch) * cells;
            memset(taps, 0, cells * sizeof *taps);
            for (int n = 0; n < config->d_state; n++) {
                scalars s = scalars_of(config, &raw, r, ch, n);
                if (method == BY_RECURSION)
                    recursion(config->norm, &s, rows, cols, taps);
                else
                    for (size_t at = 0; at < cells; at++)
                        taps[at] += path_sum(config->norm, &s, at / cols, at % cols);
            }
            for (size_t at = 0; at < cells; at++) {
                int cut = (config->trunc_rows && at / cols >= (size_t)config->trunc_rows)
                          || (config->trunc_cols && at % cols >= (size_t)config->trunc_cols);
                taps[at] = cut ? 0 : taps[at] * scale;
            }
        }
}

void oracle_flips(const ssm2d_config *config, int direction, int *flip_rows, int *flip_cols)
{
    *flip_rows = *flip_cols = 0;
    if (config->directions == 4) {
        *flip_rows = direction == 1 || direction == 3;
        *flip_cols = direction == 2 || direction == 3;
    } else if (direction == 1) {
        *flip_rows = config->pair == SSM2D_PAIR_BOTH;
        *flip_cols = 1;
    }
}

static void layer_norm(int channels, const double *gamma, const double *beta, double *y)
{
    double mean = 0, variance = 0;
    for (int c = 0; c < channels; c++) mean += y[c] / channels;
    for (int c = 0; c < channels; c++) variance += (y[c] - mean) * (y[c] - mean) / channels;
    for (int c = 0; c < channels; c++)
        y[c] = gamma[c] * (y[c] - mean) / sqrt(variance + 1e-5) + beta[c];
}

void oracle_apply(const ssm2d_config *config, const double *params, const double *kernel,
                  size_t batch, size_t rows, size_t cols, const double *u, double *y)
{
    size_t H = (size_t)config->channels, cells = rows * cols;
    const double *D = config->skip ? oracle_param(config, params, "D") : NULL;
    memset(y, 0, batch * cells * H * sizeof *y);
    for (int r = 0; r < config->directions; r++) {
        int fr, fc;
        oracle_flips(config, r, &fr, &fc);
        double weight = config->average ? 1.0 / config->directions : 1;
        for (size_t b = 0; b < batch; b++)
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++)
                    for (size_t p = 0; p <= i; p++)
                        for (size_t q = 0; q <= j; q++) {
                            size_t to_i = fr ? rows - 1 - i : i, to_j = fc ? cols - 1 - j : j;
                            size_t from_i = fr ? rows - 1 - (i - p) : i - p,
                                   from_j = fc ? cols - 1 - (j - q) : j - q;
                            const double *x = u + ((b * rows + from_i) * cols + from_j) * H;
                            double *out = y + ((b * rows + to_i) * cols + to_j) * H;
                            const double *k = kernel + (size_t)r * H * cells + p * cols + q;
                            for (size_t c = 0; c < H; c++) out[c] += weight * k[c * cells] * x[c];
                        }
    }
    for (size_t at = 0; at < batch * cells; at++) {
        for (size_t c = 0; D && c < H; c++) y[at * H + c] += D[c] * u[at * H + c];
        if (config->layer_norm)
            layer_norm(config->channels, oracle_param(config, params, "gamma"),
                       oracle_param(config, params, "beta"), y + at * H);
    }
}

void oracle_forward(const ssm2d_config *config, const double *params, size_t batch, size_t rows,
                    size_t cols, const double *u, double *y)
{
    double *kernel =
        calloc((size_t)config->directions * config->channels * rows * cols, sizeof *kernel);
    oracle_kernel(config, params, BY_RECURSION, rows, cols, kernel);
    oracle_apply(config, params, kernel, batch, rows, cols, u, y);
    free(kernel);
}

void oracle_pascal(size_t rows, size_t cols, double *k)
{
    for (size_t j = 0; j < cols; j++)
        for (size_t i = 0; i < rows; i++)
            k[i * cols + j] = i == 0   ? 1
                              : j == 0 ? 0
                                       : k[(i - 1) * cols + j - 1] + k[i * cols + j - 1];
}

size_t oracle_rank(size_t rows, size_t cols, const double *matrix, double tolerance)
{
    double *m = malloc(rows * cols * sizeof *m), first = 0;
    memcpy(m, matrix, rows * cols * sizeof *m);
    size_t rank = 0;
    for (; rank < rows && rank < cols; rank++) {
        size_t pr = rank, pc = rank;
        for (size_t i = rank; i < rows; i++)
            for (size_t j = rank; j < cols; j++)
                if (fabs(m[i * cols + j]) > fabs(m[pr * cols + pc])) {
                    pr = i;
                    pc = j;
                }
        double pivot = m[pr * cols + pc];
        if (rank == 0) first = fabs(pivot);
        if (fabs(pivot) <= tolerance * first) break; /* also a matrix of zeros */
        for (size_t j = 0; j < cols; j++) {
            double t = m[rank * cols + j];
            m[rank * cols + j] = m[pr * cols + j];
            m[pr * cols + j] = t;
        }
        for (size_t i = 0; i < rows; i++) {
            double t = m[i * cols + rank];
            m[i * cols + rank] = m[i * cols + pc];
            m[i * cols + pc] = t;
        }
        for (size_t i = rank + 1; i < rows; i++) {
            double f = m[i * cols + rank] / pivot;
            for (size_t j = rank; j < cols; j++) m[i * cols + j] -= f * m[rank * cols + j];
        }
    }
    free(m);
    return rank;
}
