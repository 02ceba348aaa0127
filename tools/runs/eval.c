/* ssm2d eval - loss and metrics of a trained model, on the test images of its data or on other
 * images, at any image size. */
#include "core/context.h"
#include "core/status.h"
#include "data/split.h"
#include "draw/canvas.h"
#include "draw/confusion.h"
#include "io/json.h"
#include "io/text.h"
#include "run_weights.h"
#include "tools/command.h"
#include "tools/processes.h"
#include "tools/progress.h"
#include "tools/written.h"
#include "train/evaluate.h"
#include "train/run_images.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *run, *data, *weights, *split, *image_size, *confusion, *bad_images;
    double eval_crop;
    long batch;
    int per_class, json;
} values;

static const char *split_at(int i)
{
    static const char *const names[] = {"test", "val", "train", NULL};
    return names[i];
}

static const char *bad_images_at(int i)
{
    static const char *const names[] = {"stop", "skip", NULL};
    return names[i];
}

static const option options[] = {
    {"RUN", OPTION_STRING, offsetof(values, run), "folder of a run, a model file, or zoo:NAME",
     .positional = 1, .model = 1},
    {"data", OPTION_STRING, offsetof(values, data),
     "other data with the same labels, instead of the run's", .value = "DATA"},
    {"split", OPTION_CHOICE, offsetof(values, split),
     "images to evaluate: test (val/ in an image folder without test/); val, the images that chose "
     "the best epoch, from the data's own split or held out; train, the training images. When not "
     "given, test; without test images those held out, or all of other data (--data)",
     .choice = split_at},
    {"image-size", OPTION_STRING, offsetof(values, image_size),
     "resize images to this side in pixels, or to ROWSxCOLS, and adapt the model; the size of "
     "training when not given",
     .value = "SIZE"},
    {"weights", OPTION_CHOICE, offsetof(values, weights),
     "weights of the latest or the best epoch; when not given, the latest, or those of the model "
     "file",
     .choice = run_weights_at},
    {"batch", OPTION_INT, offsetof(values, batch), "images per batch", .low = 1, .high = 65536,
     .default_value = "128"},
    {"eval-crop", OPTION_DOUBLE, offsetof(values, eval_crop),
     "crop the centre of images, this fraction of their shorter side; 0 resizes the whole image "
     "without keeping its aspect ratio; the run's setting when not given",
     .low = 0, .high = 1},
    {"bad-images", OPTION_CHOICE, offsetof(values, bad_images),
     "stop at an image that cannot be read, or skip it; the run's setting when not given",
     .choice = bad_images_at},
    {"per-class", OPTION_FLAG, offsetof(values, per_class),
     .help = "print the table of the task, with a line for each class or attribute"},
    {"confusion", OPTION_STRING, offsetof(values, confusion),
     "draw the confusion matrix, true against predicted labels: .png, .svg or .pdf",
     .value = "FILE"},
    {"json", OPTION_FLAG, offsetof(values, json),
     .help = "print JSON, including the values of --per-class and --confusion"},
    {0}};

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    int size[2];
    ssm2d_status status = image_size_of(o->image_size, size, error);
    return status || !o->confusion ? status : canvas_check(o->confusion, error);
}

/* Refuses data that the run was not trained on: which of their images to hold out is unknown. */
static ssm2d_status check_trained_on(ssm2d_context *context, const run_model *m, const char *where,
                                     const split_options *of_run, ssm2d_error *error)
{
    dataset *train = NULL;
    ssm2d_status status = split_open(context, where, of_run, DATASET_TRAIN, &train, error);
    if (!status && dataset_about(train)->count != (size_t)m->data.images)
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: has no validation images, and is not the data of the run, from which "
                      "some were held out: %zu images would be trained on, but the run had %ld",
                      text_path(where), dataset_about(train)->count, m->data.images);
    dataset_close(train);
    return status;
}

/* The images to evaluate, and their name. */
typedef struct split_chosen {
    dataset_split split;
    const char *name, *shown; /* the value of --split; the same in messages */
} split_chosen;

