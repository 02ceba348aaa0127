/* filter_trail - a layer that draws a trail behind every pixel.
 *
 * The kernel is a random walk that steps right with probability f, else down, and continues with
 * probability s:
 *
 *     t[0,0] = 1,  t[i,j] = s*f*t[i,j-1] + s*(1-f)*t[i-1,j],  t = h + v
 *
 * which is the recursion of norm `none` with a1 = a2 = s*f, a3 = a4 = s*(1-f), b1 = b2 = 1/2. Its
 * sum is 1/(1-s), so that c1 = c2 = mix*(1-s) and D = 1-mix give a layer whose weights are positive
 * and add up to 1. */
#include "filter.h"

#include "core/context.h"
#include "core/status.h"
#include "layers/ssm2d/ssm2d_config.h"

#include <math.h>
#include <string.h>

/* The raw parameter whose sigmoid is a; a is clamped, as no finite parameter reaches 0 or 1. */
static double raw_of(double a)
{
    a = fmin(fmax(a, 1e-9), 1 - 1e-9);
    return log(a / (1 - a));
}

ssm2d_status filter_trail_layer(const ssm2d_context *context, const filter_trail *trail,
                                int channels, ssm2d_config *config, double **params,
                                ssm2d_error *error)
{
    ssm2d_config c = ssm2d_config_default();
    /* Trails to the left use a direction with flipped columns, trails upwards one with flipped
     * rows; the other directions have C = 0. */
    double angle = trail->angle < 360 ? trail->angle : 0;
    const int up = angle > 180;
    if (up) angle = 360 - angle;
    const int left = angle > 90;
    if (left) angle = 180 - angle;
    double radians = angle * 0.017453292519943295;
    double f = cos(radians) / (cos(radians) + sin(radians));
    double steps = trail->length / hypot(f, 1 - f), s = steps / (1 + steps);
    ssm2d_param param;
    c.channels = channels;
    c.d_state = c.n_ssm = 1;
    c.directions = up ? 4 : left ? 2 : 1;
    c.pair = SSM2D_PAIR_COLUMNS;
    c.norm = SSM2D_NORM_NONE;
    c.values = SSM2D_REAL;
    c.c_per_channel = 1; /* which also separates C by direction */
    c.skip = 1;
    const ssm2d_layer layer = layer_of(&layer_ssm2d, &c);
    ssm2d_status status = layer_check(&layer, error);
    if (status) return status;
    size_t used = 0; /* the direction of the trail */
    while (config_flip(&c, (int)used).rows != up || config_flip(&c, (int)used).cols != left) used++;
    double *p = mem_alloc(context, ssm2d_layer_param_count(&layer) * sizeof *p);
    if (!p) return fail_memory(error, "parameters");
    for (int i = 0; ssm2d_layer_param(&layer, i, &param); i++)
        for (size_t k = 0; k < param.count; k++) {
            double *value = &p[param.offset + k];
            size_t rows = param.shape[1]; /* A (4, systems, 1), C (2, directions * channels, 1) */
            if (!strcmp(param.name, "A"))
                *value = raw_of(s * (k / rows < 2 ? f : 1 - f));
            else if (!strcmp(param.name, "B"))
                *value = raw_of(0.5);
            else if (!strcmp(param.name, "C"))
                *value = k % rows / (size_t)channels == used ? trail->mix * (1 - s) : 0;
            else if (!strcmp(param.name, "D"))
                *value = 1 - trail->mix;
        }
    *config = c;
    *params = p;
    return SSM2D_OK;
}
