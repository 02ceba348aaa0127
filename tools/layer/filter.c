/* ssm2d filter - runs a layer over a picture, row by row as it is decoded, in memory that does not
 * depend on the height. */
#include "core/context.h"
#include "core/status.h"
#include "filter.h"
#include "io/text.h"
#include "layers/ssm2d/ssm2d_config.h"
#include "layer_setup.h"
#include "tools/command.h"
#include "tools/progress.h"
#include "tools/runs/run_weights.h"
#include "tools/written.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct values {
    const char *image, *output, *config, *init, *run, *weights;
    long seed, block, channel, quality, max_pixels;
    double angle, length, mix;
    int in_memory;
} values;

static const option options[] = {
    {"IMAGE", OPTION_STRING, offsetof(values, image),
     "picture to read: PNG, JPEG or another kind of image; - reads standard input",
     .positional = 1},
    {"output", OPTION_STRING, offsetof(values, output),
     "picture to write: .png, .jpg, .jpeg or .pdf; - writes a PNG to standard output",
     .value = "FILE", .letter = 'o', .required = 1},
    {"angle", OPTION_DOUBLE, offsetof(values, angle),
     "direction of the trail in degrees: 0 right, 90 down, 180 left, 270 up (default: 45); "
     "more than 180 requires --in-memory",
     .low = 0, .high = 360},
    {"length", OPTION_DOUBLE, offsetof(values, length),
     "mean length of the trail in pixels (default: 40)", .low = 1, .high = 100000},
    {"mix", OPTION_DOUBLE, offsetof(values, mix),
     "weight of the trail in the result, from 0 to 1 (default: 0.7)", .low = 0, .high = 1},
    {"config", OPTION_STRING, offsetof(values, config),
     "run the layer in this JSON file instead of the trail", .value = "FILE"},
    {"init", OPTION_CHOICE, offsetof(values, init), "with --config: initial parameters",
     .choice = layer_init_name},
    {"seed", OPTION_INT, offsetof(values, seed),
     "with --config: random seed of the parameters, instead of the one in FILE", .low = 0,
     .high = INT_MAX},
    {"run", OPTION_STRING, offsetof(values, run),
     "run the layer that the model of this run (a folder, a model file, or zoo:NAME) has learned",
     .value = "RUN", .model = 1},
    {"block", OPTION_INT, offsetof(values, block),
     "with --run: use the layer of this block, counted from 1 (default: 1)", .low = 1,
     .high = 10000},
    {"channel", OPTION_INT, offsetof(values, channel),
     "with --run: the channel of that layer, from 0; default: the mean of all", .low = 0,
     .high = INT_MAX},
    {"weights", OPTION_CHOICE, offsetof(values, weights),
     "with --run: weights of the latest or the best epoch", .choice = run_weights_at},
    {"quality", OPTION_INT, offsetof(values, quality), "quality of a JPEG (default: 90)", .low = 1,
     .high = 100},
    {"max-pixels", OPTION_INT, offsetof(values, max_pixels),
     "refuse pictures with more pixels than this before decoding them", .low = 1, .high = 1e15,
     .default_value = "268435456"},
    {"in-memory", OPTION_FLAG, offsetof(values, in_memory),
     .help = "load the whole picture; required by directions that look at rows below"},
    {0}};

/* ---- options --------------------------------------------------------------------------------- */

static int is_stream(const char *path) { return !strcmp(path, "-"); }

/* The format to write; NULL: unknown file name extension. */
static const char *format_of(const char *path)
{
    return is_stream(path) ? "PNG" : image_written_as(path);
}

