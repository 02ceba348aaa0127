/* ssm2d filter - a layer over a picture, row by row as it is decoded, in memory that does not
 * depend on the height. */
#include "command.h"
#include "core/context.h"
#include "core/status.h"
#include "filter_trail.h"
#include "io/image.h"
#include "io/text.h"
#include "layer/config.h"
#include "layer_setup.h"
#include "progress.h"

#include <math.h>
#include <string.h>
#include <strings.h>

typedef struct values {
    const char *image, *output, *config, *init;
    long seed;
    double angle, length, mix;
    int in_memory;
} values;

static const option options[] = {
    {"IMAGE", OPTION_STRING, offsetof(values, image),
     "picture to read: PNG or JPEG, grey or colour", .positional = 1},
    {"output", OPTION_STRING, offsetof(values, output), "picture to write, .png", .value = "FILE",
     .letter = 'o', .required = 1},
    {"angle", OPTION_DOUBLE, offsetof(values, angle),
     "direction of the trail in degrees: 0 right, 90 down, 180 left (45 when not given)", .low = 0,
     .high = 180},
    {"length", OPTION_DOUBLE, offsetof(values, length),
     "mean length of the trail in pixels (40 when not given)", .low = 1, .high = 100000},
    {"mix", OPTION_DOUBLE, offsetof(values, mix),
     "weight of the trail in the result, from 0 to 1 (0.7 when not given)", .low = 0, .high = 1},
    {"config", OPTION_STRING, offsetof(values, config),
     "run the layer in this JSON file instead of the trail", .value = "FILE"},
    {"init", OPTION_CHOICE, offsetof(values, init), "with --config: initial parameters",
     .choice = layer_init_name},
    {"seed", OPTION_INT, offsetof(values, seed),
     "with --config: random seed of the parameters, instead of the one in FILE", .low = 0,
     .high = INT_MAX},
    {"in-memory", OPTION_FLAG, offsetof(values, in_memory),
     .help = "load the whole picture; needed by directions that look at rows below"},
    {0}};

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    const char *dot = strrchr(o->output, '.');
    if (!dot || strcasecmp(dot, ".png"))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--output=%s: the name must end in .png",
                    text_path(o->output));
    if (o->config && !(isnan(o->angle) && isnan(o->length) && isnan(o->mix)))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--%s is for the trail and cannot be combined with --config",
                    !isnan(o->angle)    ? "angle"
                    : !isnan(o->length) ? "length"
                                        : "mix");
    if (!o->config && (o->init || o->seed != OPTION_UNSET))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--%s needs --config", o->init ? "init" : "seed");
    return SSM2D_OK;
}

typedef struct job {
    ssm2d_context *context;
    const values *options;
    image_info info;
    image_reader *reader;
    image_writer *writer;
    ssm2d_config config;
    /* the layer has one more channel, whose input is 1 everywhere; the output of the others is
     * divided by its output, which is the weight that lies inside the picture */
    int coverage;
    double *params;
    uint8_t *bytes; /* one row of the picture */
} job;

/* Reads the next row of the picture into u[cols][channels], from 0 to 1. */
static ssm2d_status read_row(const job *j, double *u, ssm2d_error *error)
{
    ssm2d_status status = image_read_row(j->reader, j->bytes, error);
    const uint8_t *from = j->bytes;
    for (size_t i = 0; i < j->info.cols && !status; i++) {
        for (int c = 0; c < j->info.channels; c++) *u++ = *from++ / 255.0;
        if (j->coverage) *u++ = 1;
    }
    return status;
}

static ssm2d_status write_row(const job *j, const double *y, size_t row, ssm2d_error *error)
{
    uint8_t *to = j->bytes;
    for (size_t i = 0; i < j->info.cols; i++, y += j->config.channels)
        for (int c = 0; c < j->info.channels; c++) {
            double value = j->coverage ? y[c] / y[j->info.channels] : y[c];
            if (!isfinite(value))
                return fail(error, SSM2D_ERROR_ARGUMENT,
                            "row %zu: the layer's output is not finite: use norm relaxed", row);
            *to++ = (uint8_t)lround(255 * (value < 0 ? 0 : value > 1 ? 1 : value));
        }
    return image_write_row(j->writer, j->bytes, error);
}

static ssm2d_status choose_layer(job *j, ssm2d_error *error)
{
    const values *o = j->options;
    if (!o->config) {
        filter_trail trail = {isnan(o->angle) ? 45 : o->angle, isnan(o->length) ? 40 : o->length,
                              isnan(o->mix) ? 0.7 : o->mix};
        j->coverage = 1;
        return filter_trail_layer(j->context, &trail, j->info.channels + 1, &j->config, &j->params,
                                  error);
    }
    layer_setup setup = layer_setup_default();
    ssm2d_error why;
    ssm2d_status status = layer_setup_read(j->context, o->config, &setup, error);
    if (status) return status;
    layer_setup_override(&setup, o->seed, o->init);
    if (setup.config.channels && setup.config.channels != j->info.channels)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: \"channels\" is %d, but %s has %d: leave it out", text_path(o->config),
                    setup.config.channels, text_path(o->image), j->info.channels);
    setup.config.channels = j->info.channels;
    if ((status = layer_setup_params(j->context, &setup, &j->params, &why)))
        return fail(error, status, "%s: %s", text_path(o->config), why.line);
    j->config = setup.config;
    return SSM2D_OK;
}

