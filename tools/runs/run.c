/* ssm2d run - runs a model on arrays in files: logits, the loss for given labels, and its gradient
 * for every parameter. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "inference/model_file.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/text.h"
#include "ops/ops.h"
#include "tools/command.h"
#include "tools/written.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BATCH = 64 }; /* images per batch, unless the loss needs all of them in one */

typedef struct values {
    const char *config, *weights, *input, *out, *labels, *grads;
    long seed;
    int allow_nonfinite;
} values;

static const option options[] = {
    {"config", OPTION_STRING, offsetof(values, config),
     "configuration of the model, JSON; a model file has its own", .value = "FILE"},
    {"weights", OPTION_STRING, offsetof(values, weights),
     "weights of the model, safetensors; without --config, a model file or zoo:NAME",
     .value = "FILE", .required = 1, .model = 1},
    {"input", OPTION_STRING, offsetof(values, input),
     "images, .npy (batch, channels, rows, columns)", .value = "FILE", .required = 1},
    {"out", OPTION_STRING, offsetof(values, out), "logits to write, .npy (batch, outputs)",
     .value = "FILE", .required = 1, .letter = 'o'},
    {"labels", OPTION_STRING, offsetof(values, labels),
     "class of each image, .npy (batch): prints the loss", .value = "FILE"},
    {"grads", OPTION_STRING, offsetof(values, grads),
     "gradients of the loss to write, safetensors; needs --labels", .value = "FILE"},
    {"seed", OPTION_INT, offsetof(values, seed),
     "random seed for mixers that are missing in the weights", .low = 0, .high = 2147483647,
     .default_value = "0"},
    {"allow_nonfinite", OPTION_FLAG, offsetof(values, allow_nonfinite),
     .help = "write logits and gradients even if some are infinite or NaN"},
    {0}};

typedef struct job {
    ssm2d_context *context;
    const values *options;
    model_config config;
    ssm2d_model *model;
    size_t batch, outputs, pixels; /* of one image */
    float *grads, *images, *targets, *logits;
    ssm2d_session *session;
    graph *graph; /* of the loss */
} job;

static ssm2d_status read_images(job *j, ssm2d_error *error)
{
    const char *path = j->options->input;
    const size_t *s, wanted[] = {(size_t)j->config.channels, (size_t)j->config.image[0],
                                 (size_t)j->config.image[1]};
    npy_array array;
    char one[96];
    ssm2d_status status = npy_read(j->context, path, &array, error);
    if (status) return status;
    s = array.shape;
    if (array.rank != 4 || !s[0] || memcmp(s + 1, wanted, sizeof wanted)) {
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: the shape is %s, the model needs (batch, %zu, %zu, %zu)",
                      text_path(path), npy_shape_text(array.rank, array.shape, one, sizeof one),
                      wanted[0], wanted[1], wanted[2]);
        goto done;
    }
    j->batch = s[0];
    j->pixels = array.count / s[0];
    j->images = mem_alloc(j->context, array.count * sizeof *j->images);
    if (!j->images) {
        status = fail_memory(error, "images");
        goto done;
    }
    npy_to_float(&array, j->images);
    for (size_t i = 0; i < array.count && !status; i++)
        if (!isfinite(j->images[i]))
            status =
                fail(error, SSM2D_ERROR_ARGUMENT, "%s: element %zu is %g: images must be finite",
                     text_path(path), i, (double)j->images[i]);
done:
    npy_free(j->context, &array);
    return status;
}

/* Reads the labels as one-hot targets. */
static ssm2d_status read_labels(job *j, ssm2d_error *error)
{
    const char *path = j->options->labels;
    npy_array array;
    char one[96];
    double *labels = NULL;
    ssm2d_status status = npy_read(j->context, path, &array, error);
    if (status) return status;
    if (array.rank != 1 || array.count != j->batch || array.type == NPY_FLOAT32
        || array.type == NPY_FLOAT64) {
        status =
            fail(error, SSM2D_ERROR_ARGUMENT,
                 "%s: %s of shape %s: use whole numbers of shape (%zu,)", text_path(path),
                 array.type == NPY_FLOAT32 || array.type == NPY_FLOAT64 ? "floating-point numbers"
                                                                        : "whole numbers",
                 npy_shape_text(array.rank, array.shape, one, sizeof one), j->batch);
        goto done;
    }
    labels = mem_alloc(j->context, array.count * sizeof *labels);
    j->targets = mem_alloc(j->context, j->batch * j->outputs * sizeof *j->targets);
    if (!labels || !j->targets) {
        status = fail_memory(error, "labels");
        goto done;
    }
    npy_to_double(&array, labels);
    for (size_t b = 0; b < j->batch && !status; b++) {
        if (labels[b] < 0 || labels[b] >= (double)j->outputs)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: label %zu is %.0f: use 0 to %zu",
                          text_path(path), b, labels[b], j->outputs - 1);
        else
            j->targets[b * j->outputs + (size_t)labels[b]] = 1;
    }
