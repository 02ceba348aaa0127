/* ssm2d data show - a contact sheet: images of a data set with their labels, as they are or as
 * training sees them. */
#include "core/arith.h"
#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"
#include "data.h"
#include "data/keyed_rng.h"
#include "data/loader.h"
#include "draw/canvas.h"
#include "draw/contact_sheet.h"
#include "io/text.h"
#include "tools/runs/run_weights.h"
#include "tools/runs/train_values.h"
#include "tools/written.h"
#include "train/recipes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *data, *output, *split, *image_size, *recipe;
    word_list set;
    long count, columns, seed;
    int augment, no_title;
} values;

static const char *split_at(int i)
{
    static const char *const names[] = {"train", "val", "test", NULL}; /* as dataset_split */
    return names[i];
}

static const option options[] = {
    {"DATA", OPTION_STRING, offsetof(values, data),
     "a folder, or a name as for ssm2d train --data, such as cifar10:FOLDER", .positional = 1},
    {"output", OPTION_STRING, offsetof(values, output), "picture to write: .png, .svg or .pdf",
     .value = "FILE", .letter = 'o', .required = 1},
    {"split", OPTION_CHOICE, offsetof(values, split), "which images", .choice = split_at,
     .default_value = "train"},
    {"count", OPTION_INT, offsetof(values, count), "number of images, chosen at random", .low = 1,
     .high = 1000, .default_value = "40"},
    {"columns", OPTION_INT, offsetof(values, columns), "images in a row", .low = 1, .high = 100,
     .default_value = "8"},
    {"seed", OPTION_INT, offsetof(values, seed), "seed of the choice and of augmentation", .low = 0,
     .high = 2147483647, .default_value = "0"},
    {"image-size", OPTION_STRING, offsetof(values, image_size),
     "resize images to this side in pixels, or to ROWSxCOLS; when not given their own size, or 128 "
     "if it varies",
     .value = "SIZE"},
    {"augment", OPTION_FLAG, offsetof(values, augment),
     .help = "show images as training sees them, with the augmentations of --recipe and --set"},
    {"recipe", OPTION_CHOICE, offsetof(values, recipe),
     "augmentations of this recipe; small when neither this nor --set is given",
     .choice = recipe_name_at},
    {"set", OPTION_LIST, offsetof(values, set), "a setting of ssm2d train, such as flip=true",
     .value = "KEY=VALUE"},
    {"no-title", OPTION_FLAG, offsetof(values, no_title), .help = "leave the title out"},
    {0}};

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    int size[2];
    if (!o->augment && (o->recipe || o->set.count))
        return fail(error, SSM2D_ERROR_ARGUMENT, "--recipe and --set need --augment");
    ssm2d_status status = canvas_check(o->output, error);
    return status ? status : image_size_of(o->image_size, size, error);
}

/* Sets up augmentation from the recipe and the settings, as for a run on these data. */
static ssm2d_status read_settings(const values *o, train_settings *s, ssm2d_error *error)
{
    train_settings run;
    ssm2d_status status = train_settings_begin(&run, error);
    if (!status) status = train_settings_set(&run, "DATA", "data", o->data, error);
    if (status) return status;
    *s = run;
    const char *name = o->recipe ? o->recipe : o->augment && !o->set.count ? "small" : NULL;
    const recipe *r = name ? recipe_find(name, error) : NULL;
    if (name && !r) return SSM2D_ERROR_ARGUMENT;
    if (r) status = recipe_apply(r, &run, s, error);
    for (int i = 0; i < o->set.count && !status; i++) {
        char key[OPTION_KEY];
        const char *value;
        status = option_pair("--set", o->set.words[i], key, &value, error);
        if (!status) status = train_settings_set(s, "--set", key, value, error);
        if (!status && !augment_options_has(key))
            status =
                fail(error, SSM2D_ERROR_ARGUMENT,
                     "--set %s: is not an augmentation setting and has no effect here; --seed and "
                     "--image-size are options of their own",
                     key);
    }
    /* images keep their aspect ratio by default */
    if (!status && train_settings_is_open(s, "eval_crop"))
        status = augment_options_set(&s->augment, "eval_crop", "1", error);
    return status;
}

/* `count` images of the data set, in their order. */
static ssm2d_status choose_images(dataset *d, const values *o, size_t *count, dataset **out,
                                  ssm2d_error *error)
{
    const size_t all = dataset_about(d)->count;
    uint32_t index[1000];
    rng r = rng_seed((uint64_t)o->seed);
    *count = all < (size_t)o->count ? all : (size_t)o->count;
    for (size_t i = 0, n = 0; n < *count; i++) /* selection sampling */
        if (rng_below(&r, all - i) < *count - n) index[n++] = (uint32_t)i;
    return dataset_subset(d, index, *count, out, error);
}

typedef struct sheet {
    const dataset_info *info;
    const loader_options *options;
    loader_batch batch;
    uint8_t *pixels;
    char text[256];
} sheet;

