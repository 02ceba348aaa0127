/* ssm2d kernels - pictures of kernels: the paper's Figure 3, and the kernels and the receptive
 * field of a layer. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "draw/canvas.h"
#include "draw/heatmap.h"
#include "kernels.h"
#include "layers/ssm2d/ssm2d_config.h"
#include "layer_setup.h"
#include "tools/command.h"
#include "tools/runs/run_weights.h"
#include "tools/written.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct values {
    word_list runs;
    const char *config, *output, *init, *scale, *weights, *receptive_field, *impulse;
    long seed, rows, cols, draws, channels, images, block;
    int figure3, figure2, no_title;
} values;

enum { MAX_PANELS = 32, MAX_DIRECTIONS = 4, TITLE = 48, DEFAULT_SIDE = 20, DEFAULT_IMAGES = 64 };

static const char *scale_at(int i)
{
    static const char *const names[] = {"panel", "shared", NULL};
    return names[i];
}

static const option options[] = {
    {"RUN", OPTION_LIST, offsetof(values, runs),
     "folder of a run, a model file, or zoo:NAME: draw the kernels of its model; several with "
     "--receptive-field",
     .positional = 1, .optional = 1, .model = 1},
    {"receptive-field", OPTION_STRING, offsetof(values, receptive_field),
     "runs: draw the effective receptive field of each model instead, on this image, on test "
     "images of these data, or on those of the run (test)",
     .value = "IMAGE|DATA|test"},
    {"images", OPTION_INT, offsetof(values, images),
     "receptive field: number of images of a data set to average over (default: 64)", .low = 1,
     .high = 1000000},
    {"block", OPTION_INT, offsetof(values, block),
     "receptive field: of the tokens after this block, from 1 (default: the last)", .low = 1,
     .high = 1024},
    {"impulse", OPTION_STRING, offsetof(values, impulse),
     "draw the responses of all kinds of layers to one more unit in the centre cell instead, at a "
     "plain image and at this one, on which those of selective layers depend",
     .value = "IMAGE"},
    {"output", OPTION_STRING, offsetof(values, output), "picture to write: .png, .svg or .pdf",
     .value = "FILE", .letter = 'o', .required = 1},
    {"figure3", OPTION_FLAG, offsetof(values, figure3), .help = "draw the paper's Figure 3"},
    {"figure2", OPTION_FLAG, offsetof(values, figure2), .help = "the earlier name of --figure3"},
    {"draws", OPTION_INT, offsetof(values, draws),
     "Figure 3: number of random draws of parameters, one column each (default: 5)", .low = 1,
     .high = MAX_PANELS},
    {"config", OPTION_STRING, offsetof(values, config), "the layer to draw: a JSON file",
     .value = "FILE"},
    {"channels", OPTION_INT, offsetof(values, channels),
     "number of channels to show (default: 4; for a run one per system, at most 8)", .low = 1,
     .high = MAX_PANELS},
    {"init", OPTION_CHOICE, offsetof(values, init), "layer: initial parameters",
     .choice = layer_init_name},
    {"seed", OPTION_INT, offsetof(values, seed),
     "random seed of the parameters, instead of the one in FILE (default: 0)", .low = 0,
     .high = INT_MAX},
    {"rows", OPTION_INT, offsetof(values, rows),
     "rows of a kernel (default: 20; for a run those of its grid)", .low = 1, .high = 1024},
    {"cols", OPTION_INT, offsetof(values, cols), "columns of a kernel, likewise", .low = 1,
     .high = 1024},
    {"weights", OPTION_CHOICE, offsetof(values, weights),
     "run: weights of the latest or the best epoch (default: last)", .choice = run_weights_at},
    {"scale", OPTION_CHOICE, offsetof(values, scale),
     "colour scale: one for each panel, or one shared by all kernels (default: panel)",
     .choice = scale_at},
    {"no-title", OPTION_FLAG, offsetof(values, no_title),
     "leave out the title and the notes below, for use with a separate caption"},
    {0}};

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    ssm2d_status status = canvas_check(o->output, error);
    if (status) return status;
    const int runs = o->runs.count, figure = o->figure3 || o->figure2;
    const char *name = o->figure2 ? "figure2" : "figure3";
    const char *other = runs                          ? "the folder of a run"
                        : figure                      ? "--figure3"
                        : o->config                   ? "--config"
                        : o->init                     ? "--init"
                        : o->scale                    ? "--scale"
                        : o->channels != OPTION_UNSET ? "--channels"
                        : o->draws != OPTION_UNSET    ? "--draws"
                                                      : NULL;
    if (o->impulse && other)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--impulse cannot be combined with %s", other);
    if (runs && (figure || o->config || o->init || o->seed != OPTION_UNSET))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--%s cannot be combined with the folder of a run",
                    figure      ? name
                    : o->config ? "config"
                    : o->init   ? "init"
                                : "seed");
    if (o->receptive_field && !runs)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--receptive-field needs the folder of a run: ssm2d kernels RUN ..");
    if (runs > 1 && !o->receptive_field)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "kernels are drawn for one run at a time, not for %d", runs);
    if (runs > MAX_PANELS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "at most %d runs fit in a picture, not %d",
                    MAX_PANELS, runs);
    if (!o->receptive_field && (o->images != OPTION_UNSET || o->block != OPTION_UNSET))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--%s needs --receptive-field",
                    o->images != OPTION_UNSET ? "images" : "block");
    if (o->receptive_field
        && (o->channels != OPTION_UNSET || o->rows != OPTION_UNSET || o->cols != OPTION_UNSET))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--%s is for kernels and cannot be combined with --receptive-field",
                    o->channels != OPTION_UNSET ? "channels"
                    : o->rows != OPTION_UNSET   ? "rows"
                                                : "cols");
    if (figure && (o->config || o->init || o->channels != OPTION_UNSET))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--%s is for drawing a layer and cannot be combined with --%s",
                    o->config ? "config"
                    : o->init ? "init"
                              : "channels",
                    name);
    if (!figure && o->draws != OPTION_UNSET)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--draws needs --figure3");
    if (o->weights && !runs)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--weights needs the folder of a run: ssm2d kernels RUN ..");
    if (o->scale && o->receptive_field)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--scale is for kernels and cannot be combined with --receptive-field");
    return SSM2D_OK;
}

/* Computes kernel[directions][channels][rows][cols] of a layer with these parameters. */
static ssm2d_status kernels_of(ssm2d_context *context, const ssm2d_config *config, const values *o,
                               const double *params, double *kernel, ssm2d_error *error)
{
    ssm2d_plan_options plan_options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    plan_options.grid = ssm2d_grid_2d((size_t)o->rows, (size_t)o->cols);
    plan_options.type = SSM2D_DOUBLE;
    plan_options.inference = 1;
    const ssm2d_layer layer = layer_of(&layer_ssm2d, config);
    ssm2d_status status = ssm2d_plan_create(context, &layer, &plan_options, &plan, error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, error);
    if (!status) status = ssm2d_kernel_double(plan, workspace, params, kernel);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return status;
}

