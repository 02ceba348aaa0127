/* ssm2d data check - reads every image of a data set: counts, sizes, mean and standard deviation,
 * and unreadable files. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data.h"
#include "data/survey.h"
#include "io/image.h"
#include "io/json.h"
#include "io/text.h"
#include "tasks/task.h"
#include "tools/progress.h"
#include "tools/written.h"

#include <stdio.h>

typedef struct values {
    const char *data;
    long max_pixels;
    int per_label, json;
} values;

static const option options[] = {
    {"DATA", OPTION_STRING, offsetof(values, data),
     "a folder, or a name as for ssm2d train --data, such as cifar10:FOLDER", .positional = 1},
    {"per-class", OPTION_FLAG, offsetof(values, per_label),
     .help = "list the number of images of every label, however many there are"},
    {"max-pixels", OPTION_INT, offsetof(values, max_pixels),
     "count image files of more pixels as bad", .low = 1, .high = 1e15,
     .default_value = "268435456"},
    {"json", OPTION_FLAG, offsetof(values, json), .help = "print JSON"},
    {0}};

enum { FEW_LABELS = 20, MAX_PRINTED = 20 };
static const char *const split_names[] = {"train", "val", "test"};

typedef struct view {
    progress progress;
    size_t bad; /* unreadable images of all splits so far */
} view;

static void show_progress(void *user, size_t images)
{
    progress_show(&((view *)user)->progress, images);
}

static void print_bad(void *user, size_t image, const ssm2d_error *why)
{
    view *v = user;
    (void)image;
    progress_end(&v->progress);
    if (v->bad++ < MAX_PRINTED)
        fprintf(stderr, "ssm2d data check: %s\n", why->line);
    else if (v->bad == MAX_PRINTED + 1)
        fprintf(stderr, "ssm2d data check: .. and more\n");
}

static void print_range(const size_t range[2])
{
    if (range[0] == range[1])
        printf("%zu", range[0]);
    else
        printf("%zu to %zu", range[0], range[1]);
}

static void print_text(const values *o, const char *split, const dataset_info *info,
                       const survey *s)
{
    const task *t = task_chosen(0, info);
    size_t min = s->of_label[0], max = min;
    printf("%s: %zu images, %d %s; rows ", split, s->images, s->label_count, t->many);
    print_range(s->rows);
    printf(", columns ");
    print_range(s->cols);
    printf(", %s", info->channels == 1 ? "grey" : "colour");
    if (s->grey) printf(" (%zu are grey)", s->grey);
    printf("\n");
    for (int c = 0; c < s->label_count; c++) {
        min = min_size(min, s->of_label[c]);
        max = max_size(max, s->of_label[c]);
        if (s->label_count > FEW_LABELS && !o->per_label) continue;
        printf("  %6zu  ", s->of_label[c]);
        text_print(stdout, info->label_names[c]);
        putchar('\n');
    }
    if (s->label_count > FEW_LABELS && !o->per_label)
        printf("  %zu to %zu images %s %s\n", min, max,
               info->labels == LABEL_BINARY ? "have an" : "of a", t->one);
    if (info->channels == 1)
        printf("  mean %.4f, standard deviation %.4f", s->mean[0], s->std[0]);
    else
        printf("  mean %.4f %.4f %.4f, standard deviation %.4f %.4f %.4f", s->mean[0], s->mean[1],
               s->mean[2], s->std[0], s->std[1], s->std[2]);
    printf(" of all pixels, scaled to 0..1\n");
    if (s->bad) printf("  %zu image%s cannot be read\n", s->bad, s->bad == 1 ? "" : "s");
    if (info->ignored) printf("  %zu other file%s\n", info->ignored, info->ignored == 1 ? "" : "s");
}

static int add_json(cJSON *root, const char *split, const dataset_info *info, const survey *s)
{
    cJSON *one = cJSON_AddObjectToObject(root, split), *names, *counts;
    const double rows[] = {(double)s->rows[0], (double)s->rows[1]};
    const double cols[] = {(double)s->cols[0], (double)s->cols[1]};
    int good =
        one && cJSON_AddNumberToObject(one, "images", (double)s->images)
        && cJSON_AddNumberToObject(one, "bad", (double)s->bad)
        && cJSON_AddNumberToObject(one, "other_files", (double)info->ignored)
        && cJSON_AddStringToObject(one, "labels", info->labels == LABEL_BINARY ? "binary" : "class")
        && cJSON_AddNumberToObject(one, "channels", info->channels)
        && json_add(one, "rows", cJSON_CreateDoubleArray(rows, 2))
        && json_add(one, "cols", cJSON_CreateDoubleArray(cols, 2))
        && json_add(one, "mean", cJSON_CreateDoubleArray(s->mean, info->channels))
        && json_add(one, "std", cJSON_CreateDoubleArray(s->std, info->channels))
        && (names = cJSON_AddArrayToObject(one, "classes"))
        && (counts = cJSON_AddArrayToObject(one, "images_of_class"));
    for (int c = 0; good && c < s->label_count; c++)
        good = json_add(names, NULL, cJSON_CreateString(info->label_names[c]))
               && json_add(counts, NULL, cJSON_CreateNumber((double)s->of_label[c]));
    return good;
}

static ssm2d_status check_split(ssm2d_context *context, const values *o, dataset_split split,
                                cJSON *root, size_t *bad, ssm2d_error *error)
{
    dataset *d;
    survey s;
    char what[64];
    ssm2d_status status = dataset_open(context, o->data, split, &d, error);
    if (status) return status;
    const dataset_info *info = dataset_about(d);
    snprintf(what, sizeof what, "ssm2d data check: %s image", split_names[split]);
    view v = {progress_start(what, info->count), *bad};
    const survey_hooks hooks = {&v, show_progress, print_bad};
    report_ignored("data check", info->ignored, info->first_ignored);
    status = survey_all(d, (size_t)o->max_pixels, &hooks, &s, error);
    progress_end(&v.progress);
    if (!status && !root) print_text(o, split_names[split], info, &s);
    if (!status && root && !add_json(root, split_names[split], info, &s))
        status = fail_memory(error, "result");
    *bad = v.bad;
    fflush(stdout);
    mem_free(context, s.of_label);
    dataset_close(d);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    int splits = 0;
    size_t bad = 0;
    cJSON *root = NULL;
    ssm2d_status status = dataset_splits(o->data, &splits, error);
    if (!status && !splits)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no images", text_path(o->data));
    if (!status && o->json && !(root = cJSON_CreateObject())) status = fail_memory(error, "result");
    for (int split = 0; split <= DATASET_TEST && !status; split++)
        if (splits & 1 << split)
            status = check_split(context, o, (dataset_split)split, root, &bad, error);
    if (!status && root)
        status = result_print(root, 1, JSON_INDENTED, error);
    else
        cJSON_Delete(root);
    if (!status && bad)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%zu image%s cannot be read", bad,
                    bad == 1 ? "" : "s");
    return status;
}

static const char about[] =
    "Decodes all images of a data set completely, and prints the number of images of each label in "
    "each split, their sizes, and the mean and standard deviation of all pixels. Unreadable images "
    "are listed on standard error, and the exit code is then 1.";

const command command_data_check = {.name = "data check",
                                    .summary = "count and verify the images of a data set",
                                    .about = about,
                                    .options = options,
                                    .run = run};
