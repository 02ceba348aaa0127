/* binding - what js/ssm2d.js calls: the functions of ssm2d.h and ssm2d_model.h without structs and
 * 64-bit numbers, which JavaScript cannot pass. Functions that create return NULL on failure,
 * others 0 on success; binding_error has the line then. */
#include "inference/trained_model.h"
#include "models/receptive_field.h"
#include "ssm2d.h"

#include <emscripten.h>
#include <string.h>

#define EXPORT EMSCRIPTEN_KEEPALIVE
/* called by JavaScript only, so that there is no header */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static ssm2d_error error;

EXPORT const char *binding_error(void) { return error.line; }

EXPORT ssm2d_context *binding_context(void)
{
    ssm2d_context_options options = ssm2d_context_options_default();
    ssm2d_context *context = NULL;
    options.threads = 1;
    return ssm2d_context_create(&options, &context, &error) ? NULL : context;
}

/* ---- layers ---------------------------------------------------------------------------------- */

EXPORT ssm2d_layer *binding_layer(ssm2d_context *context, const char *kind, const char *settings)
{
    ssm2d_layer *layer = NULL;
    return ssm2d_layer_create(context, kind, settings, &layer, &error) ? NULL : layer;
}

/* out: offset, count, rank, shape; returns the name, or NULL past the last array. */
EXPORT const char *binding_layer_param(const ssm2d_layer *layer, int i, size_t *out)
{
    ssm2d_param param;
    if (!ssm2d_layer_param(layer, i, &param)) return NULL;
    out[0] = param.offset;
    out[1] = param.count;
    out[2] = (size_t)param.rank;
    memcpy(out + 3, param.shape, sizeof param.shape);
    return param.name;
}

EXPORT int binding_params_init(const ssm2d_layer *layer, uint32_t low, uint32_t high, int is_double,
                               void *params)
{
    const uint64_t seed = (uint64_t)high << 32 | low;
    return is_double ? (int)ssm2d_params_init_double(layer, seed, params, &error)
                     : (int)ssm2d_params_init(layer, seed, params, &error);
}

EXPORT int binding_params_check(const ssm2d_layer *layer, int is_double, const void *params)
{
    return is_double ? (int)ssm2d_params_check_double(layer, params, &error)
                     : (int)ssm2d_params_check(layer, params, &error);
}

EXPORT ssm2d_plan *binding_plan(ssm2d_context *context, const ssm2d_layer *layer, size_t batch,
                                int axes, size_t extent_0, size_t extent_1, size_t extent_2,
                                int is_double, const char *algorithm)
{
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    options.batch = batch;
    options.grid = (ssm2d_grid){axes, {extent_0, extent_1, extent_2}};
    options.type = is_double ? SSM2D_DOUBLE : SSM2D_FLOAT;
    options.algorithm = algorithm;
    return ssm2d_plan_create(context, layer, &options, &plan, &error) ? NULL : plan;
}

EXPORT ssm2d_workspace *binding_workspace(const ssm2d_plan *plan)
{
    ssm2d_workspace *workspace = NULL;
    return ssm2d_workspace_create(plan, &workspace, &error) ? NULL : workspace;
}

EXPORT ssm2d_stream *binding_stream(ssm2d_context *context, const ssm2d_layer *layer, size_t batch,
                                    size_t cols, int is_double, const void *params)
{
    ssm2d_stream *stream = NULL;
    const ssm2d_status status =
        is_double ? ssm2d_stream_create_double(context, layer, batch, cols, params, &stream, &error)
                  : ssm2d_stream_create(context, layer, batch, cols, params, &stream, &error);
    return status ? NULL : stream;
}

/* ---- models ---------------------------------------------------------------------------------- */

EXPORT ssm2d_model *binding_model(const char *path, int best)
{
    ssm2d_model_options options = ssm2d_model_options_default();
    ssm2d_model *model = NULL;
    options.weights = best ? SSM2D_MODEL_BEST : SSM2D_MODEL_LAST;
    return ssm2d_model_open(path, &options, &model, &error) ? NULL : model;
}

