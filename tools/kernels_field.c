#include "kernels_field.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data/augment.h"
#include "data/picture.h"
#include "draw/heatmap.h"
#include "io/text.h"
#include "models/receptive_field.h"
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TITLE = 160 };

/* One run's field. */
typedef struct job {
    ssm2d_context *context;
    const kernels_field *what;
    const char *folder;
    run_model m;
    augment *augment;
    receptive_field *r;
    float *image;
    size_t images; /* that were taken */
} job;

static int is_file(const char *path)
{
    struct stat about;
    return !stat(path, &about) && !S_ISDIR(about.st_mode);
}

static ssm2d_status add_image(job *j, const char *name, ssm2d_error *error)
{
    augment_end(j->augment, j->image);
    j->images++;
    return receptive_field_add(j->r, j->image)
               ? SSM2D_OK
               : fail(error, SSM2D_ERROR_ARGUMENT, "%s: its derivatives on %s are not finite",
                      text_path(j->folder), text_path(name));
}

static ssm2d_status add_file(job *j, ssm2d_error *error)
{
    const char *path = j->what->images;
    augment_begin(j->augment, 0, 0);
    const ssm2d_status status =
        picture_read(j->context, path, (size_t)j->m.settings.options.max_pixels,
                     augment_resize(j->augment), augment_pixels(j->augment), error);
    return status ? status : add_image(j, path, error);
}

/* Images from all over the data set, since many are sorted by class. */
static ssm2d_status add_dataset(job *j, ssm2d_error *error)
{
    char where[SSM2D_TEXT];
    dataset *data = NULL;
    if (!strcmp(j->what->images, "test"))
        run_find_data(j->folder, j->m.settings.options.data, where);
    else
        snprintf(where, sizeof where, "%s", j->what->images);
    ssm2d_status status = dataset_open(j->context, where, DATASET_TEST, &data, error);
    if (status) return status;
    dataset_limit_pixels(data, (size_t)j->m.settings.options.max_pixels);
    const size_t all = dataset_about(data)->count;
    const size_t count = (size_t)j->what->count < all ? (size_t)j->what->count : all;
    progress p = progress_start("ssm2d kernels: image", count);
    for (size_t i = 0; i < count && !status; i++) {
        const size_t image = i * all / count;
        augment_begin(j->augment, 0, image);
        status = dataset_fetch(data, image, augment_resize(j->augment), augment_pixels(j->augment),
                               error);
        if (!status) status = add_image(j, where, error);
        progress_show(&p, i + 1);
    }
    progress_end(&p);
    dataset_close(data);
    return status;
}

/* Fills in `field`, which the caller frees, with the sizes of `m`. */
static ssm2d_status compute(job *j, double **field, ssm2d_error *error)
{
    const model_config *c = &j->m.settings.model;
    const size_t rows = (size_t)c->image[0], cols = (size_t)c->image[1];
    const augment_setup setup = {.options = &j->m.settings.augment,
                                 .when = AUGMENT_EVALUATION,
                                 .norm = j->m.data.norm,
                                 .rows = rows,
                                 .cols = cols,
                                 .channels = c->channels};
    ssm2d_status status = receptive_field_create(j->context, c, j->m.weights, j->m.params,
                                                 j->what->block, &j->r, error);
    if (!status) status = augment_create(j->context, &setup, &j->augment, error);
    if (status) return status;
    j->image = mem_alloc(j->context, rows * cols * (size_t)c->channels * sizeof *j->image);
    *field = mem_alloc(j->context, rows * cols * sizeof **field);
    if (!j->image || !*field)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for a receptive field");
    status = is_file(j->what->images) ? add_file(j, error) : add_dataset(j, error);
    if (!status) receptive_field_get(j->r, *field);
    return status;
}

/* What a run gives to the figure. */
typedef struct field {
    double *values; /* [rows][cols] */
    int rows, cols;
    size_t images;
    char title[TITLE];
} field;