static heat_panel kernel_panel(const values *o, const double *kernel)
{
    return (heat_panel){.values = kernel,
                        .rows = (int)o->rows,
                        .cols = (int)o->cols,
                        .from_below = 1,
                        .map = COLOUR_DIVERGING,
                        .row_label = "row i",
                        .col_label = "column j"};
}

static const char *scale_note(const values *o)
{
    return strcmp(o->scale, "shared")
               ? "Colours: each panel on its own scale, from minus to plus its largest value."
               : "Colours: one scale for all kernels, from minus to plus the largest value.";
}

/* ---- Figure 3 -------------------------------------------------------------------------------- */

/* Makes kernels that reach across the grid, as in the figure. With initial parameters the
 * coefficients a = sigmoid(A) are near 1/2, and a kernel is a dot in the corner. So the raw A are
 * spread from N(0, 0.2^2) to N(3, 1.5^2), which puts a mostly between 0.8 and 1. */
static void spread_a(const ssm2d_config *config, double *params)
{
    ssm2d_param a;
    const ssm2d_layer layer = layer_of(&layer_ssm2d, config);
    ssm2d_layer_param(&layer, 0, &a);
    for (size_t i = 0; i < a.count; i++) params[a.offset + i] = 3 + 7.5 * params[a.offset + i];
}