done:
    mem_free(j->context, labels);
    npy_free(j->context, &array);
    return status;
}

static ssm2d_status read_weights(job *j, ssm2d_error *error)
{
    if (j->model) return SSM2D_OK; /* a model file */
    const weights_options with = {.seed = (uint64_t)j->options->seed};
    weights_report report;
    const ssm2d_status status =
        model_open_weights(j->context, j->options->config, &j->config, j->options->weights, &with,
                           &report, &j->model, error);
    if (status) return status;
    if (report.new_mixer_arrays) {
        printf("%d arrays of mixers are not in ", report.new_mixer_arrays);
        text_print(stdout, j->options->weights);
        printf(": initialised from seed %ld\n", j->options->seed);
    }
    if (report.resized)
        printf("position embedding interpolated from %d x %d to %d x %d patches\n",
               report.old_grid[0], report.old_grid[1], report.grid[0], report.grid[1]);
    if (report.resized_tables)
        printf("%d tables of relative positions interpolated\n", report.resized_tables);
    return SSM2D_OK;
}

/* Refuses results that are not finite, unless --allow-nonfinite is given. Finite weights may be so
 * large that a result is not finite. */
static ssm2d_status check_finite(const job *j, const char *what, const float *x, size_t count,
                                 ssm2d_error *error)
{
    if (j->options->allow_nonfinite) return SSM2D_OK;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: %s %zu is %g: nothing was written; --allow-nonfinite writes it",
                        text_path(j->options->weights), what, i, (double)x[i]);
    return SSM2D_OK;
}

/* Computes logits only, in batches of at most MAX_BATCH images. All batches have the same size; the
 * last one may overlap the previous one. */
static ssm2d_status infer(job *j, ssm2d_error *error)
{
    ssm2d_session_options with = ssm2d_session_options_default();
    with.batch = min_size(j->batch, MAX_BATCH);
    ssm2d_status status = session_create(j->context, j->model, &with, &j->session, error);
    if (status) return status;
    for (size_t done = 0; done < j->batch; done += with.batch) {
        const size_t first = min_size(done, j->batch - with.batch);
        status = ssm2d_session_run(j->session, j->images + first * j->pixels, with.batch,
                                   j->logits + first * j->outputs, error);
        if (status) return status;
    }
    return check_finite(j, "logit", j->logits, j->batch * j->outputs, error);
}

/* Computes logits and loss of all images in one batch, and gradients if requested. */
static ssm2d_status differentiate(job *j, ssm2d_error *error)
{
    const size_t shape[] = {j->batch, j->outputs};
    ssm2d_status status = graph_create(j->context, j->options->grads != NULL, &j->graph, error);
    if (status) return status;
    j->graph->random = 0; /* no stochastic depth */
    tensor *logits = model_build(j->graph, &j->model->config, j->batch);
    tensor *targets = graph_input(j->graph, "targets", 2, shape);
    tensor *loss = cross_entropy(j->graph, logits, targets);
    if ((status = graph_finish(j->graph, loss, error))) return status;
    j->grads = mem_alloc(j->context, j->model->weights->total * sizeof *j->grads);
    if (!j->grads) return fail_memory(error, "gradients");
    graph_bind(j->graph, j->model->params, j->grads);
    graph_find(j->graph, "images")->data = j->images;
    targets->data = j->targets;
    graph_forward(j->graph);
    /* copied now, because backward reuses the memory */
    memcpy(j->logits, logits->data, j->batch * j->outputs * sizeof *j->logits);
    const float value = loss->data[0];
    status = check_finite(j, "logit", j->logits, j->batch * j->outputs, error);
    if (!status) status = check_finite(j, "loss", &value, 1, error);
    if (!status && j->options->grads) {
        loss->grad[0] = 1;
        graph_backward(j->graph);
        status = check_finite(j, "gradient", j->grads, j->model->weights->total, error);
    }
    if (status) return status;
    printf("loss %.9g\n", (double)value);
    if (!j->options->grads) return SSM2D_OK;
    return weights_save_gradients(j->model->weights, j->options->grads, j->grads, error);
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (o->grads && !o->labels) return fail(error, SSM2D_ERROR_ARGUMENT, "--grads needs --labels");
    if (o->grads && (!strcmp(o->grads, o->out) || file_is_same(o->grads, o->out)))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--grads and --out are the same file, %s: give two", text_path(o->out));
    const char *const outputs[] = {o->out, o->grads};
    const char *const inputs[] = {o->config, o->weights, o->input, o->labels};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++)
            if (outputs[i] && inputs[k] && file_is_same(outputs[i], inputs[k]))
                return fail(error, SSM2D_ERROR_ARGUMENT,
                            "%s: is an input and would be replaced: give another file to %s",
                            text_path(outputs[i]), i ? "--grads" : "--out");
    return SSM2D_OK;
}

