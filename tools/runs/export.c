/* ssm2d export - writes a trained model as an ONNX file, for other runtimes. */
#include "core/context.h"
#include "core/field.h"
#include "core/status.h"
#include "export/export_model.h"
#include "inference/trained_model.h"
#include "io/json.h"
#include "io/text.h"
#include "run_weights.h"
#include "tools/command.h"
#include "tools/progress.h"
#include "tools/written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct values {
    const char *run, *config, *weights, *output, *image_size, *batch;
    long features;
    int force;
} values;

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run, a model file, or zoo:NAME",
     .positional = 1, .model = 1, .optional = 1},
    {"output", OPTION_STRING, offsetof(values, output), "file to write: .onnx", .value = "FILE",
     .letter = 'o', .required = 1},
    {"image-size", OPTION_STRING, offsetof(values, image_size),
     "for images of this side in pixels, or of ROWSxCOLS; the size of training when not given",
     .value = "SIZE"},
    {"batch", OPTION_STRING, offsetof(values, batch), "fixed batch size, or any", .value = "N",
     .default_value = "any"},
    {"features", OPTION_INT, offsetof(values, features),
     "a second output: the tokens after this block, from 1", .value = "BLOCK", .low = 1,
     .high = 16384},
    {"weights", OPTION_STRING, offsetof(values, weights),
     "for a run, last or best: weights of the latest or the best epoch (last when not given); with "
     "--config, a safetensors file",
     .value = "WEIGHTS", .offers = run_weights_at},
    {"config", OPTION_STRING, offsetof(values, config),
     "instead of a run: configuration of the model, JSON; needs --weights", .value = "FILE"},
    {"force", OPTION_FLAG, offsetof(values, force), .help = "replace an existing file"},
    {0}};

enum { MAX_BATCH = 65536 };

/* Parses --batch; 0: any. */
static ssm2d_status batch_of(const char *text, size_t *batch, ssm2d_error *error)
{
    char given[32], *end;
    *batch = 0;
    if (!strcmp(text, "any")) return SSM2D_OK;
    const long n = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    if (n >= 1 && n <= MAX_BATCH && !*end) {
        *batch = (size_t)n;
        return SSM2D_OK;
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "--batch=%s: use any, or a whole number from 1 to %d",
                text_show(text, strlen(text), given, sizeof given), MAX_BATCH);
}

static int is_name_of_weights(const char *name)
{
    for (int i = 0; run_weights_at(i); i++)
        if (!strcmp(run_weights_at(i), name)) return 1;
    return 0;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    char given[48];
    int size[2];
    size_t batch;
    if (!o->run == !o->config)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "give the folder of a run, a model file, or --config%s",
                    o->run ? ", not both" : "");
    if (o->config && !o->weights)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--config needs --weights, a file");
    if (o->run && o->weights && !is_name_of_weights(o->weights))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--weights=%s: for a run, use last or best",
                    text_show(o->weights, strlen(o->weights), given, sizeof given));
    if (!text_has_extension(o->output, ".onnx"))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name must end in .onnx",
                    text_path(o->output));
    const ssm2d_status status = batch_of(o->batch, &batch, error);
    return status ? status : image_size_of(o->image_size, size, error);
}

/* ---- the model ------------------------------------------------------------------------------- */

static ssm2d_status open_files(ssm2d_context *context, const values *o, const int image[2],
                               ssm2d_model **out, ssm2d_error *error)
{
    model_config config = {0};
    ssm2d_status status = model_config_read(context, o->config, &config, error);
    if (!status)
        status =
            model_open_weights(context, o->config, &config, o->weights, NULL, NULL, out, error);
    if (!status) status = model_resize(*out, o->config, image, error);
    return status;
}

static ssm2d_status open_model(ssm2d_context *context, const values *o, ssm2d_model **out,
                               ssm2d_error *error)
{
    int image[2];
    ssm2d_status status = image_size_of(o->image_size, image, error);
    if (status || o->config) return status ? status : open_files(context, o, image, out, error);
    run_file which;
    status = run_weights_choose(o->run, o->weights, &which, error);
    if (status) return status;
    return model_open_run(context, o->run, which, image, out, error);
}

/* ---- metadata: model, preparation of images, names of outputs -------------------------------- */

enum { EXPORT_NOTES = 16 };