/* has_test: the data have test images; other: they are not the run's data. */
static split_chosen choose_split(const char *given, int has_test, int other)
{
    if (given) {
        const dataset_split split = !strcmp(given, "train") ? DATASET_TRAIN
                                    : !strcmp(given, "val") ? DATASET_VAL
                                                            : DATASET_TEST;
        return (split_chosen){split, given, given};
    }
    if (has_test) return (split_chosen){DATASET_TEST, "test", "test"};
    if (other) return (split_chosen){DATASET_TRAIN, "train", "given"};
    return (split_chosen){DATASET_VAL, "val", "held-out"};
}

/* Opens the images to evaluate. Held-out images are those of the run's own data, even if these have
 * moved. */
static ssm2d_status open_images(ssm2d_context *context, const values *o, const run_model *m,
                                dataset **out, split_chosen *chosen, ssm2d_error *error)
{
    const split_options whole = {0, 1, 0}, of_run = train_options_split(&m->settings.options);
    char found[SSM2D_TEXT];
    int splits = 0;
    run_find_data(o->run, m->settings.options.data, found);
    const char *where = o->data ? o->data : found;
    ssm2d_status status = run_names_data(o->run, where, error);
    if (!status && !o->data && !dataset_present(where))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: the data of this run do not exist: give their new path with --data",
                      text_path(where));
    if (!status) status = dataset_splits(where, &splits, error);
    *chosen = choose_split(o->split, splits != DATASET_HAS(TRAIN), o->data != NULL);
    const dataset_split split = chosen->split;
    if (!status && split == DATASET_TEST && splits == DATASET_HAS(TRAIN))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no test images: --split %s",
                    text_path(where),
                    o->data ? "train evaluates all of its images"
                            : "val evaluates those held out from training");
    const int held_out =
        split == DATASET_VAL && of_run.val_fraction > 0 && !(splits & DATASET_HAS(VAL));
    if (!status && o->data && held_out)
        status = check_trained_on(context, m, where, &of_run, error);
    if (!status)
        status =
            split_open(context, where, o->data && !held_out ? &whole : &of_run, split, out, error);
    if (!status) status = run_data_matches(&m->data, dataset_about(*out), error);
    return status;
}

static ssm2d_status loader_settings(const values *o, const run_model *m, const dataset *data,
                                    loader_options *lo, ssm2d_error *error)
{
    char text[32];
    *lo = run_loader_options(m, data);
    lo->batch = (size_t)o->batch;
    lo->share = (size_t)processes()->rank;
    lo->shares = (size_t)processes()->size;
    if (o->bad_images) lo->skip_bad = !strcmp(o->bad_images, "skip");
    if (isnan(o->eval_crop)) return SSM2D_OK;
    snprintf(text, sizeof text, "%.17g", o->eval_crop);
    return augment_options_set(&lo->augment, "eval_crop", text, error);
}

/* ---- output ---------------------------------------------------------------------------------- */

typedef struct eval_report {
    const run_model *model;
    const char *split;   /* test, val or train */
    const char *shown;   /* the same in messages: "held-out" */
    const char *weights; /* last or best */
    evaluation result;
    const task_detail *detail; /* NULL: no table */
    int table;
    const confusion_cell *confusion; /* NULL: not requested */
    size_t confusion_count;
} eval_report;

static const char *const *names_of(const eval_report *r)
{
    return (const char *const *)r->model->data.names;
}

static void print_text(const eval_report *r)
{
    const evaluation *e = &r->result;
    const task *t = r->model->data.task;
    const int *image = r->model->settings.model.image;
    char title[TASK_TITLE], text[METRIC_TEXT];
    task_title(t, r->model->data.outputs, title);
    printf("%zu %s images of %d x %d: loss %.4f", e->images, r->shown, image[0], image[1], e->loss);
    for (int i = 0; i < e->metric_count; i++)
        printf(", %s %s", i ? t->metrics[i].name : title,
               metric_text(&t->metrics[i], e->metrics[i], text));
    printf("%s; weights of the %s epoch\n", r->model->resized ? " (positions interpolated)" : "",
           r->weights);
    if (r->table) t->print_table(r->detail, names_of(r), stdout);
}

/* Up to this many outputs JSON has every cell of the matrix, otherwise a list of nonzero cells. */
enum { MAX_MATRIX = 1000 };

