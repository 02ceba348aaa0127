/* ssm2d predict - predictions of a trained model for image files. */
#include "core/context.h"
#include "core/status.h"
#include "data/listing.h"
#include "data/picture.h"
#include "io/image.h"
#include "io/json.h"
#include "io/text.h"
#include "run_weights.h"
#include "tools/command.h"
#include "tools/written.h"
#include "train/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct values {
    const char *run, *weights, *image_size;
    word_list images;
    double eval_crop;
    long top, max_pixels;
    int json, csv;
} values;

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run, a model file, or zoo:NAME",
     .positional = 1, .model = 1},
    {"IMAGE", OPTION_LIST, offsetof(values, images),
     "image files, or folders, which are searched recursively", .positional = 1},
    {"top", OPTION_INT, offsetof(values, top),
     "number of labels to print for each image; when not given, the 3 likeliest classes, or all "
     "attributes above 50 %",
     .low = 1, .high = 1000},
    {"eval-crop", OPTION_DOUBLE, offsetof(values, eval_crop),
     "crop the centre of images, this fraction of their shorter side; 0 resizes the whole image "
     "without keeping its aspect ratio; the run's setting when not given",
     .low = 0, .high = 1},
    {"image-size", OPTION_STRING, offsetof(values, image_size),
     "resize images to this side in pixels, or to ROWSxCOLS; the size of training when not given",
     .value = "SIZE"},
    {"weights", OPTION_CHOICE, offsetof(values, weights),
     "weights of the latest or the best epoch; when not given, the best if the run has them",
     .choice = run_weights_at},
    {"max-pixels", OPTION_INT, offsetof(values, max_pixels),
     "refuse images with more pixels before decoding them; the run's setting when not given",
     .low = 1, .high = 1e15},
    {"json", OPTION_FLAG, offsetof(values, json), .help = "print JSON, one object per line"},
    {"csv", OPTION_FLAG, offsetof(values, csv),
     .help = "print CSV: a header, and a line per image"},
    {0}};

/* ---- image files ----------------------------------------------------------------------------- */

enum { MAX_DEPTH = 64 };

/* Adds an entry of a folder to the images, the folders, or the ignored files. Links to folders are
 * not followed, because they may form a cycle. */
static ssm2d_status sort_entry(const char *path, listing *files, listing *folders,
                               ssm2d_error *error)
{
    struct stat named, info;
    if (!lstat(path, &named) && S_ISDIR(named.st_mode))
        return listing_append(folders, path, 0, error);
    if (!stat(path, &info) && S_ISREG(info.st_mode) && image_named(path))
        return listing_append(files, path, 1, error);
    return listing_ignore(files, path, error);
}

static ssm2d_status read_folder(const char *folder, listing *files, listing *folders,
                                ssm2d_error *error)
{
    const size_t first = files->count;
    ssm2d_status status = SSM2D_OK;
    DIR *dir = opendir(folder);
    if (!dir) return fail_errno(error, folder, "cannot be opened");
    errno = 0;
    for (struct dirent *found; !status && (found = readdir(dir)); errno = 0) {
        char path[PATH_MAX];
        if (found->d_name[0] == '.') continue;
        status = dataset_path(path, sizeof path, folder, found->d_name, error);
        if (!status) status = sort_entry(path, files, folders, error);
    }
    if (!status && errno) status = fail_errno(error, folder, "cannot be read");
    closedir(dir);
    listing_sort(files, first);
    listing_sort(folders, 0);
    return status;
}

static ssm2d_status add_folder(const char *folder, int depth, listing *files, ssm2d_error *error)
{
    listing folders = {.context = files->context};
    if (depth > MAX_DEPTH)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: folders are nested more than %d deep",
                    text_path(folder), MAX_DEPTH);
    ssm2d_status status = read_folder(folder, files, &folders, error);
    for (size_t i = 0; i < folders.count && !status; i++)
        status = add_folder(listing_name(&folders, i), depth + 1, files, error);
    listing_free(&folders);
    return status;
}