static ssm2d_status draw_figure3(ssm2d_context *context, const values *o, ssm2d_error *error)
{
    static const ssm2d_norm norms[2] = {SSM2D_NORM_HALF, SSM2D_NORM_PAPER};
    static const char *const row_titles[2] = {"before: half", "after: paper"};
    int draws = o->draws == OPTION_UNSET ? 5 : (int)o->draws;
    size_t cells = (size_t)o->rows * (size_t)o->cols;
    heat_panel panels[2 * MAX_PANELS];
    char titles[MAX_PANELS][TITLE], note[512];
    const char *col_titles[MAX_PANELS];
    double *params = NULL;

    layer_setup setup = layer_setup_default();
    setup.config.channels = setup.config.n_ssm = draws;
    setup.config.d_state = 2;
    setup.config.directions = 1;
    setup.config.skip = 0;
    setup.config.init = LAYER_INIT_AUTHORS;
    layer_setup_override(&setup, o->seed, NULL);
    double *kernel = mem_alloc(context, 2 * (size_t)draws * cells * sizeof *kernel);
    ssm2d_status status = kernel ? SSM2D_OK : fail_memory(error, "kernels");
    if (!status) status = layer_setup_params(context, &setup, &params, error);
    if (!status) spread_a(&setup.config, params);
    for (int i = 0; i < 2 && !status; i++) {
        setup.config.norm = norms[i];
        status = kernels_of(context, &setup.config, o, params,
                            kernel + row_major(i, draws, 0) * cells, error);
    }
    for (int i = 0; i < 2 * draws && !status; i++)
        panels[i] = kernel_panel(o, kernel + (size_t)i * cells);
    for (int i = 0; i < draws; i++) {
        snprintf(titles[i], sizeof titles[i], "draw %d", i + 1);
        col_titles[i] = titles[i];
    }
    snprintf(note, sizeof note,
             "Each column has the same random A1..A4, B1, B2, C1, C2 (d_state 2, seed %llu). "
             "K[0,0] is at the bottom left.\n%s",
             (unsigned long long)setup.seed, scale_note(o));
    heat_figure figure = {.title = o->no_title ? NULL
                                               : "2-D SSM kernels before and after the relaxation",
                          .note = o->no_title ? NULL : note,
                          .grid_rows = 2,
                          .grid_cols = draws,
                          .panels = panels,
                          .row_titles = row_titles,
                          .col_titles = col_titles,
                          .shared_scale = !strcmp(o->scale, "shared")};
    if (!status) status = heatmap_draw(context, o->output, &figure, error);
    mem_free(context, params);
    mem_free(context, kernel);
    return status;
}

ssm2d_status kernels_figure3_draw(ssm2d_context *context, const char *path, ssm2d_error *error)
{
    const values o = {.output = path,
                      .scale = "panel",
                      .seed = OPTION_UNSET,
                      .rows = DEFAULT_SIDE,
                      .cols = DEFAULT_SIDE,
                      .draws = OPTION_UNSET};
    return draw_figure3(context, &o, error);
}

/* ---- a layer --------------------------------------------------------------------------------- */

/* Computes field[2*rows-1][2*cols-1]: |dy[centre]/du| by offset from the centre, averaged over
 * channels, before the LayerNorm. */
static void receptive_field(const ssm2d_config *c, const values *o, const double *params,
                            const double *kernel, double *field)
{
    int rows = (int)o->rows, cols = (int)o->cols;
    size_t width = 2 * (size_t)cols - 1, cells = (size_t)rows * (size_t)cols;
    double scale = c->average ? 1.0 / c->directions : 1;
    const double *skip = NULL;
    ssm2d_param param;
    const ssm2d_layer layer = layer_of(&layer_ssm2d, c);
    for (int i = 0; ssm2d_layer_param(&layer, i, &param); i++)
        if (!strcmp(param.name, "D")) skip = params + param.offset;
    for (int di = 1 - rows; di < rows; di++)
        for (int dj = 1 - cols; dj < cols; dj++) {
            double sum = 0;
            for (int h = 0; h < c->channels; h++) {
                double tap = skip && !di && !dj ? skip[h] : 0;
                for (int r = 0; r < c->directions; r++) {
                    /* a direction sees what is above and to the left; flipped, below or to the
                     * right */
                    flip f = config_flip(c, r);
                    int p = f.rows ? di : -di, q = f.cols ? dj : -dj;
                    if (p >= 0 && q >= 0)
                        tap +=
                            scale
                            * kernel[row_major(r, c->channels, h) * cells + row_major(p, cols, q)];
                }
                sum += fabs(tap);
            }
            field[(size_t)(di + rows - 1) * width + (size_t)(dj + cols - 1)] = sum / c->channels;
        }
}

