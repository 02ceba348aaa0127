/* ssm2d predict - classifies image files with a trained model. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data/picture.h"
#include "io/json.h"
#include "io/text.h"
#include "run_weights.h"
#include "tools/command.h"
#include "train/run_folder.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *run, *weights, *image_size;
    word_list images;
    double eval_crop;
    long top, max_pixels;
    int json;
} values;

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run", .positional = 1},
    {"IMAGE", OPTION_LIST, offsetof(values, images), "image files", .positional = 1},
    {"top", OPTION_INT, offsetof(values, top),
     "number of classes to print for each image, or of attributes; when not given 3 classes, or "
     "all "
     "attributes that it has",
     .low = 1, .high = 1000},
    {"eval-crop", OPTION_DOUBLE, offsetof(values, eval_crop),
     "take the middle of images, this part of their shorter side; 0 squashes all of it into the "
     "model's size; the run's setting when not given",
     .low = 0, .high = 1},
    {"image-size", OPTION_STRING, offsetof(values, image_size),
     "resize images to this side in pixels, or to ROWSxCOLS; the size of training when not given",
     .value = "SIZE"},
    {"weights", OPTION_CHOICE, offsetof(values, weights), "weights of the latest or the best epoch",
     .choice = run_weights_at, .default_value = "last"},
    {"max-pixels", OPTION_INT, offsetof(values, max_pixels),
     "refuse images of more pixels before decoding them; the run's setting when not given",
     .low = 1, .high = 1e15},
    {"json", OPTION_FLAG, offsetof(values, json), .help = "print JSON, one object per line"},
    {0}};

typedef struct job {
    ssm2d_context *context;
    const values *options;
    run_model m;
    ssm2d_model_plan *plan;
    float *logits;
    double *probabilities;
} job;

/* The likeliest class that was not shown yet; those shown have been set to probability -1. */
static int next_class(const job *j)
{
    int best = -1;
    for (int c = 0; c < j->m.data.classes; c++)
        if (j->probabilities[c] >= 0 && (best < 0 || j->probabilities[c] > j->probabilities[best]))
            best = c;
    return best;
}

static int is_binary(const job *j) { return j->m.data.labels == LABEL_BINARY; }

/* How many classes or attributes to print. */
static int shown(const job *j)
{
    const int classes = j->m.data.classes;
    if (j->options->top != OPTION_UNSET) return min_int((int)j->options->top, classes);
    if (!is_binary(j)) return min_int(3, classes);
    int count = 0;
    for (int c = 0; c < classes; c++) count += j->probabilities[c] > 0.5;
    return count;
}

static void print_text(const job *j, const char *path)
{
    const int top = shown(j);
    text_print(stdout, path);
    putchar('\n');
    for (int i = 0; i < top; i++) {
        int c = next_class(j);
        printf("  %5.1f %%  ", 100 * j->probabilities[c]);
        text_print(stdout, j->m.data.names[c]);
        putchar('\n');
        j->probabilities[c] = -1;
    }
    if (is_binary(j) && j->options->top == OPTION_UNSET)
        printf("  and has not the other %d of %d attributes\n", j->m.data.classes - top,
               j->m.data.classes);
}

static ssm2d_status print_json(const job *j, const char *path, ssm2d_error *error)
{
    const int all = is_binary(j) && j->options->top == OPTION_UNSET;
    const int top = all ? j->m.data.classes : shown(j);
    cJSON *root = cJSON_CreateObject(), *list = NULL;
    const cJSON *file = cJSON_AddStringToObject(root, "file", path);
    if (file) text_make_utf8(file->valuestring); /* JSON has no other bytes */
    int good =
        file && (list = cJSON_AddArrayToObject(root, is_binary(j) ? "attributes" : "classes"));
    for (int i = 0; good && i < top; i++) {
        int c = next_class(j);
        cJSON *one = cJSON_CreateObject();
        good = json_add(list, NULL, one) && cJSON_AddStringToObject(one, "name", j->m.data.names[c])
               && cJSON_AddNumberToObject(one, "probability", j->probabilities[c])
               && (!is_binary(j) || cJSON_AddBoolToObject(one, "has", j->probabilities[c] > 0.5));
        j->probabilities[c] = -1;
    }
    char *text = good ? cJSON_PrintUnformatted(root) : NULL;
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return text ? SSM2D_OK : fail(error, SSM2D_ERROR_MEMORY, "no memory for a result");
}

