#include "train/run_receptive_field.h"

#include "core/context.h"
#include "core/status.h"
#include "data/augment.h"
#include "data/picture.h"
#include "io/text.h"
#include "train/run_images.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHARES = 3 };

static const double shares[SHARES] = {0.5, 0.9, 0.99};

typedef struct job {
    ssm2d_context *context;
    const run_receptive_field_request *request;
    augment *augment;
    receptive_field *r;
    float *image;
    double *radii;             /* [SHARES][max_images]: of each image */
    size_t images, max_images; /* used so far, and at most */
} job;

/* ---- quartiles ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double share)
{
    const double place = share * (double)(count - 1);
    const size_t below = (size_t)floor(place);
    const double rest = place - (double)below;
    return rest > 0 ? (1 - rest) * sorted[below] + rest * sorted[below + 1] : sorted[below];
}

quartiles quartiles_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return (quartiles){quantile(values, count, 0.25), quantile(values, count, 0.5),
                       quantile(values, count, 0.75)};
}

const char *quartiles_text(quartiles radius, size_t images, char text[QUARTILES_TEXT])
{
    if (images > 1)
        snprintf(text, QUARTILES_TEXT, "%.3g (quartiles %.3g and %.3g)", radius.median, radius.low,
                 radius.high);
    else
        snprintf(text, QUARTILES_TEXT, "%.3g", radius.median);
    return text;
}

/* ---- images ---------------------------------------------------------------------------------- */

static int is_file(const char *path)
{
    struct stat about;
    return !stat(path, &about) && !S_ISDIR(about.st_mode);
}

static size_t max_pixels(const job *j)
{
    return (size_t)j->request->m->settings.options.max_pixels;
}

static ssm2d_status add_image(job *j, const char *name, ssm2d_error *error)
{
    augment_end(j->augment, j->image);
    if (!receptive_field_add(j->r, j->image))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: its derivatives on %s are not finite",
                    text_path(j->request->folder), text_path(name));
    for (size_t i = 0; i < SHARES; i++)
        j->radii[i * j->max_images + j->images] = receptive_field_radius(j->r, shares[i]);
    j->images++;
    return SSM2D_OK;
}

static ssm2d_status add_file(job *j, ssm2d_error *error)
{
    const char *path = j->request->images;
    augment_begin(j->augment, 0, 0);
    const image_read_options options = {.max_pixels = max_pixels(j)};
    const ssm2d_status status = picture_read(j->context, path, &options, augment_resize(j->augment),
                                             augment_pixels(j->augment), error);
    return status ? status : add_image(j, path, error);
}

/* Takes images spread over the whole data set, because many data sets are sorted by class. */
static ssm2d_status add_dataset(job *j, ssm2d_error *error)
{
    const run_receptive_field_request *q = j->request;
    const char *where = strcmp(q->images, "test") ? q->images : NULL; /* NULL: data of the run */
    const int skips = q->m->settings.options.bad_images != TRAIN_BAD_STOP;
    dataset *data;
    dataset_split split;
    ssm2d_status status = run_images_data(j->context, q->folder, q->m, where, &data, &split, error);
    if (status) return status;
    const size_t all = dataset_about(data)->count, count = q->count < all ? q->count : all;
    for (size_t i = 0; i < count && !status; i++) {
        const size_t image = i * all / count;
        augment_begin(j->augment, 0, image);
        status = dataset_fetch(data, image, augment_resize(j->augment), augment_pixels(j->augment),
                               error);
        const int is_skipped = skips && status && status != SSM2D_ERROR_MEMORY;
        if (!status) status = add_image(j, where ? where : q->m->settings.options.data, error);
        if (is_skipped) status = SSM2D_OK;
        if (q->progress) q->progress(q->user, i + 1, count);
    }
    dataset_close(data);
    if (!status && !j->images)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: none of %zu images can be read",
                      text_path(q->folder), count);
    return status;
}

ssm2d_status run_receptive_field_compute(ssm2d_context *context,
                                         const run_receptive_field_request *q,
                                         run_receptive_field *field, ssm2d_error *error)
{
    const model_config *c = &q->m->settings.model;
    const size_t rows = (size_t)c->image[0], cols = (size_t)c->image[1];
    const augment_setup setup = {.options = &q->m->settings.augment,
                                 .when = AUGMENT_EVALUATION,
                                 .norm = q->m->data.norm,
                                 .rows = rows,
                                 .cols = cols,
                                 .channels = c->channels};
    job j = {.context = context, .request = q, .max_images = q->count ? q->count : 1};
    *field = (run_receptive_field){.rows = c->image[0], .cols = c->image[1]};
    ssm2d_status status =
        receptive_field_create(context, c, q->m->weights, q->m->params, q->block, &j.r, error);
    if (!status) status = augment_create(context, &setup, &j.augment, error);
    if (status) goto done;
    j.image = mem_alloc(context, rows * cols * (size_t)c->channels * sizeof *j.image);
    field->values = mem_alloc(context, rows * cols * sizeof *field->values);
    j.radii = mem_alloc(context, SHARES * j.max_images * sizeof *j.radii);
    if (!j.image || !field->values || !j.radii) {
        status = fail_memory(error, "receptive field");
        goto done;
    }
    status = strcmp(q->images, "test") && is_file(q->images) ? add_file(&j, error)
                                                             : add_dataset(&j, error);
    if (status) goto done;
    receptive_field_get(j.r, field->values);
    field->images = j.images;
    field->centre = receptive_field_centre(j.r);
    for (size_t i = 0; i < SHARES; i++)
        field->radius[i] = quartiles_of(j.radii + i * j.max_images, j.images);
done:
    mem_free(context, j.image);
    mem_free(context, j.radii);
    augment_destroy(j.augment);
    receptive_field_destroy(j.r);
    return status;
}

void run_receptive_field_destroy(const ssm2d_context *context, run_receptive_field *field)
{
    mem_free(context, field->values);
    *field = (run_receptive_field){0};
}
