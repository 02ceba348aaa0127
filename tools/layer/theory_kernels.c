#include "theory.h"

#include "core/context.h"
#include "core/status.h"
#include "layers/layer_kind.h"
#include "layers/s4nd/s4nd_config.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- kernels --------------------------------------------------------------------------------- */

/* Where the sigmoid of a double is exactly 0 or 1. */
enum { SATURATED = 800 };

static double logit(double x)
{
    if (x <= 0) return -SATURATED;
    return x >= 1 ? SATURATED : log(x / (1 - x));
}

/* The kernel of a layer with these parameters; `kernel` has the shape that ssm2d.h describes. */
static ssm2d_status compute(ssm2d_context *context, const ssm2d_layer *layer, int side,
                            const double *params, double *kernel, ssm2d_error *error)
{
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    options.grid = ssm2d_grid_2d((size_t)side, (size_t)side);
    options.type = SSM2D_DOUBLE;
    options.inference = 1;
    ssm2d_status status = ssm2d_plan_create(context, layer, &options, &plan, error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, error);
    if (!status && ssm2d_kernel_double(plan, workspace, params, kernel))
        status = fail(error, SSM2D_ERROR_ARGUMENT, "the kernel cannot be computed");
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return status;
}

static ssm2d_config one_system(ssm2d_norm norm)
{
    ssm2d_config config = ssm2d_config_default();
    config.channels = config.n_ssm = config.d_state = config.directions = 1;
    config.skip = 0;
    config.norm = norm;
    config.init = LAYER_INIT_AUTHORS;
    return config;
}

enum { SYSTEM_PARAMS = 8 }; /* A1..A4, B1, B2, C1, C2, in the order of the layer's parameters */

ssm2d_status theory_kernel(ssm2d_context *context, const theory_system *s, ssm2d_norm norm,
                           int side, double *kernel, ssm2d_error *error)
{
    const ssm2d_config config = one_system(norm);
    const ssm2d_layer layer = layer_of(&layer_ssm2d, &config);
    const double params[SYSTEM_PARAMS] = {logit(s->a[0]), logit(s->a[1]), logit(s->a[2]),
                                          logit(s->a[3]), logit(s->b[0]), logit(s->b[1]),
                                          s->c[0],        s->c[1]};
    return compute(context, &layer, side, params, kernel, error);
}

/* The raw A are spread from N(0, 0.2^2) to N(3, 1.5^2), as in `ssm2d kernels --figure3`. */
ssm2d_status theory_kernel_drawn(ssm2d_context *context, uint64_t seed, ssm2d_norm norm, int side,
                                 double *kernel, ssm2d_error *error)
{
    const ssm2d_config config = one_system(norm);
    const ssm2d_layer layer = layer_of(&layer_ssm2d, &config);
    double params[SYSTEM_PARAMS];
    const ssm2d_status status = ssm2d_params_init_double(&layer, seed, params, error);
    if (status) return status;
    for (int i = 0; i < 4; i++) params[i] = 3 + 7.5 * params[i];
    return compute(context, &layer, side, params, kernel, error);
}

/* ---- S4ND ------------------------------------------------------------------------------------ */

enum { S4ND_STATES = 16, S4ND_PARAMS = 2 * (1 + S4ND_STATES + 2 * S4ND_STATES) + 1 };
enum { S4ND_WIDTH = 2 * THEORY_SIDE - 1 };

static s4nd_config one_s4nd(int states)
{
    const ssm2d_layer layer = layer_default(&layer_s4nd);
    s4nd_config config;
    memcpy(&config, layer_config(&layer), sizeof config);
    config.channels = config.n_ssm = 1;
    config.d_state = states;
    return config;
}

/* The forward quadrant of the kernel of both sides. */
static ssm2d_status forward_quadrant(ssm2d_context *context, const s4nd_config *config, int side,
                                     const double *params, double *kernel, ssm2d_error *error)
{
    const ssm2d_layer layer = layer_of(&layer_s4nd, config);
    const size_t width = 2 * (size_t)side - 1, n = (size_t)side;
    double both[S4ND_WIDTH * S4ND_WIDTH];
    const ssm2d_status status = compute(context, &layer, side, params, both, error);
    for (size_t i = 0; i < n && !status; i++)
        memcpy(kernel + i * n, both + (n - 1 + i) * width + n - 1, n * sizeof *kernel);
    return status;
}

