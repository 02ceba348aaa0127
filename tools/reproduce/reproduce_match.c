#include "reproduce_match.h"

#include "core/status.h"
#include "models/weights.h"

#include <math.h>
#include <stdio.h>

enum { SIDE = 32 }; /* of images, for the size of position embeddings, which all models share */
enum { STEPS = 256, MAX_RATIO = 64 }; /* widths are multiples of dim / STEPS */

static ssm2d_status count_with(ssm2d_context *context, const train_settings *settings,
                               const match_data *data, const char *ratio, size_t *count,
                               ssm2d_error *error)
{
    model_config c = settings->model;
    weights *w;
    if (!c.image[0]) c.image[0] = c.image[1] = SIDE;
    if (!c.channels) c.channels = data->channels;
    if (!c.outputs) c.outputs = data->outputs;
    ssm2d_status status = SSM2D_OK;
    if (ratio) status = model_config_set((field_source){"--set"}, MATCH_KEY, ratio, &c, error);
    if (!status) status = model_config_finish(&c, error);
    if (!status) status = weights_create(context, &c, &w, error);
    if (status) return status;
    *count = w->learned;
    weights_destroy(w);
    return SSM2D_OK;
}

ssm2d_status match_count(ssm2d_context *context, const train_settings *settings,
                         const match_data *data, size_t *count, ssm2d_error *error)
{
    return count_with(context, settings, data, NULL, count, error);
}

/* The count at a multiple of the step. */
static ssm2d_status count_at(ssm2d_context *context, const train_settings *settings,
                             const match_data *data, int step, size_t *count, ssm2d_error *error)
{
    char text[32];
    snprintf(text, sizeof text, "%.10g", (double)step / STEPS);
    return count_with(context, settings, data, text, count, error);
}

ssm2d_status match_find(ssm2d_context *context, const train_settings *settings,
                        const match_data *data, size_t wanted, double *ratio, ssm2d_error *error)
{
    int low = STEPS / 2, high = MAX_RATIO * STEPS; /* counts at low are below `wanted` */
    size_t below = 0, above = 0, count;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        const ssm2d_status status = count_at(context, settings, data, middle, &count, error);
        if (status) return status;
        if (count < wanted)
            low = middle, below = count;
        else
            high = middle, above = count;
    }
    const int closer = below && wanted - below < above - wanted ? low : high;
    *ratio = (double)closer / STEPS;
    return SSM2D_OK;
}
