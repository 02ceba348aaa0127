/* ssm2d quantize - writes the model of a run as one file, with smaller element types. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data/split.h"
#include "inference/model_file.h"
#include "io/file.h"
#include "io/text.h"
#include "run_weights.h"
#include "tools/command.h"
#include "tools/progress.h"
#include "tools/written.h"
#include "train/calibration.h"
#include "train/run_images.h"

#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *run, *weights, *output, *type, *card, *data;
    long images;
    int force;
} values;

static const struct {
    const char *name;
    element_type type;
} types[] = {{"int8", ELEMENT_INT8}, {"bf16", ELEMENT_BFLOAT16}, {"float32", ELEMENT_REAL}};
enum { TYPES = sizeof types / sizeof *types };

static const char *type_at(int i) { return i < TYPES ? types[i].name : NULL; }

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run, a model file, or zoo:NAME",
     .positional = 1, .model = 1},
    {"output", OPTION_STRING, offsetof(values, output), "file to write: .ssm2d or .safetensors",
     .value = "FILE", .letter = 'o', .required = 1},
    {"type", OPTION_CHOICE, offsetof(values, type),
     "element type of the weights of linear layers: int8, with inputs of 8 bits as well; bf16 "
     "(bfloat16) or float32",
     .choice = type_at, .default_value = "int8"},
    {"images", OPTION_INT, offsetof(values, images),
     "int8: training images from which the ranges of inputs are found", .low = 1, .high = 1e6,
     .default_value = "512"},
    {"data", OPTION_STRING, offsetof(values, data),
     "int8: other data with the same labels, instead of the run's", .value = "DATA"},
    {"weights", OPTION_CHOICE, offsetof(values, weights),
     "weights of the latest or the best epoch (last when not given)", .choice = run_weights_at},
    {"card", OPTION_STRING, offsetof(values, card),
     "text file that describes the model, UTF-8, which becomes part of the file", .value = "FILE"},
    {"force", OPTION_FLAG, offsetof(values, force), .help = "replace an existing file"},
    {0}};

enum { MAX_CARD = 1 << 20 };

static element_type type_of(const values *o)
{
    int i = 0;
    while (strcmp(types[i].name, o->type)) i++;
    return types[i].type;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (text_has_extension(o->output, ".ssm2d") || text_has_extension(o->output, ".safetensors"))
        return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name must end in .ssm2d or .safetensors",
                text_path(o->output));
}

/* Reads the text of --card, which the caller frees with mem_free; NULL: there is none. */
static ssm2d_status read_card(ssm2d_context *context, const char *path, char **text,
                              ssm2d_error *error)
{
    size_t size;
    *text = NULL;
    if (!path) return SSM2D_OK;
    const ssm2d_status status = file_read_regular(context, path, MAX_CARD, text, &size, error);
    if (status) return status;
    for (const char *at = *text; at < *text + size; at += text_utf8(at))
        if (!*at || !text_utf8(at))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: byte %zu is not UTF-8 text",
                        text_path(path), (size_t)(at - *text));
    return SSM2D_OK;
}

/* ---- int8: ranges from training images ------------------------------------------------------- */

enum { BATCH = 16 }; /* images that are run at once */

typedef struct job {
    ssm2d_context *context;
    dataset *data;
    loader *images;
    calibration *ranges;
    float *batch;
    size_t image, count, total; /* elements of an image; images to use, of so many */
    progress shown;
} job;