static ssm2d_status field_of(ssm2d_context *context, const kernels_field *what, const char *folder,
                             field *out, ssm2d_error *error)
{
    job j = {.context = context, .what = what, .folder = folder};
    char mixed[TITLE];
    ssm2d_status status = run_model_open(context, folder, what->weights, NULL, &j.m, error);
    if (status) return status;
    const model_config *c = &j.m.settings.model;
    status = compute(&j, &out->values, error);
    if (!status) {
        out->rows = c->image[0];
        out->cols = c->image[1];
        out->images = j.images;
        mixer_config_text(&c->mixer, mixed, sizeof mixed);
        snprintf(out->title, sizeof out->title, "%s, %s", c->model->name, c->mixer.kind->name);
        printf("%s: %s, %s: half of the derivatives' squares are within %d pixels of the centre "
               "token, "
               "90 %% within %d, 99 %% within %d\n",
               text_path(folder), c->model->name, mixed, receptive_field_radius(j.r, 0.5),
               receptive_field_radius(j.r, 0.9), receptive_field_radius(j.r, 0.99));
    }
    mem_free(context, j.image);
    augment_destroy(j.augment);
    receptive_field_destroy(j.r);
    run_model_close(context, &j.m);
    return status;
}

static ssm2d_status draw(ssm2d_context *context, const kernels_field *what, const field *fields,
                         ssm2d_error *error)
{
    const int count = what->runs.count;
    char note[512];
    static const char *const no_row[] = {""};
    heat_panel *panels = mem_alloc(context, (size_t)count * sizeof *panels);
    const char **titles = mem_alloc(context, (size_t)count * sizeof *titles);
    ssm2d_status status =
        panels && titles ? SSM2D_OK : fail(error, SSM2D_ERROR_MEMORY, "no memory for a picture");
    for (int i = 0; i < count && !status; i++) {
        titles[i] = what->titles ? what->titles[i] : fields[i].title;
        panels[i] = (heat_panel){.values = fields[i].values,
                                 .rows = fields[i].rows,
                                 .cols = fields[i].cols,
                                 .map = COLOUR_SEQUENTIAL,
                                 .logarithmic = 1,
                                 .row_label = "row",
                                 .col_label = "column"};
        if (fields[i].rows != fields[0].rows || fields[i].cols != fields[0].cols)
            status = fail(error, SSM2D_ERROR_ARGUMENT,
                          "%s: its images are %d x %d, those of %s %d x %d: draw them one by one",
                          text_path(what->runs.words[i]), fields[i].rows, fields[i].cols,
                          text_path(what->runs.words[0]), fields[0].rows, fields[0].cols);
    }
    snprintf(note, sizeof note,
             "Root mean square of the derivatives of the centre token's output by each pixel, over "
             "%zu image%s, as a share of the largest.",
             fields[0].images, fields[0].images == 1 ? "" : "s");
    const heat_figure figure = {.title = what->no_title ? NULL : "Effective receptive fields",
                                .note = what->no_title ? NULL : note,
                                .grid_rows = 1,
                                .grid_cols = count,
                                .panels = panels,
                                .row_titles = no_row,
                                .col_titles = titles,
                                .shared_scale = 1};
    if (!status) status = heatmap_draw(context, what->output, &figure, error);
    mem_free(context, panels);
    mem_free(context, titles);
    return status;
}

ssm2d_status kernels_field_draw(ssm2d_context *context, const kernels_field *what,
                                ssm2d_error *error)
{
    const int count = what->runs.count;
    field *fields = mem_alloc(context, (size_t)count * sizeof *fields);
    if (!fields) return fail(error, SSM2D_ERROR_MEMORY, "no memory for receptive fields");
    memset(fields, 0, (size_t)count * sizeof *fields);
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < count && !status; i++)
        status = field_of(context, what, what->runs.words[i], &fields[i], error);
    if (!status) status = draw(context, what, fields, error);
    for (int i = 0; i < count; i++) mem_free(context, fields[i].values);
    mem_free(context, fields);
    return status;
}