typedef struct export_notes {
    int count;
    onnx_note list[EXPORT_NOTES];
    char *text[EXPORT_NOTES]; /* of the list, owned */
} export_notes;

static ssm2d_status no_memory(ssm2d_error *error)
{
    return fail_memory(error, "metadata of a model");
}

static ssm2d_status add(ssm2d_context *context, export_notes *n, const char *key, const char *text,
                        ssm2d_error *error)
{
    char *copy = mem_alloc(context, strlen(text) + 1);
    if (!copy) return no_memory(error);
    strcpy(copy, text);
    n->text[n->count] = copy;
    n->list[n->count++] = (onnx_note){key, copy};
    return SSM2D_OK;
}

/* Takes ownership of value; NULL: out of memory. */
static ssm2d_status add_json(ssm2d_context *context, export_notes *n, const char *key, cJSON *value,
                             ssm2d_error *error)
{
    char *text = value ? cJSON_PrintUnformatted(value) : NULL;
    const ssm2d_status status = text ? add(context, n, key, text, error) : no_memory(error);
    cJSON_free(text);
    cJSON_Delete(value);
    return status;
}

/* A list of floats, one per channel, with as many digits as they need. */
static ssm2d_status add_channels(ssm2d_context *context, export_notes *n, const char *key,
                                 const float *x, int channels, ssm2d_error *error)
{
    char text[96] = "[";
    for (int i = 0; i < channels; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.9g", i ? "," : "", (double)x[i]);
    }
    strncat(text, "]", sizeof text - strlen(text) - 1);
    return add(context, n, key, text, error);
}

/* Adds one of the run's settings for images. */
static ssm2d_status add_setting(ssm2d_context *context, export_notes *n, const ssm2d_model *m,
                                const char *name, ssm2d_error *error)
{
    field_group groups[MAX_AUGMENTATIONS + 1] = {0};
    augment_options of_run = m->augment;
    void *at = &of_run;
    char text[64];
    augment_options_groups(0, groups);
    const ssm2d_field *f = field_find_in(groups, name, &at);
    return f ? add(context, n, name, field_print(f, at, text, sizeof text), error) : SSM2D_OK;
}

/* Adds the steps of eval_crop in words, with the order and rounding of augment_eval_crop.c. */
static ssm2d_status add_preparation(ssm2d_context *context, export_notes *n, const ssm2d_model *m,
                                    ssm2d_error *error)
{
    ssm2d_model_preparation how;
    ssm2d_model_preparation_init(&how, sizeof how);
    ssm2d_model_preparation_get(m, &how);
    return add(context, n, "preparation",
               how.crop > 0
                   ? "1. convert to grey or RGB by channels; 2. resize: both sides of image_size "
                     "divided by eval_crop and rounded down; the side of the image that is shorter "
                     "in proportion to these gets that length, the other the length in "
                     "proportion, rounded down, at least that of image_size; pixels are rounded "
                     "to 8 bits; 3. cut image_size out of the middle, from (resized - image_size) "
                     "/ 2 on, rounded to the nearest number, halves to the even one; 4. (pixel / "
                     "255 - mean) / std"
                   : "1. convert to grey or RGB by channels; 2. resize to image_size, whatever the "
                     "aspect ratio; pixels are rounded to 8 bits; 3. (pixel / 255 - mean) / std",
               error);
}

static ssm2d_status add_data(ssm2d_context *context, export_notes *n, const ssm2d_model *m,
                             int channels, ssm2d_error *error)
{
    const run_data *d = &m->data;
    ssm2d_status status = add(context, n, "task", d->task->name, error);
    if (!status && d->names)
        status =
            add_json(context, n, OUTPUTS_KEY,
                     cJSON_CreateStringArray((const char *const *)d->names, d->outputs), error);
    if (!status && d->task->note_labels)
        status = add(context, n, "labels", d->task->note_labels, error);
    if (!status) status = add(context, n, "probabilities", loss_at(m->loss)->activation, error);
    if (!status) status = add_channels(context, n, "mean", d->norm.mean, channels, error);
    if (!status) status = add_channels(context, n, "std", d->norm.std, channels, error);
    if (!status) status = add_setting(context, n, m, "interpolation", error);
    if (!status) status = add_setting(context, n, m, "eval_crop", error);
    return status ? status : add_preparation(context, n, m, error);
}

/* Describes the data too if the model is that of a run. *notes is zeroed before the call; the
 * caller frees it, also after a failure. */