/* ---- row by row, or the whole picture at once ------------------------------------------------ */

static ssm2d_status run_stream(job *j, ssm2d_error *error)
{
    size_t numbers = j->info.cols * (size_t)j->config.channels;
    progress p = progress_start("ssm2d filter: row", j->info.rows);
    ssm2d_stream *stream = NULL;
    ssm2d_error why;
    ssm2d_status status;
    for (int r = 0; r < j->config.directions; r++)
        if (config_flip(&j->config, r).rows)
            return fail(error, SSM2D_ERROR_UNSUPPORTED,
                        "%s: direction %d of %d looks at rows below, which are not read yet: use "
                        "--in-memory, or directions 1, or 2 with pair columns",
                        text_path(j->options->config), r + 1, j->config.directions);
    double *u = mem_alloc(j->context, numbers * sizeof *u),
           *y = mem_alloc(j->context, numbers * sizeof *y);
    if (!u || !y) {
        status = fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for a row of %zu pixels",
                      text_path(j->options->image), j->info.cols);
        goto done;
    }
    if ((status = ssm2d_stream_create(j->context, &j->config, 1, j->info.cols, SSM2D_DOUBLE,
                                      j->params, &stream, &why))) {
        fail(error, status, "%.220s%s", why.line,
             status == SSM2D_ERROR_UNSUPPORTED ? "; or use --in-memory" : "");
        goto done;
    }
    if ((status = image_create(j->context, j->options->output, &j->info, &j->writer, error)))
        goto done;
    for (size_t row = 0; row < j->info.rows && !status; row++) {
        progress_show(&p, row);
        if ((status = read_row(j, u, error))) break;
        ssm2d_stream_push(stream, u, y);
        status = write_row(j, y, row, error);
    }
    progress_end(&p);
done:
    ssm2d_stream_destroy(stream);
    mem_free(j->context, u);
    mem_free(j->context, y);
    return status;
}

static ssm2d_status run_in_memory(job *j, ssm2d_error *error)
{
    size_t numbers = j->info.cols * (size_t)j->config.channels, all = 0;
    ssm2d_plan_options plan_options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    double *u = NULL, *y = NULL;
    ssm2d_status status;
    plan_options.rows = j->info.rows;
    plan_options.cols = j->info.cols;
    plan_options.type = SSM2D_DOUBLE; /* so that both ways round to the same bytes */
    plan_options.inference = 1;
    if ((status = ssm2d_plan_create(j->context, &j->config, &plan_options, &plan, error)))
        goto done;
    if ((status = ssm2d_workspace_create(plan, &workspace, error))) goto done;
    if (!__builtin_mul_overflow(numbers, j->info.rows * sizeof *u, &all)) {
        u = mem_alloc(j->context, all);
        y = mem_alloc(j->context, all);
    }
    if (!u || !y) {
        status = fail(error, SSM2D_ERROR_MEMORY,
                      "%s: no memory for %zu x %zu pixels; try without --in-memory",
                      text_path(j->options->image), j->info.rows, j->info.cols);
        goto done;
    }
    for (size_t row = 0; row < j->info.rows; row++)
        if ((status = read_row(j, u + row * numbers, error))) goto done;
    ssm2d_forward(plan, workspace, j->params, u, y);
    if ((status = image_create(j->context, j->options->output, &j->info, &j->writer, error)))
        goto done;
    for (size_t row = 0; row < j->info.rows && !status; row++)
        status = write_row(j, y + row * numbers, row, error);
done:
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    mem_free(j->context, u);
    mem_free(j->context, y);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    job j = {.context = context, .options = v};
    ssm2d_status status = image_open(context, j.options->image, &j.reader, &j.info, error);
    if (!status) status = choose_layer(&j, error);
    if (!status) {
        j.bytes = mem_alloc(context, j.info.cols * (size_t)j.info.channels);
        if (!j.bytes)
            status = fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for a row",
                          text_path(j.options->image));
    }
    if (!status) status = j.options->in_memory ? run_in_memory(&j, error) : run_stream(&j, error);
    if (!status)
        status = image_finish(j.writer, error);
    else
        image_abandon(j.writer);
    image_close(j.reader);
    mem_free(context, j.bytes);
    mem_free(context, j.params);
    return status;
}

static const char about[] =
    "Runs a layer over a picture while it is decoded, row by row: memory does not depend on "
    "the picture's height. Each channel of the picture, scaled to 0..1, is a channel of the "
    "layer; the output is clamped to 0..1 and written as a PNG.\n"
    "\n"
    "Without --config the layer is a soft motion blur: every pixel leaves a trail that fades "
    "and widens in one direction. Its weights are positive, and those inside the picture add "
    "up to 1, so that brightness is kept and borders do not darken.\n"
    "\n"
    "--config reads the fields below, init and seed from a JSON file, such as\n"
    "\n"
    "  {\"directions\": 2, \"pair\": \"columns\", \"norm\": \"relaxed\", \"seed\": 3}\n"
    "\n"
    "One pass over the rows is enough for directions that look upwards: directions 1, and 2 "
    "with pair columns. Others need --in-memory.";

const command command_filter = {"filter",
                                "run a layer over a PNG or JPEG of any size",
                                about,
                                options,
                                check_values,
                                run,
                                .lists_fields = 1};
