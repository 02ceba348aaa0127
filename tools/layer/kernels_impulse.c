/* The responses of all kinds of layers to one more unit in the centre cell. Those of a linear layer
 * are its kernel; those of a selective one depend on the image. */
#include "core/arith.h"
#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"
#include "data/picture.h"
#include "draw/heatmap.h"
#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHANNELS = 16, MAX_KINDS = 24, INPUTS = 2 };

/* The step of the central differences, which are exact for linear layers. */
static const double step = 1e-4;

typedef struct responses {
    ssm2d_context *context;
    const kernels_impulse *what;
    size_t cells;
    double *input[INPUTS];  /* [cells][CHANNELS]: the same in every cell, and the image */
    double *u, *y, *before; /* [cells][CHANNELS] */
    double *values;         /* [INPUTS][kinds][cells] */
} responses;

/* The image's brightness with mean 0 and variance 1, times a random weight for each channel. */
static ssm2d_status read_image(responses *r, ssm2d_error *error)
{
    resize *to = NULL;
    uint8_t *pixels = mem_alloc(r->context, r->cells);
    double sum = 0, squares = 0, weight[CHANNELS];
    ssm2d_status status = pixels ? SSM2D_OK : fail_memory(error, "image");
    if (!status)
        status =
            resize_create(r->context, (size_t)r->what->rows, (size_t)r->what->cols, 1, &to, error);
    const image_read_options any = {.max_pixels = IMAGE_MAX_PIXELS};
    if (!status) status = picture_read(r->context, r->what->image, &any, to, pixels, error);
    rng random = rng_seed(r->what->seed);
    for (int c = 0; c < CHANNELS; c++) weight[c] = rng_normal(&random);
    for (size_t i = 0; i < r->cells && !status; i++) {
        sum += pixels[i];
        squares += (double)pixels[i] * pixels[i];
    }
    const double mean = sum / (double)r->cells,
                 deviation = sqrt(fmax(squares / (double)r->cells - mean * mean, 1));
    for (size_t i = 0; i < r->cells && !status; i++)
        for (int c = 0; c < CHANNELS; c++) {
            r->input[0][i * CHANNELS + (size_t)c] = weight[c];
            r->input[1][i * CHANNELS + (size_t)c] = (pixels[i] - mean) / deviation * weight[c];
        }
    resize_destroy(to);
    mem_free(r->context, pixels);
    return status;
}

/* Writes |dy| per cell for one more unit in every channel of the centre, averaged over channels. */
static ssm2d_status respond(const responses *r, ssm2d_plan *plan, ssm2d_workspace *workspace,
                            const double *params, const double *input, double *out)
{
    const size_t count = r->cells * CHANNELS,
                 centre = row_major(r->what->rows / 2, r->what->cols, r->what->cols / 2);
    ssm2d_status status = SSM2D_OK;
    for (int side = -1; side <= 1 && !status; side += 2) {
        memcpy(r->u, input, count * sizeof *r->u);
        for (int c = 0; c < CHANNELS; c++) r->u[centre * CHANNELS + (size_t)c] += side * step;
        status = ssm2d_forward_double(plan, workspace, params, r->u, r->y);
        if (side < 0) memcpy(r->before, r->y, count * sizeof *r->y);
    }
    for (size_t i = 0; i < r->cells && !status; i++) {
        out[i] = 0;
        for (size_t k = i * CHANNELS; k < (i + 1) * CHANNELS; k++)
            out[i] += fabs(r->y[k] - r->before[k]) / (2 * step) / CHANNELS;
    }
    return status;
}

/* The initial values, without the skip connection: it would outshine everything else. */
static ssm2d_status initial_values(const ssm2d_layer *layer, uint64_t seed, double *params,
                                   ssm2d_error *error)
{
    ssm2d_param p;
    const ssm2d_status status = ssm2d_params_init_double(layer, seed, params, error);
    for (int i = 0; !status && ssm2d_layer_param(layer, i, &p); i++)
        if (!strcmp(p.name, "D")) memset(params + p.offset, 0, p.count * sizeof *params);
    return status;
}