static int add_count(cJSON *list, size_t value)
{
    return json_add(list, NULL, cJSON_CreateNumber((double)value));
}

static int add_matrix(cJSON *root, const eval_report *r)
{
    cJSON *rows = cJSON_AddArrayToObject(root, "confusion"), *row;
    int good = rows != NULL;
    size_t next = 0;
    for (int c = 0; good && c < r->detail->shape.outputs; c++) {
        good = json_add(rows, NULL, row = cJSON_CreateArray());
        for (int k = 0; good && k < r->detail->shape.outputs; k++) {
            const confusion_cell *cell = next < r->confusion_count ? &r->confusion[next] : NULL;
            const int is_next = cell && cell->truth == c && cell->predicted == k;
            good = add_count(row, is_next ? cell->count : 0);
            next += (size_t)is_next;
        }
    }
    return good;
}

/* [true, predicted, images] of every nonzero cell; outputs are counted from 0 */
static int add_pairs(cJSON *root, const eval_report *r)
{
    cJSON *list = cJSON_AddArrayToObject(root, "confusion_pairs"), *pair;
    int good = list != NULL;
    for (size_t i = 0; good && i < r->confusion_count; i++) {
        const confusion_cell *cell = &r->confusion[i];
        good = json_add(list, NULL, pair = cJSON_CreateArray())
               && add_count(pair, (size_t)cell->truth) && add_count(pair, (size_t)cell->predicted)
               && add_count(pair, cell->count);
    }
    return good;
}

static int add_confusion(cJSON *root, const eval_report *r)
{
    return r->detail->shape.outputs <= MAX_MATRIX ? add_matrix(root, r) : add_pairs(root, r);
}

static int add_metrics(cJSON *root, const eval_report *r)
{
    const evaluation *e = &r->result;
    int good = 1;
    for (int i = 0; good && i < e->metric_count; i++)
        good = cJSON_AddNumberToObject(root, r->model->data.task->metrics[i].key, e->metrics[i])
               != NULL;
    return good;
}

static ssm2d_status print_json(const eval_report *r, ssm2d_error *error)
{
    const evaluation *e = &r->result;
    const int *image = r->model->settings.model.image;
    const task *t = r->model->data.task;
    cJSON *root = cJSON_CreateObject();
    const int good = root && cJSON_AddNumberToObject(root, "images", (double)e->images)
                     && cJSON_AddStringToObject(root, "split", r->split)
                     && cJSON_AddNumberToObject(root, "rows", image[0])
                     && cJSON_AddNumberToObject(root, "cols", image[1])
                     && cJSON_AddNumberToObject(root, "loss", e->loss) && add_metrics(root, r)
                     && (!r->table || t->table_to_json(r->detail, names_of(r), root))
                     && (!r->confusion || add_confusion(root, r));
    return result_print(root, good, JSON_ONE_LINE, error);
}

static ssm2d_status draw_confusion(const ssm2d_context *context, const eval_report *r,
                                   const char *path, ssm2d_error *error)
{
    const model_config *c = &r->model->settings.model;
    const task *t = r->model->data.task;
    const task_metric *metric = &t->metrics[0];
    char title[160], text[METRIC_TEXT];
    snprintf(title, sizeof title, "%s, mixer %s: %s %s %s of %zu images", c->model->name,
             c->mixer.kind->name, r->split, metric->name,
             metric_text(metric, r->result.metrics[0], text), r->result.images);
    const confusion m = {.title = title,
                         .one = t->one,
                         .many = t->many,
                         .label_count = r->detail->shape.outputs,
                         .names = names_of(r),
                         .cells = r->confusion,
                         .cell_count = r->confusion_count};
    return confusion_draw(context, path, &m, error);
}