static void describe(const layer_setup *s, const values *o, char *note, size_t size)
{
    const ssm2d_layer layer = layer_of(&layer_ssm2d, &s->config);
    char norm[32], form[32];
    ssm2d_layer_setting(&layer, "norm", norm, sizeof norm);
    ssm2d_layer_setting(&layer, "values", form, sizeof form);
    snprintf(note, size,
             "%d channel%s, norm %s, %s values, n_ssm %d, d_state %d, init %s, seed %llu. K[0,0] "
             "is at the bottom left.\n%s\n"
             "Receptive field: |dy/du| by offset from the output's position, averaged over "
             "channels%s; logarithmic scale.",
             s->config.channels, s->config.channels == 1 ? "" : "s", norm, form, s->config.n_ssm,
             s->config.d_state, layer_init_name((int)s->config.init), (unsigned long long)s->seed,
             scale_note(o), s->config.layer_norm ? ", before the LayerNorm" : "");
}

static ssm2d_status draw_layer(ssm2d_context *context, const values *o, ssm2d_error *error)
{
    /* by whether rows and columns are flipped */
    static const char *const flip_titles[2][2] = {{"not flipped", "cols flipped"},
                                                  {"rows flipped", "both flipped"}};
    layer_setup setup = layer_setup_default();
    size_t cells = (size_t)o->rows * (size_t)o->cols;
    size_t field_cells = (2 * (size_t)o->rows - 1) * (2 * (size_t)o->cols - 1);
    heat_panel panels[MAX_DIRECTIONS * MAX_PANELS];
    char titles[MAX_PANELS][TITLE], note[512];
    const char *col_titles[MAX_PANELS], *row_titles[MAX_DIRECTIONS];
    double *params = NULL, *kernel = NULL, *field = NULL;
    ssm2d_status status = SSM2D_OK;

    if (o->config && (status = layer_setup_read(context, o->config, &setup, error))) return status;
    layer_setup_override(&setup, o->seed, o->init);
    /* one for each system */
    if (!setup.config.channels) setup.config.channels = setup.config.n_ssm;
    if ((status = layer_setup_params(context, &setup, &params, error))) return status;
    int channels = setup.config.channels, directions = setup.config.directions;
    int shown = o->channels != OPTION_UNSET ? (int)o->channels : 4;
    shown = min_int(shown, channels);
    kernel = mem_alloc(context, (size_t)directions * (size_t)channels * cells * sizeof *kernel);
    field = mem_alloc(context, field_cells * sizeof *field);
    if (!kernel || !field) {
        status =
            fail_memory(error, "%d kernels of %ld x %ld", directions * channels, o->rows, o->cols);
        goto done;
    }
    if ((status = kernels_of(context, &setup.config, o, params, kernel, error))) goto done;
    receptive_field(&setup.config, o, params, kernel, field);

    for (int r = 0; r < directions; r++) {
        flip f = config_flip(&setup.config, r);
        row_titles[r] = flip_titles[f.rows][f.cols];
        for (int h = 0; h < shown; h++)
            panels[row_major(r, shown, h)] =
                kernel_panel(o, kernel + row_major(r, channels, h) * cells);
    }
    for (int h = 0; h < shown; h++) {
        snprintf(titles[h], sizeof titles[h], "channel %d", h);
        col_titles[h] = titles[h];
    }
    describe(&setup, o, note, sizeof note);
    heat_panel aside = {.values = field,
                        .rows = 2 * (int)o->rows - 1,
                        .cols = 2 * (int)o->cols - 1,
                        .row_first = 1 - (int)o->rows,
                        .col_first = 1 - (int)o->cols,
                        .map = COLOUR_SEQUENTIAL,
                        .logarithmic = 1,
                        .row_label = "row offset",
                        .col_label = "column offset"};
    heat_figure figure = {
        .title = o->no_title ? NULL : "Kernels and effective receptive field of a 2-D SSM layer",
        .note = o->no_title ? NULL : note,
        .grid_rows = directions,
        .grid_cols = shown,
        .panels = panels,
        .row_titles = row_titles,
        .col_titles = col_titles,
        .shared_scale = !strcmp(o->scale, "shared"),
        .aside = &aside,
        .aside_title = "effective receptive field"};
    status = heatmap_draw(context, o->output, &figure, error);
done:
    mem_free(context, params);
    mem_free(context, kernel);
    mem_free(context, field);
    return status;
}