/* With dt = 1, A = log a and C = A/(2*(a - 1)) a tap is 2*C*(a - 1)/A * exp(l*A) = a^l. */
ssm2d_status theory_s4nd(ssm2d_context *context, double rows, double cols, int side, double *kernel,
                         ssm2d_error *error)
{
    const s4nd_config config = one_s4nd(2);
    const double a[2] = {log(rows), log(cols)};
    const double c[2] = {a[0] / (2 * (rows - 1)), a[1] / (2 * (cols - 1))};
    const double params[] = {0,          0,                    /* log_dt of both axes */
                             log(-a[0]), log(-a[1]),           /* A_re */
                             0,          0,                    /* A_im */
                             c[0],       0,          0, 0,     /* C: rows, forward and backward */
                             c[1],       0,          0, 0, 0}; /* C: columns; D */
    return forward_quadrant(context, &config, side, params, kernel, error);
}

ssm2d_status theory_s4nd_drawn(ssm2d_context *context, uint64_t seed, int side, double *kernel,
                               ssm2d_error *error)
{
    const s4nd_config config = one_s4nd(S4ND_STATES);
    const ssm2d_layer layer = layer_of(&layer_s4nd, &config);
    double params[S4ND_PARAMS];
    if (ssm2d_layer_param_count(&layer) > S4ND_PARAMS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "S4ND has more parameters than expected");
    const ssm2d_status status = ssm2d_params_init_double(&layer, seed, params, error);
    return status ? status : forward_quadrant(context, &config, side, params, kernel, error);
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* Rotates columns p and q of matrix[side][side] until they are orthogonal. Returns the cosine of
 * the angle between them before. */
static double rotate(double *matrix, int side, int p, int q)
{
    double pp = 0, qq = 0, pq = 0;
    for (int i = 0; i < side; i++) {
        const double *row = matrix + (size_t)i * (size_t)side;
        pp += row[p] * row[p];
        qq += row[q] * row[q];
        pq += row[p] * row[q];
    }
    if (pq == 0) return 0;
    const double zeta = (qq - pp) / (2 * pq);
    const double t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta)), c = 1 / hypot(1, t);
    for (int i = 0; i < side; i++) {
        double *row = matrix + (size_t)i * (size_t)side;
        const double x = row[p], y = row[q];
        row[p] = c * (x - t * y);
        row[q] = c * (y + t * x);
    }
    return fabs(pq) / sqrt(pp * qq);
}

/* One-sided Jacobi: the norms of the columns once all pairs are orthogonal. */
void theory_singular_values(const double *matrix, int side, double *values)
{
    double work[THEORY_CELLS], worst = 1;
    memcpy(work, matrix, (size_t)side * (size_t)side * sizeof *work);
    for (int sweep = 0; sweep < 60 && worst > DBL_EPSILON; sweep++) {
        worst = 0;
        for (int p = 0; p < side; p++)
            for (int q = p + 1; q < side; q++) worst = fmax(worst, rotate(work, side, p, q));
    }
    for (int k = 0; k < side; k++) {
        double norm = 0;
        for (int i = 0; i < side; i++) norm = hypot(norm, work[(size_t)i * (size_t)side + k]);
        int at = k;
        for (; at > 0 && values[at - 1] < norm; at--) values[at] = values[at - 1];
        values[at] = norm;
    }
}

int theory_rank(const double *matrix, int side)
{
    double values[THEORY_SIDE];
    int rank = 0;
    theory_singular_values(matrix, side, values);
    while (rank < side && values[rank] > side * DBL_EPSILON * values[0]) rank++;
    return rank;
}

double theory_difference(const double *a, const double *b, int side)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < (size_t)side * (size_t)side; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        largest = fmax(largest, fabs(a[i]));
    }
    return largest > 0 ? worst / largest : worst;
}