static ssm2d_status report(const ssm2d_context *context, const values *o, const eval_report *r,
                           ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    if (o->confusion) status = draw_confusion(context, r, o->confusion, error);
    if (!status && o->json) return print_json(r, error);
    if (!status) print_text(r);
    if (!status && o->confusion) written_print(o->confusion, "confusion matrix");
    return status;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* The parts of an evaluation, in the order of their creation. */
typedef struct work {
    run_model model;
    int opened; /* whether the model is open */
    dataset *data;
    split_chosen chosen;
    loader *images;
    ssm2d_session *session;
    task_detail detail;
    confusion_cell *confusion;
} work;

static ssm2d_status prepare(ssm2d_context *context, const values *o, work *w, ssm2d_error *error)
{
    loader_options lo;
    int size[2];
    run_file which;
    run_model *m = &w->model;
    ssm2d_status status = image_size_of(o->image_size, size, error);
    if (!status) status = run_weights_choose(o->run, o->weights, &which, error);
    if (!status) status = run_model_open(context, o->run, which, size, m, error);
    if (status) return status;
    w->opened = 1;
    if (o->confusion && !m->data.task->pair)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--confusion: the run has %s, which have no confusion matrix: use --per-class",
                    m->data.task->labels);
    if (o->per_class && !m->data.task->print_table)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--per-class: there is no table for the task %s",
                    m->data.task->name);
    if ((status = open_images(context, o, m, &w->data, &w->chosen, error))) return status;
    dataset_limit_pixels(w->data, (size_t)m->settings.options.max_pixels);
    if (processes_speak())
        report_ignored("eval", dataset_about(w->data)->ignored,
                       dataset_about(w->data)->first_ignored);
    if ((status = loader_settings(o, m, w->data, &lo, error))) return status;
    if ((status = loader_create(context, w->data, &lo, &w->images, error))) return status;
    return run_model_session(context, m, lo.batch, &w->session, error);
}

/* Fails unless all processes have the same weights and images. */
static ssm2d_status compare(const work *w, ssm2d_error *error)
{
    const dataset_info *data = dataset_about(w->data);
    ssm2d_status status = cluster_same(processes(), "weights", w->model.params,
                                       w->model.weights->total * sizeof(float), error);
    return status
               ? status
               : cluster_same(processes(), "image counts", &data->count, sizeof data->count, error);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    work w = {0};
    ssm2d_status status = cluster_agree(processes(), prepare(context, o, &w, error), error);
    if (!status && processes()->size > 1) status = compare(&w, error);
    if (status) goto done;
    eval_report r = {.model = &w.model,
                     .split = w.chosen.name,
                     .shown = w.chosen.shown,
                     .weights = run_weights_name(w.model.model->which),
                     .table = o->per_class,
                     .detail = &w.detail};
    progress p = progress_start("ssm2d eval: batch", 1);
    const evaluation_hooks hooks = {.user = &p,
                                    .progress = processes_speak() ? progress_hook : NULL,
                                    .detail = o->per_class || o->confusion ? &w.detail : NULL,
                                    .cluster = processes()};
    status = evaluate(w.session->evaluator, w.images, w.model.data.task, w.model.model->loss,
                      &hooks, &r.result, error);
    progress_end(&p);
    ssm2d_error first;
    size_t skipped = loader_skipped(w.images, &first);
    if (!status) status = skipped_total(context, processes(), w.images, &skipped, &first, error);
    if (processes_speak()) report_skipped("eval", skipped, &first);
    if (!status && o->confusion)
        status = evaluation_confusion(context, w.model.data.task, &w.detail, &w.confusion,
                                      &r.confusion_count, error);
    r.confusion = w.confusion;
    if (!status)
        status = cluster_agree(processes(),
                               processes_speak() ? report(context, o, &r, error) : SSM2D_OK, error);
done:
    evaluation_detail_free(context, &w.detail);
    mem_free(context, w.confusion);
    ssm2d_session_destroy(w.session);
    loader_destroy(w.images);
    dataset_close(w.data);
    if (w.opened) run_model_close(&w.model);
    return status;
}

static const char about[] =
    "Evaluates the model of a run, or a model file, on the test images of its data, or of other "
    "data with the same "
    "labels: loss and the metrics of the task. With --image-size the images are resized, the "
    "model's position embedding and tables of relative positions are interpolated (bicubic), and "
    "the kernels of the 2-D SSM are computed for the new grid.";

const command command_eval = {"eval",
                              "loss and metrics of a trained model",
                              about,
                              options,
                              check_values,
                              run,
                              .several = SEVERAL_TOGETHER};