static ssm2d_status draw_run(ssm2d_context *context, const values *o, ssm2d_error *error)
{
    kernels_run what = {.folder = o->runs.words[0],
                        .output = o->output,
                        .weights = run_weights_file(o->weights),
                        .rows = o->rows == OPTION_UNSET ? 0 : (int)o->rows,
                        .cols = o->cols == OPTION_UNSET ? 0 : (int)o->cols,
                        .channels = o->channels == OPTION_UNSET ? 0 : (int)o->channels,
                        .shared_scale = !strcmp(o->scale, "shared"),
                        .no_title = o->no_title};
    return kernels_run_draw(context, &what, error);
}

static ssm2d_status draw_fields(ssm2d_context *context, const values *o, ssm2d_error *error)
{
    const kernels_field what = {.runs = o->runs,
                                .images = o->receptive_field,
                                .count = o->images == OPTION_UNSET ? DEFAULT_IMAGES : o->images,
                                .block = o->block == OPTION_UNSET ? 0 : (int)o->block,
                                .outputs = {o->output},
                                .weights = run_weights_file(o->weights),
                                .no_title = o->no_title};
    return kernels_field_draw(context, &what, error);
}

static ssm2d_status draw_impulse(ssm2d_context *context, const values *o, ssm2d_error *error)
{
    const kernels_impulse what = {.image = o->impulse,
                                  .output = o->output,
                                  .rows = (int)o->rows,
                                  .cols = (int)o->cols,
                                  .seed = o->seed == OPTION_UNSET ? 0 : (uint64_t)o->seed,
                                  .no_title = o->no_title};
    return kernels_impulse_draw(context, &what, error);
}

static ssm2d_status draw(ssm2d_context *context, const values *o, ssm2d_error *error)
{
    if (o->impulse) return draw_impulse(context, o, error);
    if (o->receptive_field) return draw_fields(context, o, error);
    if (o->runs.count) return draw_run(context, o, error);
    return o->figure3 ? draw_figure3(context, o, error) : draw_layer(context, o, error);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    values o = *(const values *)v;
    o.figure3 |= o.figure2;
    for (int i = 0; i < o.runs.count; i++) {
        run_file which;
        const ssm2d_status status = run_weights_choose(o.runs.words[i], o.weights, &which, error);
        if (status) return status;
    }
    if (!o.weights) o.weights = "last";
    if (!o.scale) o.scale = "panel";
    if (!o.runs.count && o.rows == OPTION_UNSET) o.rows = DEFAULT_SIDE;
    if (!o.runs.count && o.cols == OPTION_UNSET) o.cols = DEFAULT_SIDE;
    const ssm2d_status status = draw(context, &o, error);
    if (status) return status;
    if (o.receptive_field)
        written_print(o.output, "receptive fields of %d run%s", o.runs.count,
                      o.runs.count == 1 ? "" : "s");
    else
        written_print(o.output, "%s",
                      o.runs.count ? "kernels of a run"
                      : o.impulse  ? "impulse responses"
                      : o.figure3  ? "Figure 3"
                                   : "kernels of a layer");
    return SSM2D_OK;
}

static const char about[] =
    "Draws the kernels of a layer, one row per direction and one column per channel, and "
    "beside them its effective receptive field: how strongly an output depends on each "
    "position of the input. The layer is the library's default, or the one in --config: a "
    "JSON object with any of the fields below, init and seed, such as\n"
    "\n"
    "  {\"channels\": 8, \"directions\": 4, \"norm\": \"relaxed\", \"seed\": 1}\n"
    "\n"
    "With the folder of a run, draws the kernels that its model has learned: one row per "
    "block and one column per channel, all directions together.\n"
    "\n"
    "With --receptive-field, draws how strongly the output of the centre token depends on each "
    "pixel, averaged over images with equal weight, for each of the runs side by side:\n"
    "\n"
    "  ssm2d kernels runs/plain runs/ssm --receptive-field test -o fields.png\n"
    "\n"
    "--impulse draws how every kind of layer answers to one more unit in the centre cell: the "
    "layers beside which the 2-D SSM stands in ssm2d arena.\n"
    "\n"
    "--figure3 draws kernels of the same random parameters before the relaxation (norm half, "
    "above) and after it (norm paper, below). Figure 2, lattice paths, is ssm2d theory paths.";

const command command_kernels = {"kernels",
                                 "draw kernels and receptive fields as heat maps",
                                 about,
                                 options,
                                 check_values,
                                 run,
                                 .lists_fields = 1};
