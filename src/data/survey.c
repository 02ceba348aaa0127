#include "data/survey.h"

#include "core/context.h"
#include "core/status.h"
#include "io/image.h"

#include <limits.h>
#include <math.h>

/* Sums per channel. Squares of up to 2^48 pixels fit. */
typedef struct sums {
    uint64_t pixels, sum[3], squares[3];
} sums;

static void add_row(void *user, const image_info *info, const uint8_t *row)
{
    sums *s = user;
    const int channels = info->channels;
    uint64_t sum[3] = {0}, squares[3] = {0};
    for (size_t i = 0; i < info->cols; i++)
        for (int c = 0; c < channels; c++) {
            const uint64_t value = row[i * (size_t)channels + (size_t)c];
            sum[c] += value;
            squares[c] += value * value;
        }
    for (int c = 0; c < 3; c++) { /* grey counts for all three */
        s->sum[c] += sum[channels == 3 ? c : 0];
        s->squares[c] += squares[channels == 3 ? c : 0];
    }
    s->pixels += info->cols;
}

static void add_sums(sums *to, const sums *s)
{
    to->pixels += s->pixels;
    for (int c = 0; c < 3; c++) {
        to->sum[c] += s->sum[c];
        to->squares[c] += s->squares[c];
    }
}

typedef struct surveyor {
    const dataset *data;
    size_t max_pixels;
    resize *whole;   /* for images that are not files: keeps their size */
    uint8_t *pixels; /* of such an image */
} surveyor;

static ssm2d_status read_image(const surveyor *v, size_t i, image_info *info, sums *s,
                               ssm2d_error *error)
{
    char path[PATH_MAX];
    const dataset_info *about = dataset_about(v->data);
    const image_read_options how = {.max_pixels = v->max_pixels, .regular = 1};
    if (dataset_file(v->data, i, path, sizeof path))
        return image_read_rows(dataset_context(v->data), path, &how, info, add_row, s, error);
    *info = (image_info){about->rows, about->cols, about->channels, 8};
    ssm2d_status status = dataset_fetch(v->data, i, v->whole, v->pixels, error);
    for (size_t r = 0; r < about->rows && !status; r++)
        add_row(s, info, v->pixels + r * image_row_bytes(info));
    return status;
}

static void count_labels(const dataset *d, size_t i, float *target, survey *out)
{
    dataset_target(d, i, target);
    for (int c = 0; c < out->label_count; c++) out->of_label[c] += target[c] > .5f;
}

static void note_size(survey *out, const image_info *info)
{
    const int first = out->images == out->bad + 1;
    if (first || info->rows < out->rows[0]) out->rows[0] = info->rows;
    if (first || info->cols < out->cols[0]) out->cols[0] = info->cols;
    if (info->rows > out->rows[1]) out->rows[1] = info->rows;
    if (info->cols > out->cols[1]) out->cols[1] = info->cols;
}

ssm2d_status survey_all(const dataset *d, size_t max_pixels, const survey_hooks *hooks, survey *out,
                        ssm2d_error *error)
{
    const dataset_info *about = dataset_about(d);
    const ssm2d_context *context = dataset_context(d);
    surveyor v = {.data = d, .max_pixels = max_pixels};
    sums all = {0};
    ssm2d_status status = SSM2D_OK;
    *out = (survey){.label_count = about->label_count};
    out->of_label = mem_alloc(context, (size_t)about->label_count * sizeof *out->of_label);
    float *target = mem_alloc(context, (size_t)about->label_count * sizeof *target);
    if (about->rows) {
        v.pixels = mem_alloc(context, about->rows * about->cols * (size_t)about->channels);
        status = resize_create(context, about->rows, about->cols, about->channels, &v.whole, error);
    }
    if (!status && (!out->of_label || !target || (about->rows && !v.pixels)))
        status = fail_memory(error, "reading the images");
    for (size_t i = 0; i < about->count && !status; i++) {
        sums one = {0};
        image_info info;
        ssm2d_error why;
        const ssm2d_status read = read_image(&v, i, &info, &one, &why);
        if (read == SSM2D_ERROR_MEMORY) status = fail(error, read, "%s", why.line);
        if (status) break;
        out->images++;
        count_labels(d, i, target, out);
        if (read) {
            out->bad++;
            if (hooks->bad) hooks->bad(hooks->user, i, &why);
        } else {
            add_sums(&all, &one);
            note_size(out, &info);
            out->grey += info.channels == 1 && about->channels == 3;
        }
        if (hooks->progress) hooks->progress(hooks->user, i + 1);
    }
    for (int c = 0; c < 3 && all.pixels; c++) {
        const double n = (double)all.pixels, mean = (double)all.sum[c] / n;
        out->mean[c] = mean / 255;
        out->std[c] = sqrt(fmax(0, (double)all.squares[c] / n - mean * mean)) / 255;
    }
    resize_destroy(v.whole);
    mem_free(context, v.pixels);
    mem_free(context, target);
    return status;
}