/* Converts normalised pixels back to bytes. */
static const uint8_t *image_at(void *user, int i)
{
    sheet *s = user;
    const loader_options *o = s->options;
    const size_t plane = o->rows * o->cols, channels = (size_t)o->channels;
    const float *from = s->batch.images + (size_t)i * plane * channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t k = 0; k < plane; k++) {
            const float value = (from[c * plane + k] * o->norm.std[c] + o->norm.mean[c]) * 255;
            s->pixels[k * channels + c] = (uint8_t)lroundf(fminf(fmaxf(value, 0), 255));
        }
    return s->pixels;
}

/* The label with the k-th largest share, from 0; -1 if that share is 0. */
static int label_at(const float *target, int count, int k)
{
    int before = -1;
    for (int turn = 0; turn <= k; turn++) {
        int best = -1;
        for (int c = 0; c < count; c++) {
            const int later = before < 0 || target[c] < target[before]
                              || (c > before && !(target[c] > target[before]));
            if (later && target[c] > .005f && (best < 0 || target[c] > target[best])) best = c;
        }
        if ((before = best) < 0) break;
    }
    return before;
}

/* Line k is the class, with its share when images are mixed; with binary labels all attributes are
 * in one line. */
static const char *text_at(void *user, int i, int k)
{
    sheet *s = user;
    const float *target = s->batch.targets + row_major(i, s->info->label_count, 0);
    size_t used = 0;
    s->text[0] = 0;
    for (int c = 0; s->info->labels == LABEL_BINARY && !k && c < s->info->label_count; c++)
        if (target[c] > .5f && used < sizeof s->text)
            used += (size_t)snprintf(s->text + used, sizeof s->text - used, "%s%s",
                                     used ? ", " : "", s->info->label_names[c]);
    if (s->info->labels == LABEL_BINARY) return s->text;
    const int c = label_at(target, s->info->label_count, k);
    if (c >= 0 && target[c] > .995f)
        snprintf(s->text, sizeof s->text, "%s", s->info->label_names[c]);
    else if (c >= 0)
        snprintf(s->text, sizeof s->text, "%.0f %% %s", (double)(100 * target[c]),
                 s->info->label_names[c]);
    return s->text;
}

/* Whether a target has shares of two labels. */
static int is_mixed(const sheet *s)
{
    if (s->info->labels == LABEL_BINARY) return 0;
    for (size_t i = 0; i < s->batch.count; i++)
        if (label_at(s->batch.targets + i * (size_t)s->info->label_count, s->info->label_count, 1)
            >= 0)
            return 1;
    return 0;
}

static ssm2d_status draw(ssm2d_context *context, const values *o, const dataset *d, size_t count,
                         const train_settings *settings, ssm2d_error *error)
{
    int size[2];
    loader *l = NULL;
    sheet s = {.info = dataset_about(d)};
    loader_options lo = loader_options_default(d);
    char title[SSM2D_TEXT + 64];
    ssm2d_status status = image_size_of(o->image_size, size, error);
    if (size[0] || !lo.rows) {
        lo.rows = (size_t)(size[0] ? size[0] : 128);
        lo.cols = (size_t)(size[1] ? size[1] : 128);
    }
    lo.batch = count;
    lo.train = o->augment;
    lo.seed = (uint64_t)o->seed;
    lo.augment = settings->augment;
    lo.ahead = 1;
    s.options = &lo;
    s.pixels = mem_alloc(context, lo.rows * lo.cols * (size_t)lo.channels);
    if (!status && !s.pixels) status = fail_memory(error, "image");
    if (!status) status = loader_create(context, d, &lo, &l, error);
    if (!status) status = loader_next(l, &s.batch, error);
    const char *slash = strrchr(o->data, '/');
    snprintf(title, sizeof title, "%s, %s%s", slash && slash[1] ? slash + 1 : o->data, o->split,
             o->augment ? ", augmented" : "");
    const contact_sheet page = {.title = o->no_title ? NULL : title,
                                .count = (int)count,
                                .columns = (int)o->columns,
                                .rows = lo.rows,
                                .cols = lo.cols,
                                .channels = lo.channels,
                                .lines = !status && is_mixed(&s) ? 2 : 1,
                                .image = image_at,
                                .text = text_at,
                                .user = &s};
    if (!status) status = contact_sheet_draw(context, o->output, &page, error);
    loader_destroy(l);
    mem_free(context, s.pixels);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    dataset *all = NULL, *some = NULL;
    train_settings settings;
    size_t count = 0;
    int split = 0;
    while (strcmp(split_at(split), o->split)) split++;
    ssm2d_status status = read_settings(o, &settings, error);
    if (!status) status = dataset_open(context, o->data, (dataset_split)split, &all, error);
    if (!status) status = choose_images(all, o, &count, &some, error);
    if (!status) status = draw(context, o, some, count, &settings, error);
    if (!status) written_print(o->output, "%zu image%s", count, count == 1 ? "" : "s");
    dataset_close(some);
    dataset_close(all);
    return status;
}

static const char about[] =
    "Draws images of a data set with their labels below them, chosen at random. "
    "With --augment they are shown as training sees them; images mixed by Mixup or CutMix have "
    "both labels with their shares below them.";

const command command_data_show = {.name = "data show",
                                   .summary = "draw images of a data set with their labels",
                                   .about = about,
                                   .options = options,
                                   .check = check_values,
                                   .run = run};