EXPORT ssm2d_model *binding_model_files(const char *config, const char *weights)
{
    ssm2d_model *model = NULL;
    return ssm2d_model_open_files(config, weights, NULL, &model, &error) ? NULL : model;
}

/* texts: model, family, mixer, task, activation; numbers: outputs, rows, cols, channels,
 * parameters, blocks */
EXPORT void binding_model_info(const ssm2d_model *model, const char **texts, size_t *numbers)
{
    const ssm2d_model_info info = ssm2d_model_info_of(model);
    const char *const names[] = {info.model, info.family, info.mixer, info.task, info.activation};
    const size_t sizes[] = {(size_t)info.outputs,  (size_t)info.rows, (size_t)info.cols,
                            (size_t)info.channels, info.parameters,   (size_t)info.blocks};
    memcpy(texts, names, sizeof names);
    memcpy(numbers, sizes, sizeof sizes);
}

/* out: mean [3], std [3], crop, whether the filter is bicubic; returns 0 if there is none. */
EXPORT int binding_model_preparation(const ssm2d_model *model, double *out)
{
    ssm2d_model_preparation preparation = ssm2d_model_preparation_default();
    if (!ssm2d_model_preparation_get(model, &preparation)) return 0;
    for (int i = 0; i < 3; i++) {
        out[i] = (double)preparation.mean[i];
        out[3 + i] = (double)preparation.std[i];
    }
    out[6] = preparation.crop;
    out[7] = preparation.filter == SSM2D_BICUBIC;
    return 1;
}

EXPORT ssm2d_session *binding_session(const ssm2d_model *model, int rows, int cols, int features)
{
    ssm2d_session_options options = ssm2d_session_options_default();
    ssm2d_session *session = NULL;
    options.threads = 1;
    options.rows = rows;
    options.cols = cols;
    options.features = features;
    return ssm2d_session_create(model, &options, &session, &error) ? NULL : session;
}

/* out: numbers, tokens, dim, first, rows and columns of the grid */
EXPORT void binding_session_output(const ssm2d_session *session, size_t *out)
{
    const ssm2d_session_output o = ssm2d_session_output_of(session);
    const size_t sizes[] = {
        o.count, o.tokens, o.dim, (size_t)o.first, (size_t)o.grid_rows, (size_t)o.grid_cols};
    memcpy(out, sizes, sizeof sizes);
}

/* One image of 8-bit pixels, to outputs or features. */
EXPORT int binding_session_run(ssm2d_session *session, const uint8_t *pixels, size_t rows,
                               size_t cols, int channels, float *out)
{
    const ssm2d_status status =
        ssm2d_session_prepare(session, 0, pixels, rows, cols, channels, 0, &error);
    return status ? (int)status : (int)ssm2d_session_run(session, NULL, 1, out, &error);
}

/* One image [channels][rows][cols] that the caller has prepared. */
EXPORT int binding_session_run_prepared(ssm2d_session *session, const float *image, float *out)
{
    return (int)ssm2d_session_run(session, image, 1, out, &error);
}

EXPORT int binding_probabilities(const ssm2d_model *model, const float *logits,
                                 double *probabilities)
{
    return (int)ssm2d_model_probabilities(model, logits, 1, probabilities, &error);
}

/* The receptive field of the centre token for one image: field[rows][cols] of the model's image
 * size, its maximum 1. centre: first row, first column, rows and columns of the token's pixels;
 * then the radius in pixels that has half of the field. image: as the model reads it. blocks: after
 * how many; 0: all. */
EXPORT int binding_receptive_field(const ssm2d_model *model, int blocks, const float *image,
                                   double *field, int *centre)
{
    receptive_field *r = NULL;
    const ssm2d_status status = receptive_field_create(
        model->context, &model->config, model->weights, model->params, blocks, &r, &error);
    if (status) return (int)status;
    receptive_field_add(r, image); /* an image whose derivatives overflow has the field 0 */
    receptive_field_get(r, field);
    const pixel_box box = receptive_field_centre(r);
    const int numbers[] = {box.row, box.col, box.rows, box.cols, receptive_field_radius(r, 0.5)};
    memcpy(centre, numbers, sizeof numbers);
    receptive_field_destroy(r);
    return 0;
}