static ssm2d_status open_data(job *j, const values *o, const run_model *m, ssm2d_error *error)
{
    const split_options of_run = train_options_split(&m->settings.options), whole = {0, 1, 0};
    char found[SSM2D_TEXT];
    run_find_data(o->run, m->settings.options.data, found);
    const char *where = o->data ? o->data : found;
    if (!o->data && !strcmp(where, "none"))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: does not name its data: name them (--data), or use --type bf16",
                    text_path(o->run));
    ssm2d_status status =
        split_open(j->context, where, o->data ? &whole : &of_run, DATASET_TRAIN, &j->data, error);
    if (!status) status = run_data_matches(&m->data, dataset_about(j->data), error);
    if (status) return status;
    dataset_limit_pixels(j->data, (size_t)m->settings.options.max_pixels);
    loader_options lo = run_loader_options(m, j->data);
    lo.batch = 1;
    j->total = dataset_about(j->data)->count;
    j->count = min_size((size_t)o->images, j->total);
    j->image = lo.rows * lo.cols * (size_t)lo.channels;
    j->batch = mem_alloc(j->context, BATCH * j->image * sizeof *j->batch);
    if (!j->batch) return fail_memory(error, "batch of %d images", BATCH);
    status = loader_create(j->context, j->data, &lo, &j->images, error);
    if (!status) status = calibration_create(j->context, m->model, BATCH, &j->ranges, error);
    return status;
}

/* Runs images at equal distances in the data, which may be sorted by class. */
static ssm2d_status run_through(job *j, ssm2d_error *error)
{
    size_t filled = 0;
    for (size_t i = 0; i < j->count; i++) {
        loader_batch one;
        ssm2d_status status = loader_seek(j->images, 0, i * j->total / j->count, error);
        if (!status) status = loader_next(j->images, &one, error);
        if (status) return status;
        if (one.count) memcpy(j->batch + filled++ * j->image, one.images, j->image * sizeof(float));
        if (filled == BATCH || (filled && i + 1 == j->count)) {
            calibration_run(j->ranges, j->batch, filled);
            filled = 0;
        }
        progress_show(&j->shown, i + 1);
    }
    return SSM2D_OK;
}

static ssm2d_status calibrate(ssm2d_context *context, const values *o, const run_model *m,
                              quantization **out, ssm2d_error *error)
{
    job j = {.context = context};
    ssm2d_status status = open_data(&j, o, m, error);
    j.shown = progress_start("ssm2d quantize: image", j.count);
    if (!status) status = run_through(&j, error);
    if (!status) {
        calibration_second(j.ranges);
        status = run_through(&j, error);
    }
    progress_end(&j.shown);
    if (!status) status = calibration_end(j.ranges, out, error);
    calibration_destroy(j.ranges);
    loader_destroy(j.images);
    dataset_close(j.data);
    mem_free(context, j.batch);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    run_model m = {.model = NULL};
    quantization *quantized = NULL;
    run_file which;
    char *card = NULL;
    ssm2d_status status = written_check(o->output, o->force, error);
    if (!status) status = run_weights_choose(o->run, o->weights, &which, error);
    if (!status) status = read_card(context, o->card, &card, error);
    if (!status) status = run_model_open(context, o->run, which, NULL, &m, error);
    if (!status && type_of(o) == ELEMENT_INT8)
        status = calibrate(context, o, &m, &quantized, error);
    if (!status) status = model_file_write(m.model, o->output, type_of(o), quantized, card, error);
    if (!status)
        written_print(o->output, "%s, %zu parameters in %s", m.model->config.model->name,
                      m.weights->learned, element_name(type_of(o)));
    mem_free(context, card);
    mem_free(context, quantized);
    run_model_close(&m);
    return status;
}

static const char about[] =
    "Writes the model of a run as one file, which has all that is needed to use it: weights, "
    "configuration, names of the outputs, and how images are prepared. `predict`, `eval` (with "
    "--data), `run`, `export`, `kernels`, ssm2d_model_open in C and load_run in Python take it in "
    "place of the run's folder:\n"
    "\n"
    "  ssm2d quantize runs/demo -o demo.ssm2d\n"
    "  ssm2d predict demo.ssm2d photo.png\n"
    "\n"
    "The weights of linear layers are stored in the element type of --type, everything else in "
    "float32. The file is a safetensors file, and does not name the training data.";

const command command_quantize = {
    "quantize", "write a trained model as one small file", about, options, check_values, run, 0};