static ssm2d_status make_notes(ssm2d_context *context, const ssm2d_model *m, export_notes *n,
                               ssm2d_error *error)
{
    const model_config *c = &m->config;
    char size[32], channels[16], mixed[128];
    snprintf(size, sizeof size, "%dx%d", c->image[0], c->image[1]);
    snprintf(channels, sizeof channels, "%d", c->channels);
    mixer_config_text(&c->mixer, mixed, sizeof mixed);
    ssm2d_status status = add(context, n, "ssm2d_version", ssm2d_version(), error);
    if (!status) status = add(context, n, "model", c->model->name, error);
    if (!status) status = add(context, n, "mixer", mixed, error);
    if (!status) status = add_json(context, n, "config", model_config_to_json(c), error);
    if (!status) status = add(context, n, "image_size", size, error);
    if (!status) status = add(context, n, "channels", channels, error);
    return status || !m->is_run ? status : add_data(context, n, m, c->channels, error);
}

static void free_notes(ssm2d_context *context, export_notes *n)
{
    for (int i = 0; i < n->count; i++) mem_free(context, n->text[i]);
    *n = (export_notes){0};
}

/* ---- the command ----------------------------------------------------------------------------- */

static void report(const values *o, const model_config *c, size_t batch)
{
    char count[32] = "any number of";
    if (batch) snprintf(count, sizeof count, "%zu", batch);
    written_print(o->output, "%s for %s image%s of %d x %d", c->model->name, count,
                  batch == 1 ? "" : "s", c->image[0], c->image[1]);
}

/* Each channel of each mixer gets a kernel as large as the image. From this many pixels on that
 * takes so long that progress per operator is not enough. */
enum { MANY_PIXELS = 1 << 22 };

static void announce(const model_config *c)
{
    if (c->image[0] > MANY_PIXELS / c->image[1] && c->mixer.kind != &mixer_none)
        fprintf(stderr,
                "ssm2d export: kernels for images of %d x %d are large: this can take minutes and "
                "gigabytes of memory\n",
                c->image[0], c->image[1]);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    ssm2d_model *m = NULL;
    progress shown = progress_start("ssm2d export: operator", 1);
    export_notes notes = {0};
    size_t batch;
    ssm2d_status status = model_export_available(error);
    if (!status) status = batch_of(o->batch, &batch, error);
    if (!status) status = written_check(o->output, o->force, error);
    if (!status) status = open_model(context, o, &m, error);
    if (!status) status = make_notes(context, m, &notes, error);
    if (status) goto done;
    const model_export what = {.config = &m->config,
                               .params = m->params,
                               .batch = batch,
                               .features = o->features == OPTION_UNSET ? 0 : (int)o->features,
                               .file = {.path = o->output,
                                        .quantized = m->quantized,
                                        .notes = notes.count,
                                        .note = notes.list,
                                        .progress = progress_hook,
                                        .user = &shown}};
    announce(&m->config);
    status = model_export_onnx(context, &what, error);
    progress_end(&shown);
    if (!status) report(o, &m->config, batch);
done:
    free_notes(context, &notes);
    ssm2d_model_close(m);
    return status;
}

static const char about[] =
    "Writes the model of a run as an ONNX file (opset 17, standard operators only), which ONNX "
    "Runtime and other programs can run:\n"
    "\n"
    "  ssm2d export runs/demo -o demo.onnx\n"
    "\n"
    "The input is `images`, of shape (N, channels, rows, columns), float: pixels from 0 to 1, "
    "normalised by the mean and standard deviation of each channel. The output is `logits`, (N, "
    "outputs); with --features also `features`, (N, tokens, dim). The file's metadata describe how "
    "to prepare images (image_size, channels, mean, std, interpolation, eval_crop, and "
    "preparation, "
    "the steps in words), the outputs (task, labels, and their names in classes), and the model "
    "(model, mixer, config, ssm2d_version).\n"
    "\n"
    "A mixer is written as a convolution for the image size of the file, which --image-size "
    "changes. For images of more than four million pixels the kernels take minutes and gigabytes "
    "of memory; a message says so.\n"
    "\n"
    "--config and --weights export a model from the files of `ssm2d run`; the metadata then do not "
    "describe how to prepare images.";

const command command_export = {
    "export", "write a trained model as ONNX", about, options, check_values, run, 0};
