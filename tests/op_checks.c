#include "op_checks.h"

#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKS = 12 };

trial_values trial_values_for(const trial *t)
{
    rng r = rng_seed(9);
    trial_values n = {doubles(t->param_count), doubles(t->out_count)};
    for (size_t i = 0; i < t->param_count; i++) n.params[i] = (float)(0.8 * rng_normal(&r));
    for (size_t i = 0; i < t->out_count; i++) n.dout[i] = (float)rng_normal(&r);
    return n;
}

void trial_values_free(trial_values *n)
{
    free(n->params);
    free(n->dout);
}

const char *trial_title(const char *op, int variant, int mode)
{
    static const char *const modes[] = {"of parameters", "of values", "of shared values",
                                        "in inference"};
    static char text[96];
    snprintf(text, sizeof text, "%s, variant %d, %s", op, variant, modes[mode]);
    return text;
}

/* <dout, out> at params + step * direction */
static double along(const trial_functions *type, trial *t, const trial_values *n,
                    const double *direction, double step, double *moved, double *out)
{
    double sum = 0;
    for (size_t i = 0; i < t->param_count; i++) moved[i] = n->params[i] + step * direction[i];
    type->run(t, moved, NULL, out, NULL);
    for (size_t i = 0; i < t->out_count; i++) sum += n->dout[i] * out[i];
    return sum;
}

/* Central differences of fourth order. */
static double slope(const trial_functions *type, trial *t, const trial_values *n,
                    const double *direction, double *moved, double *out)
{
    const double h = 2e-3;
    double one =
        along(type, t, n, direction, h, moved, out) - along(type, t, n, direction, -h, moved, out);
    double two = along(type, t, n, direction, 2 * h, moved, out)
                 - along(type, t, n, direction, -2 * h, moved, out);
    return (8 * one - two) / (12 * h);
}

static int gradient_wrong(const trial_functions *type, const char *what, trial *t,
                          const trial_values *n, const double *grad)
{
    double *direction = doubles(t->param_count), *moved = doubles(t->param_count),
           *out = doubles(t->out_count);
    rng r = rng_seed(21);
    const int checks = short_tests() ? 1 : CHECKS;
    int wrong = 0;
    for (int k = 0; k < t->tensors; k++)
        for (int c = 0; c <= checks; c++) {
            memset(direction, 0, t->param_count * sizeof *direction);
            const size_t first = t->offset[k], count = t->count[k];
            if (c < checks) /* all elements of a small array, some of a large one */
                direction[first
                          + (count <= CHECKS ? (size_t)c % count : (size_t)below(&r, (int)count))] =
                    1;
            else
                for (size_t i = 0; i < count; i++)
                    direction[first + i] = rng_normal(&r) / sqrt((double)count);
            double got = 0, size = 0, want = slope(type, t, n, direction, moved, out);
            for (size_t i = 0; i < count; i++) {
                got += grad[first + i] * direction[first + i];
                size = fmax(size, fabs(grad[first + i]));
            }
            if (fabs(got - want) <= 2e-8 * (1 + size)) continue;
            if (wrong++ < 4)
                printf("%s: array %d, check %d: gradient %.12g, differences %.12g\n", what, k, c,
                       got, want);
        }
    free(direction);
    free(moved);
    free(out);
    return wrong;
}

int op_gradients_wrong(const trial_functions *type, ssm2d_context *context, const char *op)
{
    int wrong = 0;
    for (int v = 0; v < type->variants(op); v++)
        for (int mode = 0; mode < TRIAL_MODES; mode++) {
            trial *t = type->open(context, op, v, (trial_mode)mode);
            trial_values n = trial_values_for(t);
            double *out = doubles(t->out_count), *grad = doubles(t->param_count);
            /* parameters' gradients are added to */
            for (size_t k = 0; k < t->param_count; k++) grad[k] = 0.5;
            type->run(t, n.params, n.dout, out, grad);
            for (size_t k = 0; k < t->param_count; k++) grad[k] -= 0.5;
            wrong += gradient_wrong(type, trial_title(op, v, mode), t, &n, grad);
            free(out);
            free(grad);
            trial_values_free(&n);
            type->close(t);
        }
    return wrong;
}
