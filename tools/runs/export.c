/* ssm2d export - writes a trained model as an ONNX file, for other runtimes. */
#include "core/context.h"
#include "core/status.h"
#include "export/export_model.h"
#include "export_notes.h"
#include "inference/trained_model.h"
#include "io/text.h"
#include "run_weights.h"
#include "tools/command.h"
#include "tools/progress.h"
#include "tools/written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct values {
    const char *run, *config, *weights, *output, *image_size, *batch;
    long features;
    int force;
} values;

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run", .positional = 1,
     .optional = 1},
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
    char said[32], *end;
    *batch = 0;
    if (!strcmp(text, "any")) return SSM2D_OK;
    const long n = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    if (n >= 1 && n <= MAX_BATCH && !*end) {
        *batch = (size_t)n;
        return SSM2D_OK;
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "--batch=%s: use any, or a whole number from 1 to %d",
                text_show(text, strlen(text), said, sizeof said), MAX_BATCH);
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
    char said[48];
    int size[2];
    size_t batch;
    if (!o->run == !o->config)
        return fail(error, SSM2D_ERROR_ARGUMENT, "give the folder of a run or --config%s",
                    o->run ? ", not both" : "");
    if (o->config && !o->weights)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--config needs --weights, a file");
    if (o->run && o->weights && !is_name_of_weights(o->weights))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--weights=%s: for a run, use last or best",
                    text_show(o->weights, strlen(o->weights), said, sizeof said));
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
    const run_file which = run_weights_file(o->weights ? o->weights : run_weights_at(0));
    return model_open_run(context, o->run, which, image, out, error);
}

/* ---- the command ----------------------------------------------------------------------------- */

static ssm2d_status check_output(const values *o, ssm2d_error *error)
{
    struct stat info;
    if (o->force || lstat(o->output, &info) || S_ISDIR(info.st_mode)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: exists already: --force replaces it",
                text_path(o->output));
}

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
    if (!status) status = check_output(o, error);
    if (!status) status = open_model(context, o, &m, error);
    if (!status) status = export_notes_make(context, m, &notes, error);
    if (status) goto done;
    const model_export what = {.config = &m->config,
                               .params = m->params,
                               .batch = batch,
                               .features = o->features == OPTION_UNSET ? 0 : (int)o->features,
                               .path = o->output,
                               .notes = notes.count,
                               .note = notes.list,
                               .progress = progress_hook,
                               .user = &shown};
    announce(&m->config);
    status = model_export_onnx(context, &what, error);
    progress_end(&shown);
    if (!status) report(o, &m->config, batch);
done:
    export_notes_free(context, &notes);
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