/* Refuses options that belong to another kind of layer than the one that is run. */
static ssm2d_status refuse_others(const values *o, ssm2d_error *error)
{
    const char *trail = !isnan(o->angle)    ? "angle"
                        : !isnan(o->length) ? "length"
                        : !isnan(o->mix)    ? "mix"
                                            : NULL;
    const char *config = o->init ? "init" : o->seed != OPTION_UNSET ? "seed" : NULL;
    const char *run = o->block != OPTION_UNSET     ? "block"
                      : o->channel != OPTION_UNSET ? "channel"
                      : o->weights                 ? "weights"
                                                   : NULL;
    if (o->config && o->run)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--config cannot be combined with --run");
    if (trail && (o->config || o->run))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--%s is for the trail and cannot be combined with --%s", trail,
                    o->config ? "config" : "run");
    if (config && !o->config)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--%s needs --config", config);
    if (run && !o->run) return fail(error, SSM2D_ERROR_ARGUMENT, "--%s needs --run", run);
    return SSM2D_OK;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (!format_of(o->output))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--output=%s: the name must end in one of %s",
                    text_path(o->output), image_written_endings((char[IMAGE_LIST]){0}));
    if (is_stream(o->output) && isatty(STDOUT_FILENO))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--output=-: standard output is a terminal: redirect it to a file or a pipe");
    if (o->quality != OPTION_UNSET && strcmp(format_of(o->output), "JPEG"))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--quality is for JPEG files");
    if (o->angle > 180 && o->angle < 360 && !o->in_memory)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--angle=%g: a trail upwards needs rows below, which are not read yet: use "
                    "--in-memory",
                    o->angle);
    return refuse_others(o, error);
}

typedef struct job {
    ssm2d_context *context;
    const values *options;
    const char *image, *output; /* for messages */
    filter_picture picture;
    ssm2d_config config;
    double *params;
} job;

/* ---- the layer ------------------------------------------------------------------------------- */

static ssm2d_status read_config(job *j, ssm2d_error *error)
{
    const values *o = j->options;
    layer_setup setup = layer_setup_default();
    ssm2d_error why;
    ssm2d_status status = layer_setup_read(j->context, o->config, &setup, error);
    if (status) return status;
    layer_setup_override(&setup, o->seed, o->init);
    if (setup.config.channels && setup.config.channels != j->picture.colours)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"channels\" is %d, but %s has %d: leave it out", text_path(o->config),
                    setup.config.channels, j->image, j->picture.colours);
    setup.config.channels = j->picture.colours;
    if ((status = layer_setup_params(j->context, &setup, &j->params, &why)))
        return fail(error, status, "%s: %s", text_path(o->config), why.line);
    j->config = setup.config;
    return SSM2D_OK;
}

static ssm2d_status choose_layer(job *j, ssm2d_error *error)
{
    const values *o = j->options;
    j->picture.colours = image_colours(&j->picture.info);
    j->picture.alpha = j->picture.info.channels > j->picture.colours;
    j->picture.planes = j->picture.colours;
    j->picture.batch = 1;
    if (o->config) return read_config(j, error);
    if (o->run) {
        run_file which;
        const ssm2d_status status = run_weights_choose(o->run, o->weights, &which, error);
        if (status) return status;
        const filter_run what = {o->run, which, o->block == OPTION_UNSET ? 1 : (int)o->block,
                                 o->channel == OPTION_UNSET ? -1 : (int)o->channel};
        j->picture.batch = (size_t)j->picture.planes;
        return filter_run_layer(j->context, &what, &j->config, &j->params, error);
    }
    const filter_trail trail = {isnan(o->angle) ? 45 : o->angle, isnan(o->length) ? 40 : o->length,
                                isnan(o->mix) ? 0.7 : o->mix};
    j->picture.coverage = 1;
    j->picture.planes += j->picture.alpha + 1;
    return filter_trail_layer(j->context, &trail, j->picture.planes, &j->config, &j->params, error);
}

/* ---- row by row, or the whole picture at once ------------------------------------------------ */

/* Whether a direction looks at rows below; *first is the first that does, counted from 1. */
static int looks_below(const job *j, int *first)
{
    for (int r = 0; r < j->config.directions; r++)
        if (config_flip(&j->config, r).rows) {
            *first = r + 1;
            return 1;
        }
    return 0;
}