/* Adds the files to *files, an empty listing, in the order of the words; files in a folder are
 * sorted by name, before those of its subfolders. The label of an entry is 1 if found in a folder;
 * such files must be regular. Non-image files in folders are counted as ignored. */
static ssm2d_status find_files(const word_list *words, listing *files, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < words->count && !status; i++) {
        const char *word = words->words[i];
        const size_t before = files->count;
        if (!is_folder(word)) {
            status = listing_append(files, word, 0, error);
            continue;
        }
        status = add_folder(word, 0, files, error);
        if (!status && files->count == before)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no images: expected %s",
                          text_path(word), image_endings((char[IMAGE_LIST]){0}));
    }
    return status;
}

/* ---- predictions ----------------------------------------------------------------------------- */

typedef struct job {
    ssm2d_context *context;
    const values *options;
    const char *weights; /* last or best */
    int begun;           /* whether something was printed */
    run_model m;
    ssm2d_session *session;
    task_outputs outputs;
    float *out;     /* of the model */
    double *values; /* [outputs]: probabilities */
} job;

/* --top; 0: not given. */
static int top_of(const values *o) { return o->top == OPTION_UNSET ? 0 : (int)o->top; }

/* Finite weights may be so large that the outputs are not finite. */
static ssm2d_status check_finite(const job *j, const char *path, ssm2d_error *error)
{
    const char *const *names = j->outputs.names;
    char name[48];
    for (int i = 0; i < j->outputs.count; i++)
        if (!isfinite(j->out[i])) {
            snprintf(name, sizeof name, "%d", i);
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: the output of the model for %s %s is %g: no prediction is possible",
                        text_path(path), j->m.data.task->one,
                        names ? text_show(names[i], strlen(names[i]), name, sizeof name) : name,
                        (double)j->out[i]);
        }
    return SSM2D_OK;
}

/* Prints the line above the first result. */
static void print_head(job *j)
{
    if (j->begun) return;
    j->begun = 1;
    if (j->options->csv) {
        printf("file,weights");
        j->m.data.task->print_csv_head(&j->outputs, top_of(j->options), stdout);
        putchar('\n');
    } else if (!j->options->json) {
        printf("weights of the %s epoch of ", j->weights);
        text_print(stdout, j->options->run);
        putchar('\n');
    }
}

static void print_csv(const job *j, const char *path, const task_prediction *p)
{
    csv_text(stdout, path);
    printf(",%s", j->weights);
    j->m.data.task->print_csv(p, stdout);
    putchar('\n');
}

static void print_text(const job *j, const char *path, const task_prediction *p)
{
    text_print(stdout, path);
    putchar(':');
    j->m.data.task->print(p, stdout);
    putchar('\n');
}

static ssm2d_status print_json(const job *j, const char *path, const task_prediction *p,
                               ssm2d_error *error)
{
    cJSON *root = cJSON_CreateObject();
    const cJSON *file = cJSON_AddStringToObject(root, "file", path);
    if (file) text_make_utf8(file->valuestring); /* JSON has no other bytes */
    const int good = file && cJSON_AddStringToObject(root, "weights", j->weights)
                     && j->m.data.task->to_json(p, root);
    return result_print(root, good, JSON_ONE_LINE, error);
}

/* found: the file was found in a folder, so it must be regular: opening a pipe could block. */
static ssm2d_status predict(job *j, const char *path, int found, ssm2d_error *error)
{
    const image_read_options how = {.max_pixels = j->options->max_pixels == OPTION_UNSET
                                                      ? (size_t)j->m.settings.options.max_pixels
                                                      : (size_t)j->options->max_pixels,
                                    .regular = found};
    /* resized while it is decoded row by row, so that a large photo is never in memory whole */
    ssm2d_status status = picture_read(j->context, path, &how, session_resize(j->session),
                                       session_pixels(j->session), error);
    if (status) return status;
    session_image_prepared(j->session, 0);
    if ((status = ssm2d_session_run(j->session, NULL, 1, j->out, error))) return status;
    const task_shape shape = task_shape_of(&j->m.settings.model);
    status = check_finite(j, path, error);
    if (status) return status;
    loss_at(j->m.model->loss)->activate(j->out, &shape, j->values);
    const task_prediction p = {&j->outputs, j->values, top_of(j->options)};
    print_head(j);
    if (j->options->json) return print_json(j, path, &p, error);
    (j->options->csv ? print_csv : print_text)(j, path, &p);
    return SSM2D_OK;
}