static ssm2d_status of_kind(const responses *r, const char *kind, double *const out[INPUTS],
                            ssm2d_error *error)
{
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_layer *layer = NULL;
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    double *params = NULL;
    char settings[32];
    snprintf(settings, sizeof settings, "channels=%d", CHANNELS);
    options.grid = ssm2d_grid_2d((size_t)r->what->rows, (size_t)r->what->cols);
    options.type = SSM2D_DOUBLE;
    options.inference = 1;
    ssm2d_status status = ssm2d_layer_create(r->context, kind, settings, &layer, error);
    if (!status) {
        params = mem_alloc(r->context, ssm2d_layer_param_count(layer) * sizeof *params);
        status = params ? initial_values(layer, r->what->seed, params, error)
                        : fail_memory(error, "parameters");
    }
    if (!status) status = ssm2d_plan_create(r->context, layer, &options, &plan, error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, error);
    for (int i = 0; i < INPUTS && !status; i++)
        status = respond(r, plan, workspace, params, r->input[i], out[i]);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    mem_free(r->context, params);
    ssm2d_layer_destroy(layer);
    return status;
}

static ssm2d_status draw(const responses *r, const char *const *kinds, int count,
                         ssm2d_error *error)
{
    static const char *const row_titles[INPUTS] = {"plain", "image"};
    heat_panel panels[INPUTS * MAX_KINDS];
    char note[512];
    for (int i = 0; i < INPUTS * count; i++)
        panels[i] = (heat_panel){.values = r->values + (size_t)i * r->cells,
                                 .rows = r->what->rows,
                                 .cols = r->what->cols,
                                 .map = COLOUR_SEQUENTIAL,
                                 .logarithmic = 1,
                                 .row_label = "row",
                                 .col_label = "column"};
    snprintf(note, sizeof note,
             "|dy| for one more unit in the centre cell, mean over %d channels; initial values of "
             "each kind (seed %llu) without skip connection. Above: at an image of one brightness; "
             "below: at the given one. Logarithmic scale of four decades for each picture.",
             CHANNELS, (unsigned long long)r->what->seed);
    const heat_figure figure = {.title = r->what->no_title ? NULL : "Impulse responses",
                                .note = r->what->no_title ? NULL : note,
                                .grid_rows = INPUTS,
                                .grid_cols = count,
                                .panels = panels,
                                .row_titles = row_titles,
                                .col_titles = kinds};
    return heatmap_draw(r->context, r->what->output, &figure, error);
}

ssm2d_status kernels_impulse_draw(ssm2d_context *context, const kernels_impulse *what,
                                  ssm2d_error *error)
{
    const char *kinds[MAX_KINDS];
    int count = 0;
    while (count < MAX_KINDS && (kinds[count] = ssm2d_kind_name(count))) count++;
    responses r = {
        .context = context, .what = what, .cells = (size_t)what->rows * (size_t)what->cols};
    const size_t bytes = r.cells * CHANNELS * sizeof(double);
    double **arrays[] = {&r.input[0], &r.input[1], &r.u, &r.y, &r.before};
    ssm2d_status status = SSM2D_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && !status; i++)
        if (!(*arrays[i] = mem_alloc(context, bytes))) status = fail_memory(error, "responses");
    r.values = mem_alloc(context, INPUTS * (size_t)count * r.cells * sizeof *r.values);
    if (!r.values && !status) status = fail_memory(error, "responses");
    if (!status) status = read_image(&r, error);
    for (int k = 0; k < count && !status; k++) {
        double *const out[INPUTS] = {r.values + (size_t)k * r.cells,
                                     r.values + (size_t)(count + k) * r.cells};
        status = of_kind(&r, kinds[k], out, error);
    }
    if (!status) status = draw(&r, kinds, count, error);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_free(context, *arrays[i]);
    mem_free(context, r.values);
    return status;
}