static ssm2d_status create_output(job *j, ssm2d_error *error)
{
    const values *o = j->options;
    const image_write_options to = {.format = format_of(o->output),
                                    .quality = o->quality == OPTION_UNSET ? 90 : (int)o->quality,
                                    .stream = is_stream(o->output) ? stdout : NULL};
    return image_create(j->context, j->output, &j->picture.info, &to, &j->picture.writer, error);
}

/* Allocates u, y and alphas for `rows` rows. */
static ssm2d_status alloc_planes(job *j, size_t rows, double **u, double **y, ssm2d_error *error)
{
    size_t cells, all;
    int good = !__builtin_mul_overflow(rows, j->picture.info.cols, &cells)
               && !__builtin_mul_overflow(cells, (size_t)j->picture.planes * sizeof **u, &all);
    if (good) {
        *u = mem_alloc(j->context, all);
        *y = mem_alloc(j->context, all);
        good = *u && *y;
    }
    if (good && j->picture.alpha && !j->picture.coverage)
        good =
            (j->picture.alphas = mem_alloc(j->context, cells * sizeof *j->picture.alphas)) != NULL;
    if (good) return SSM2D_OK;
    return fail_memory(error, "%s: %zu x %zu pixels%s", j->image, rows, j->picture.info.cols,
                       rows > 1 ? "; try without --in-memory" : "");
}

static ssm2d_status run_stream(job *j, ssm2d_error *error)
{
    progress p = progress_start("ssm2d filter: row", j->picture.info.rows);
    const ssm2d_layer layer = layer_of(&layer_ssm2d, &j->config);
    ssm2d_stream *stream = NULL;
    ssm2d_error why;
    double *u = NULL, *y = NULL;
    int first;
    if (looks_below(j, &first))
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: direction %d of %d looks at rows below, which are not read yet: use "
                    "--in-memory, or directions 1, or 2 with pair columns",
                    text_path(j->options->config), first, j->config.directions);
    ssm2d_status status = alloc_planes(j, 1, &u, &y, error);
    if (status) goto done;
    if ((status = ssm2d_stream_create_double(j->context, &layer, j->picture.batch,
                                             j->picture.info.cols, j->params, &stream, &why))) {
        fail(error, status, "%.220s%s", why.line,
             status == SSM2D_ERROR_UNSUPPORTED ? "; or use --in-memory" : "");
        goto done;
    }
    if ((status = create_output(j, error))) goto done;
    for (size_t row = 0; row < j->picture.info.rows && !status; row++) {
        progress_show(&p, row);
        if ((status = filter_read_row(&j->picture, u, 1, 0, error))) break;
        ssm2d_stream_push_double(stream, u, y);
        status = filter_write_row(&j->picture, y, 1, 0, row, error);
    }
    progress_end(&p);
done:
    ssm2d_stream_destroy(stream);
    mem_free(j->context, u);
    mem_free(j->context, y);
    return status;
}

/* Reads all rows into u, or writes those of y if u is NULL. */
static ssm2d_status transfer_rows(const job *j, double *u, const double *y, ssm2d_error *error)
{
    const size_t rows = j->picture.info.rows;
    progress p =
        progress_start(u ? "ssm2d filter: reading row" : "ssm2d filter: writing row", rows);
    ssm2d_status status = SSM2D_OK;
    for (size_t row = 0; row < rows && !status; row++) {
        progress_show(&p, row);
        status = u ? filter_read_row(&j->picture, u, rows, row, error)
                   : filter_write_row(&j->picture, y, rows, row, row, error);
    }
    progress_end(&p);
    return status;
}