/* Predicts for all images; reports a file that cannot be read, and continues. */
static ssm2d_status predict_all(job *j, const listing *files, ssm2d_error *error)
{
    const size_t count = files->count;
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        ssm2d_error why;
        const ssm2d_status status =
            predict(j, listing_name(files, i), files->entries[i].label, &why);
        if (!status) continue;
        if (count == 1) return fail(error, status, "%s", why.line);
        fflush(stdout);
        fprintf(stderr, "ssm2d predict: %s\n", why.line);
        bad++;
    }
    return bad ? fail(error, SSM2D_ERROR_ARGUMENT, "no prediction for %zu of %zu images", bad,
                      count)
               : SSM2D_OK;
}

/* The weights of --weights; else the best, if they exist. */
static ssm2d_status choose_weights(const values *o, run_file *which, ssm2d_error *error)
{
    char path[RUN_PATH];
    const ssm2d_status status = run_weights_choose(o->run, o->weights, which, error);
    if (!o->weights && !run_path(o->run, RUN_BEST, path, NULL) && !access(path, F_OK))
        *which = RUN_BEST;
    return status;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    int size[2];
    if (o->json && o->csv)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--json and --csv: use one of them");
    return image_size_of(o->image_size, size, error);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    job j = {.context = context, .options = o};
    listing files = {.context = context};
    int size[2];
    run_file which;
    ssm2d_status status = image_size_of(o->image_size, size, error);
    if (!status) status = choose_weights(o, &which, error);
    if (!status) status = find_files(&o->images, &files, error);
    if (!status) status = run_model_open(context, o->run, which, size, &j.m, error);
    if (status) {
        listing_free(&files);
        return status;
    }
    j.weights = run_weights_name(j.m.model->which);
    report_ignored("predict", files.ignored, files.first_ignored);
    j.outputs = run_data_outputs(&j.m.data);
    const size_t count = (size_t)j.outputs.count;
    ssm2d_session_options with = ssm2d_session_options_default();
    ssm2d_model_preparation prepare = ssm2d_model_preparation_default();
    ssm2d_model_preparation_get(j.m.model, &prepare);
    if (!isnan(o->eval_crop)) prepare.crop = o->eval_crop;
    with.preparation = &prepare;
    if ((status = session_create(context, j.m.model, &with, &j.session, error))) goto done;
    j.out = mem_alloc(context, ssm2d_session_output_of(j.session).count * sizeof *j.out);
    j.values = mem_alloc(context, ssm2d_session_output_of(j.session).count * sizeof *j.values);
    if (!j.out || !j.values) {
        status = fail_memory(error, "%zu outputs", count);
        goto done;
    }
    if (o->csv && o->top != OPTION_UNSET && j.m.data.task->csv_has_all) {
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "--top: with --csv every %s has a column: leave it out", j.m.data.task->one);
        goto done;
    }
    status = predict_all(&j, &files, error);
done:
    listing_free(&files);
    mem_free(context, j.out);
    mem_free(context, j.values);
    ssm2d_session_destroy(j.session);
    run_model_close(&j.m);
    return status;
}

static const char about[] =
    "Predicts the labels of images with the model of a run, or a model file: resizes each image to "
    "the model's "
    "image size, and prints a line with the likeliest labels and their probabilities; for a model "
    "of binary labels, the attributes above 50 %. Files that cannot be read are reported and "
    "skipped. The training data are not needed. Images are rotated by their EXIF orientation, and "
    "transparent pixels become white.";

const command command_predict = {"predict",
                                 "predict the labels of images with a trained model",
                                 about,
                                 options,
                                 check_values,
                                 run,
                                 0};
