/* filter_run - one channel of a trained layer, or the mean of all, as a layer of one channel.
 *
 * The kernel of channel h is the sum over directions r of C[c(r,h)] applied to system k(r,h); the
 * coordinates of a state are independent of each other. So the mean over channels is one channel
 * again, whose state has the coordinates of every (system, row of C) that a direction uses, one
 * group after the other, with C weighted by how many channels use it:
 *
 *     mean over h of K_h = sum over r, groups g of (uses_g / H) * K_g
 *
 * A layer divides C by the square root of d_state, which `stretch` compensates for. */
#include "filter.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"
#include "layers/ssm2d/assign.h"
#include "mixers/mixer.h"

#include <math.h>
#include <string.h>

/* The distinct pairs of a system and a row of C that a direction uses, and how often. */
typedef struct group {
    int system, c_row, uses;
} group;

/* Adds the pair to the list of a direction; returns the new length of the list. */
static int add_group(group *list, int count, int system, int c_row)
{
    for (int i = 0; i < count; i++)
        if (list[i].system == system && list[i].c_row == c_row) {
            list[i].uses++;
            return count;
        }
    list[count] = (group){system, c_row, 1};
    return count + 1;
}

/* Copies row `row` of an array of the systems (A, B or C), of shape [which][rows][N] or
 * [which][rows][N][2], to direction r and group g of `to`, whose N is that of all groups. */
static void copy_rows(const ssm2d_param *from, const ssm2d_param *to, const float *source,
                      double *params, int r, int g, int row, double scale)
{
    const size_t parts = from->rank == 4 ? 2 : 1, N = from->shape[2] * parts;
    const size_t wide = to->shape[2] * parts;
    for (size_t which = 0; which < from->shape[0]; which++)
        for (size_t n = 0; n < N; n++)
            params[to->offset + (which * to->shape[1] + (size_t)r) * wide + (size_t)g * N + n] =
                scale
                * (double)source[from->offset + (which * from->shape[1] + (size_t)row) * N + n];
}

/* Sets all groups of direction r; C stays zero for groups that it does not have. */
static void fill_direction(const ssm2d_config *layer, const ssm2d_config *one, const float *source,
                           const group *groups, int count, int channels, int r, double *params)
{
    const double stretch = sqrt((double)one->d_state / layer->d_state);
    const ssm2d_layer all = layer_of(&layer_ssm2d, layer), single = layer_of(&layer_ssm2d, one);
    ssm2d_param from, to;
    for (int i = 0; ssm2d_layer_param(&all, i, &from) && ssm2d_layer_param(&single, i, &to); i++) {
        if (!from.system) continue;
        const int is_c = from.name[0] == 'C', is_angle = strstr(from.name, "angle") != NULL;
        for (int g = 0; g < count; g++)
            copy_rows(&from, &to, source, params, r, g, is_c ? groups[g].c_row : groups[g].system,
                      is_c && !is_angle ? stretch * groups[g].uses / channels : 1);
    }
}

static double mean(const float *values, int first, int count)
{
    double sum = 0;
    for (int i = first; i < first + count; i++) sum += (double)values[i];
    return sum / count;
}

/* Makes one channel, the mean of channels first .. first + count - 1 of the layer. */
static ssm2d_status one_channel(const ssm2d_context *context, const ssm2d_config *layer,
                                const float *source, int first, int count, ssm2d_config *config,
                                double **params, ssm2d_error *error)
{
    const int directions = layer->directions;
    int counts[4] = {0}, max_groups = 1;
    ssm2d_param param;
    ssm2d_config one = *layer;
    ssm2d_status status = SSM2D_OK;
    double *p = NULL;
    group *groups = mem_alloc(context, row_major(directions, count, 0) * sizeof *groups);
    if (!groups) return fail_memory(error, "channels of a layer");
    for (int r = 0; r < directions; r++) {
        for (int h = first; h < first + count; h++)
            counts[r] = add_group(groups + row_major(r, count, 0), counts[r],
                                  system_of(layer, r, h), c_row_of(layer, r, h));
        if (counts[r] > max_groups) max_groups = counts[r];
    }
    one.channels = one.n_ssm = 1;
    one.share_directions = one.c_per_channel = one.layer_norm = 0;
    one.assign = SSM2D_ASSIGN_DISTINCT;
    one.d_state = max_groups * layer->d_state;
    const ssm2d_layer all = layer_of(&layer_ssm2d, layer), single = layer_of(&layer_ssm2d, &one);
    if (count > 1 && layer_check(&single, NULL)) {
        status = fail(error, SSM2D_ERROR_UNSUPPORTED,
                      "the layer has too many rows of C for the mean of its %d channels: choose "
                      "one with --channel",
                      count);
        goto done;
    }
    if ((status = layer_check(&single, error))) goto done;
    p = mem_alloc(context, ssm2d_layer_param_count(&single) * sizeof *p);
    if (!p) {
        status = fail_memory(error, "parameters of a layer");
        goto done;
    }
    for (int r = 0; r < directions; r++)
        fill_direction(layer, &one, source, groups + row_major(r, count, 0), counts[r], count, r,
                       p);
    for (int i = 0; ssm2d_layer_param(&all, i, &param); i++)
        if (!strcmp(param.name, "D"))
            p[ssm2d_layer_param_count(&single) - 1] = mean(source + param.offset, first, count);
    *config = one;
    *params = p;
done:
    mem_free(context, groups);
    return status;
}

ssm2d_status filter_run_layer(ssm2d_context *context, const filter_run *what, ssm2d_config *config,
                              double **params, ssm2d_error *error)
{
    run_model m;
    const char *folder = text_path(what->folder);
    ssm2d_status status = run_model_open(context, what->folder, what->weights, NULL, &m, error);
    if (status) return status;
    mixer_config *mixed = &m.settings.model.mixer;
    if (mixed->kind != &layer_ssm2d)
        status =
            fail(error, SSM2D_ERROR_ARGUMENT, "%s: the model has no layer to run: its mixer is %s",
                 folder, mixed->kind->name);
    else if (what->block > m.weights->blocks)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "--block=%d: the model in %s has %d blocks",
                      what->block, folder, m.weights->blocks);
    if (!status) {
        const param_block *b = &m.weights->block[what->block - 1];
        ssm2d_config layer = *ssm2d_config_of(&mixed->values);
        layer.channels = b->channels;
        if (what->channel >= b->channels)
            status = fail(error, SSM2D_ERROR_ARGUMENT,
                          "--channel=%d: block %d of %s has channels 0 to %d", what->channel,
                          what->block, folder, b->channels - 1);
        else
            status = one_channel(context, &layer, m.params + b->offset,
                                 what->channel < 0 ? 0 : what->channel,
                                 what->channel < 0 ? b->channels : 1, config, params, error);
    }
    run_model_close(&m);
    return status;
}