static ssm2d_status read_config(job *j, ssm2d_error *error)
{
    ssm2d_error why;
    ssm2d_status status = model_config_read(j->context, j->options->config, &j->config, error);
    if (status) return status;
    status = model_config_finish(&j->config, &why);
    return status ? fail(error, status, "%s: %s", text_path(j->options->config), why.line)
                  : SSM2D_OK;
}

static ssm2d_status open_file(job *j, ssm2d_error *error)
{
    const char *path = j->options->weights;
    if (!model_file_is(path))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: is not a model file: give one, or --config and a file of weights",
                    text_path(path));
    const ssm2d_status status = model_open_run(j->context, path, RUN_MODEL, NULL, &j->model, error);
    if (!status) j->config = j->model->config;
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    job j = {.context = context, .options = v};
    ssm2d_status status = j.options->config ? read_config(&j, error) : open_file(&j, error);
    if (status) goto done;
    j.outputs = (size_t)j.config.outputs;
    if ((status = read_images(&j, error))) goto done;
    if (j.options->labels && (status = read_labels(&j, error))) goto done;
    if ((status = read_weights(&j, error))) goto done;
    j.logits = mem_alloc(context, j.batch * j.outputs * sizeof *j.logits);
    if (!j.logits) {
        status = fail_memory(error, "logits");
        goto done;
    }
    if ((status = j.options->labels ? differentiate(&j, error) : infer(&j, error))) goto done;
    status = npy_write(context, j.options->out, NPY_FLOAT32, 2, (size_t[]){j.batch, j.outputs},
                       j.logits, error);
    if (status) goto done;
    written_print(j.options->out, "logits of %zu image%s", j.batch, j.batch == 1 ? "" : "s");
    if (j.options->grads) written_print(j.options->grads, "gradients of the loss");
done:
    graph_destroy(j.graph);
    mem_free(context, j.logits);
    mem_free(context, j.targets);
    mem_free(context, j.images);
    mem_free(context, j.grads);
    ssm2d_session_destroy(j.session);
    ssm2d_model_close(j.model);
    return status;
}

static const char about[] =
    "Runs a model on images in a file and writes the logits. `ssm2d models --keys` lists the keys "
    "of a configuration. Weights have timm's names, so published DeiT and Swin files can be used; "
    "those of Swin's authors too.\n"
    "\n"
    "Weights without mixers can be used for a model with mixers, which are then initialised "
    "from --seed. The position embedding of weights for another image size is interpolated. "
    "Both are reported.\n"
    "\n"
    "Images must be normalised like the training images (data.json of a run has the mean and "
    "standard deviation of pixels from 0 to 1).\n"
    "\n"
    "With --labels, prints the mean cross-entropy; with --grads, writes its gradient with "
    "respect to every parameter, under the names of the weights. Stochastic depth is off.\n"
    "\n"
    "If a logit, the loss or a gradient is infinite or NaN, nothing is written and the command "
    "fails, unless --allow-nonfinite is given.";

const command command_run = {"run",
                             "run a model on arrays in files: logits, loss, gradients",
                             about,
                             options,
                             check_values,
                             run,
                             0};