/* Weights that are finite may still be so large that what the model computes is not. */
static ssm2d_status check_logits(const job *j, const char *path, ssm2d_error *error)
{
    char name[48];
    for (int c = 0; c < j->m.data.classes; c++)
        if (!isfinite(j->logits[c]))
            return fail(
                error, SSM2D_ERROR_ARGUMENT,
                "%s: the model gives %g for class %s: it cannot classify this image",
                text_path(path), (double)j->logits[c],
                text_show(j->m.data.names[c], strlen(j->m.data.names[c]), name, sizeof name));
    return SSM2D_OK;
}

static ssm2d_status classify(job *j, const char *path, ssm2d_error *error)
{
    const size_t max_pixels = j->options->max_pixels == OPTION_UNSET
                                  ? (size_t)j->m.settings.options.max_pixels
                                  : (size_t)j->options->max_pixels;
    /* decoded row by row into the plan's resizing, so that a large photo is never in memory */
    ssm2d_status status = picture_read(j->context, path, max_pixels, model_plan_resize(j->plan),
                                       model_plan_pixels(j->plan), error);
    if (status) return status;
    model_plan_prepared(j->plan, 0);
    ssm2d_model_run(j->plan, NULL, 1, j->logits);
    status = check_logits(j, path, error);
    if (status) return status;
    ssm2d_model_probabilities(j->m.model, j->logits, 1, j->probabilities);
    if (j->options->json) return print_json(j, path, error);
    print_text(j, path);
    return SSM2D_OK;
}

/* Classifies all images; a file that cannot be read is reported, and the others still
 * classified. */
static ssm2d_status classify_all(job *j, ssm2d_error *error)
{
    const word_list *images = &j->options->images;
    int bad = 0;
    for (int i = 0; i < images->count; i++) {
        ssm2d_error why;
        if (!classify(j, images->words[i], &why)) continue;
        fflush(stdout);
        fprintf(stderr, "ssm2d predict: %s\n", why.line);
        bad++;
    }
    return bad ? fail(error, SSM2D_ERROR_ARGUMENT, "%d of %d images could not be classified", bad,
                      images->count)
               : SSM2D_OK;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    int size[2];
    return image_size_of(((const values *)v)->image_size, size, error);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    job j = {.context = context, .options = o};
    int size[2];
    ssm2d_status status = image_size_of(o->image_size, size, error);
    if (!status)
        status = run_model_open(context, o->run, run_weights_file(o->weights), size, &j.m, error);
    if (status) return status;
    const size_t classes = (size_t)j.m.data.classes;
    ssm2d_model_plan_options with = ssm2d_model_plan_options_default();
    ssm2d_model_preparation prepare = ssm2d_model_preparation_default();
    ssm2d_model_preparation_get(j.m.model, &prepare);
    if (!isnan(o->eval_crop)) prepare.crop = o->eval_crop;
    with.preparation = &prepare;
    if ((status = model_plan_create(context, j.m.model, &with, &j.plan, error))) goto done;
    j.logits = mem_alloc(context, classes * sizeof *j.logits);
    j.probabilities = mem_alloc(context, classes * sizeof *j.probabilities);
    if (!j.logits || !j.probabilities) {
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu classes", classes);
        goto done;
    }
    status =
        o->images.count == 1 ? classify(&j, o->images.words[0], error) : classify_all(&j, error);
done:
    mem_free(context, j.logits);
    mem_free(context, j.probabilities);
    ssm2d_model_plan_destroy(j.plan);
    run_model_close(&j.m);
    return status;
}

static const char about[] =
    "Classifies images with the model of a run: resizes each image to the model's image size, "
    "and prints the most likely classes with their probabilities; of a model for binary labels, "
    "the "
    "attributes that the image has. The data that the model was "
    "trained on are not needed. Images are turned upright as their EXIF orientation says, and what "
    "is transparent becomes white.";

const command command_predict = {
    "predict", "classify images with a trained model", about, options, check_values, run, 0};