static ssm2d_status run_in_memory(job *j, ssm2d_error *error)
{
    const ssm2d_layer layer = layer_of(&layer_ssm2d, &j->config);
    ssm2d_plan_options plan_options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    double *u = NULL, *y = NULL;
    ssm2d_status status;
    plan_options.batch = j->picture.batch;
    plan_options.grid = ssm2d_grid_2d(j->picture.info.rows, j->picture.info.cols);
    /* so that streaming and --in-memory round to the same bytes */
    plan_options.type = SSM2D_DOUBLE;
    plan_options.inference = 1;
    /* a photograph has many cells and few channels: there the recurrence is faster than transforms,
     * and needs one row of memory where they need hundreds of bytes per pixel */
    if (!j->config.trunc_rows && !j->config.trunc_cols) plan_options.algorithm = "scan";
    if ((status = ssm2d_plan_create(j->context, &layer, &plan_options, &plan, error))) goto done;
    if ((status = ssm2d_workspace_create(plan, &workspace, error))) goto done;
    if ((status = alloc_planes(j, j->picture.info.rows, &u, &y, error))) goto done;
    if ((status = transfer_rows(j, u, NULL, error))) goto done;
    ssm2d_forward_double(plan, workspace, j->params, u, y);
    if ((status = create_output(j, error))) goto done;
    status = transfer_rows(j, NULL, y, error);
done:
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    mem_free(j->context, u);
    mem_free(j->context, y);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    job j = {.context = context, .options = o};
    /* JPEG and PDF have neither alpha nor 16 bits */
    const image_read_options from = {.max_pixels = (size_t)o->max_pixels,
                                     .exact = !strcmp(format_of(o->output), "PNG"),
                                     .stream = is_stream(o->image) ? stdin : NULL};
    int below;
    j.image = from.stream ? "standard input" : text_path(o->image);
    j.output = is_stream(o->output) ? "standard output" : o->output;
    ssm2d_status status = image_open(context, from.stream ? j.image : o->image, &from,
                                     &j.picture.reader, &j.picture.info, error);
    if (!status) status = choose_layer(&j, error);
    if (!status) {
        j.picture.bytes = mem_alloc(context, image_row_bytes(&j.picture.info));
        if (!j.picture.bytes) status = fail_memory(error, "%s: row", j.image);
    }
    if (!status)
        status = o->in_memory || (o->run && looks_below(&j, &below)) ? run_in_memory(&j, error)
                                                                     : run_stream(&j, error);
    if (!status)
        status = image_finish(j.picture.writer, error);
    else
        image_abandon(j.picture.writer);
    if (!status && !is_stream(o->output))
        written_print(o->output, "%zu x %zu pixels", j.picture.info.rows, j.picture.info.cols);
    image_close(j.picture.reader);
    mem_free(context, j.picture.bytes);
    mem_free(context, j.picture.alphas);
    mem_free(context, j.params);
    return status;
}

static const char about[] =
    "Runs a layer over a picture while it is decoded, row by row: memory does not depend on the "
    "height of a PNG or JPEG that is stored upright. Each colour of the picture, scaled to 0..1, "
    "is a channel of the layer; the output is clamped to 0..1. A PNG keeps the 16 bits and the "
    "alpha of the picture; in a JPEG or PDF samples have 8 bits, and transparent pixels are "
    "blended over white.\n"
    "\n"
    "Without --config and --run the layer is a soft motion blur: every pixel leaves a trail "
    "that fades and widens in one direction. Its weights are positive, and those inside the "
    "picture add up to 1, so that brightness is kept and borders do not darken. Alpha is "
    "blurred with the colours; other layers leave it as it is.\n"
    "\n"
    "--config reads the fields below, init and seed from a JSON file, such as\n"
    "\n"
    "  {\"directions\": 2, \"pair\": \"columns\", \"norm\": \"relaxed\", \"seed\": 3}\n"
    "\n"
    "--run shows what a trained model does in one of its blocks: the block's layer runs over every "
    "colour of the picture as if pixels were patches, including D but not LayerNorm, with one "
    "--channel of the layer or the mean of all. ssm2d kernels RUN draws the kernels of these "
    "channels.\n"
    "\n"
    "One pass over the rows is enough for directions that look upwards: directions 1, and 2 "
    "with pair columns. Others need --in-memory, which --run turns on by itself. Long jobs "
    "show their progress on standard error.";

const command command_filter = {
    "filter",         "run a layer over a picture of any size", about, options, check_values, run,
    .lists_fields = 1};
