/* ssm2d eval - loss and accuracy of a trained model, on its own test images or others, at any image
 * size. */
#include "command.h"
#include "core/status.h"
#include "ignored.h"
#include "progress.h"
#include "run_weights.h"
#include "train/evaluate.h"
#include "train/run_folder.h"

#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *run, *data, *weights, *split, *image_size;
    long batch;
    int json;
} values;

static const char *split_at(int i)
{
    static const char *const names[] = {"test", "train", NULL};
    return names[i];
}

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run", .positional = 1},
    {"data", OPTION_STRING, offsetof(values, data),
     "other data with the same classes, instead of the run's", .value = "DATA"},
    {"split", OPTION_CHOICE, offsetof(values, split),
     "images to evaluate; test is val/ in an image folder", .choice = split_at,
     .default_value = "test"},
    {"image-size", OPTION_STRING, offsetof(values, image_size),
     "resize images to this side in pixels, or to ROWSxCOLS, and adapt the model; the size of "
     "training when not given",
     .value = "SIZE"},
    {"weights", OPTION_CHOICE, offsetof(values, weights), "weights of the latest or the best epoch",
     .choice = run_weights_at, .default_value = "last"},
    {"batch", OPTION_INT, offsetof(values, batch), "images per batch", .low = 1, .high = 65536,
     .default_value = "128"},
    {"json", OPTION_FLAG, offsetof(values, json), .help = "print JSON"},
    {0}};

static void show_progress(void *user, size_t batch, size_t batches)
{
    progress *p = user;
    p->total = batches;
    progress_show(p, batch);
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    int size[2];
    return image_size_of(((const values *)v)->image_size, size, error);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    run_model m;
    dataset *data = NULL;
    loader *images = NULL;
    evaluator *e = NULL;
    evaluation result;
    int size[2];
    ssm2d_status status = image_size_of(o->image_size, size, error);
    if (!status)
        status = run_model_open(context, o->run, run_weights_file(o->weights), size, &m, error);
    if (status) return status;
    const model_config *config = &m.settings.model;
    char found[SSM2D_TEXT];
    run_find_data(o->run, m.settings.options.data, found);
    const char *where = o->data ? o->data : found;
    const dataset_split split = strcmp(o->split, "train") ? DATASET_TEST : DATASET_TRAIN;
    if ((status = dataset_open(context, where, split, &data, error))) goto done;
    if ((status = run_data_matches(&m.data, dataset_about(data), error))) goto done;
    dataset_limit_pixels(data, (size_t)m.settings.options.max_pixels);
    report_ignored("eval", dataset_about(data)->ignored, dataset_about(data)->first_ignored);
    loader_options lo = loader_options_default(data);
    lo.batch = (size_t)o->batch;
    lo.rows = (size_t)config->image[0];
    lo.cols = (size_t)config->image[1];
    lo.channels = config->channels;
    lo.norm = m.data.norm;
    lo.augment = m.settings.augment;
    lo.workers = m.settings.options.workers;
    if ((status = loader_create(context, data, &lo, &images, error))) goto done;
    if ((status = evaluator_create(context, config, (size_t)o->batch, &e, error))) goto done;
    evaluator_weights(e, m.params);
    progress p = progress_start("ssm2d eval: batch", 1);
    evaluation_hooks hooks = {&p, NULL, show_progress};
    status = evaluate(e, images, (train_loss)m.settings.options.loss, &hooks, &result, error);
    progress_end(&p);
    if (status) goto done;
    if (o->json)
        printf(
            "{\"images\": %zu, \"rows\": %d, \"cols\": %d, \"loss\": %.6g, \"accuracy\": %.6g}\n",
            result.images, config->image[0], config->image[1], result.loss, result.accuracy);
    else
        printf("%zu %s images of %d x %d: loss %.4f, accuracy %.2f %%%s\n", result.images, o->split,
               config->image[0], config->image[1], result.loss, 100 * result.accuracy,
               m.resized ? " (positions interpolated)" : "");
done:
    evaluator_destroy(e);
    loader_destroy(images);
    dataset_close(data);
    run_model_close(context, &m);
    return status;
}

static const char about[] =
    "Evaluates the model of a run on the test images of its data, or of other data with the "
    "same classes. With --image-size the images are resized, a position embedding and "
    "tables of relative positions are interpolated (bicubic) where the model has them, and the "
    "kernels of the 2-D SSM are computed for the new grid.";

const command command_eval = {
    "eval", "loss and accuracy of a trained model", about, options, check_values, run, 0};
