#include "train/metrics.h"

#include "core/context.h"
#include "core/status.h"
#include "draw/curves.h"
#include "io/file.h"
#include "io/json.h"
#include "io/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 30 };

struct metrics {
    const ssm2d_context *context;
    const task_metric *what; /* the task's first */
    char *path;
    FILE *stream;
    metric *lines;
    size_t count, capacity;
};

static ssm2d_status keep(metrics *m, const metric *line, ssm2d_error *error)
{
    metric *lines = mem_grow(m->context, m->lines, sizeof *lines, m->count, 1, &m->capacity);
    if (!lines)
        return fail_memory(error, "%s: %zu lines of metrics", text_path(m->path), m->count + 1);
    m->lines = lines;
    m->lines[m->count++] = *line;
    return SSM2D_OK;
}

/* ---- reading the file of a run that is resumed ----------------------------------------------- */

static double number(const cJSON *line, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

/* Whether the line has a step count that is exact in a double. */
static int get_step(const cJSON *line, long *step)
{
    const double max = 9007199254740992.; /* 2^53 */
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(line, "step");
    if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0 && value->valuedouble <= max)) return 0;
    *step = (long)value->valuedouble;
    return 1;
}

/* Copies a JSON array of numbers to out; other items, such as null, become NaN. */
static void copy_numbers(const cJSON *list, double *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list) *out++ = cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* Copies the values per block to memory owned by the line, which metrics_close frees. Missing lists
 * and lists of different lengths mean no blocks. */
static ssm2d_status parse_blocks(const metrics *m, const cJSON *root, metric *line,
                                 ssm2d_error *error)
{
    const cJSON *norms = cJSON_GetObjectItemCaseSensitive(root, "mixer_norms"),
                *gains = cJSON_GetObjectItemCaseSensitive(root, "kernel_gains");
    const int blocks = cJSON_IsArray(norms) ? cJSON_GetArraySize(norms) : 0;
    if (!blocks || !cJSON_IsArray(gains) || cJSON_GetArraySize(gains) != blocks) return SSM2D_OK;
    double *values = mem_alloc(m->context, 2 * (size_t)blocks * sizeof *values);
    if (!values) return fail_memory(error, "%s: values of %d blocks", text_path(m->path), blocks);
    copy_numbers(norms, values);
    copy_numbers(gains, values + blocks);
    line->blocks = blocks;
    line->mixer_norms = values;
    line->kernel_gains = values + blocks;
    return SSM2D_OK;
}

/* A key in the line of an epoch: "test_loss", or with validation images "val_loss". */
static const char *split_key(int validation, const char *key, char text[64])
{
    snprintf(text, 64, "%s_%s", validation ? "val" : "test", key);
    return text;
}

/* Parses one line. *known is 0 if it is not a line of metrics: a run that was killed may leave an
 * incomplete one. Fails only when out of memory. */
static ssm2d_status parse(const metrics *m, const char *text, size_t size, int with_blocks,
                          metric *line, int *known, ssm2d_error *error)
{
    cJSON *root = NULL;
    *known = 0;
    ssm2d_status status = json_parse(m->path, text, size, &root, error);
    if (status) return status == SSM2D_ERROR_MEMORY ? status : SSM2D_OK;
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(root, "kind");
    long step = 0;
    *known = cJSON_IsString(kind) && get_step(root, &step);
    const int validation = cJSON_HasObjectItem(root, "val_loss");
    char test_loss[64], test_score[64];
    if (*known)
        *line =
            (metric){.is_epoch = !strcmp(kind->valuestring, "epoch"),
                     .step = step,
                     .epoch = number(root, "epoch"),
                     .loss = number(root, "loss"),
                     .lr = number(root, "lr"),
                     .images_per_s = number(root, "images_per_s"),
                     .wait = number(root, "wait"),
                     .norm = number(root, "norm"),
                     .score = number(root, m->what->key),
                     .test_loss = number(root, split_key(validation, "loss", test_loss)),
                     .test_score = number(root, split_key(validation, m->what->key, test_score)),
                     .validation = validation,
                     .seconds = number(root, "seconds")};
    if (*known && with_blocks) status = parse_blocks(m, root, line, error);
    cJSON_Delete(root);
    return status;
}

/* Keeps the lines up to the given step and epoch, and rewrites the file without the others. */
static ssm2d_status restore(metrics *m, long step, long epochs, ssm2d_error *error)
{
    char *text = NULL;
    size_t size;
    atomic_file file = {0};
    if (access(m->path, F_OK)) return SSM2D_OK; /* it was removed: continue without old lines */
    ssm2d_error why;
    ssm2d_status status = file_read_regular(m->context, m->path, MAX_FILE, &text, &size, &why);
    if (status)
        return fail(error, status, "%.300s; remove it to continue without its lines", why.line);
    status = atomic_open(m->context, m->path, &file, error);
    for (size_t at = 0, length; !status && at < size; at += length + 1) {
        metric line;
        int known;
        length = strcspn(text + at, "\n");
        if (text[at + length] != '\n') continue;
        status = parse(m, text + at, length, 0, &line, &known, error);
        if (status || !known) continue;
        if (line.step > step || (line.is_epoch && line.epoch > (double)epochs)) continue;
        status = keep(m, &line, error);
        if (!status) status = atomic_write(&file, text + at, length + 1, error);
    }
    status = atomic_end(&file, status, error);
    mem_free(m->context, text);
    return status;
}

static ssm2d_status create(const ssm2d_context *context, const char *path, const task *t,
                           metrics **out, ssm2d_error *error)
{
    metrics *m = *out = mem_alloc(context, sizeof *m + strlen(path) + 1);
    if (!m) return fail_memory(error, "%s: metrics", text_path(path));
    m->context = context;
    m->what = &t->metrics[0];
    m->path = (char *)(m + 1);
    memcpy(m->path, path, strlen(path));
    return SSM2D_OK;
}

ssm2d_status metrics_read(const ssm2d_context *context, const char *path, const task *t,
                          metrics **out, ssm2d_error *error)
{
    char *text = NULL;
    size_t size = 0;
    metrics *m;
    ssm2d_status status = create(context, path, t, &m, error);
    *out = NULL;
    if (!status) status = file_read_regular(context, path, MAX_FILE, &text, &size, error);
    for (size_t at = 0, length; !status && at < size; at += length + 1) {
        metric line;
        int known;
        length = strcspn(text + at, "\n");
        status = parse(m, text + at, length, 1, &line, &known, error);
        if (status || !known) continue;
        if ((status = keep(m, &line, error))) mem_free(context, (void *)line.mixer_norms);
    }
    mem_free(context, text);
    if (status)
        metrics_close(m);
    else
        *out = m;
    return status;
}

ssm2d_status metrics_open(const ssm2d_context *context, const char *path, const task *t, long step,
                          long epochs, metrics **out, ssm2d_error *error)
{
    metrics *m;
    *out = NULL;
    ssm2d_status status = create(context, path, t, &m, error);
    if (status) return status;
    if (step) status = restore(m, step, epochs, error);
    if (!status) status = file_append(path, !step, &m->stream, error);
    if (status)
        metrics_close(m);
    else
        *out = m;
    return status;
}

const metric *metrics_line(const metrics *m, size_t i)
{
    return i < m->count ? &m->lines[i] : NULL;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

ssm2d_status metrics_speed(const metrics *m, double *images_per_s, ssm2d_error *error)
{
    size_t count = 0;
    double *speeds = mem_alloc(m->context, (m->count + 1) * sizeof *speeds);
    *images_per_s = NAN;
    if (!speeds)
        return fail_memory(error, "%s: %zu lines of metrics", text_path(m->path), m->count);
    for (size_t i = 0; i < m->count; i++)
        if (m->lines[i].is_epoch && m->lines[i].images_per_s > 0)
            speeds[count++] = m->lines[i].images_per_s;
    qsort(speeds, count, sizeof *speeds, ascending);
    if (count) *images_per_s = (speeds[(count - 1) / 2] + speeds[count / 2]) / 2;
    mem_free(m->context, speeds);
    return SSM2D_OK;
}

/* ---- adding lines ---------------------------------------------------------------------------- */

static ssm2d_status fail_write(const metrics *m, ssm2d_error *error)
{
    return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be written: %s", text_path(m->path),
                strerror(errno));
}

static void write_list(FILE *to, const char *name, int count, const double *values)
{
    fprintf(to, ", \"%s\": [", name);
    for (int i = 0; i < count; i++) {
        if (i) fputs(", ", to);
        if (isfinite(values[i])) /* JSON has no other numbers */
            fprintf(to, "%.4g", values[i]);
        else
            fputs("null", to);
    }
    fputc(']', to);
}

ssm2d_status metrics_add(metrics *m, const metric *l, ssm2d_error *error)
{
    metric kept = *l;
    char test_loss[64], test_score[64];
    kept.blocks = 0;
    kept.mixer_norms = kept.kernel_gains = NULL;
    ssm2d_status status = keep(m, &kept, error);
    if (status) return status;
    errno = 0;
    if (l->is_epoch)
        fprintf(m->stream,
                "{\"kind\": \"epoch\", \"step\": %ld, \"epoch\": %.0f, \"loss\": %.6g, "
                "\"%s\": %.6g, \"%s\": %.6g, \"%s\": %.6g, "
                "\"lr\": %.6g, \"images_per_s\": %.1f, \"wait\": %.4f, \"seconds\": %.2f}\n",
                l->step, l->epoch, l->loss, m->what->key, l->score,
                split_key(l->validation, "loss", test_loss), l->test_loss,
                split_key(l->validation, m->what->key, test_score), l->test_score, l->lr,
                l->images_per_s, l->wait, l->seconds);
    else {
        fprintf(m->stream,
                "{\"kind\": \"step\", \"step\": %ld, \"epoch\": %.5f, \"loss\": %.6g, "
                "\"lr\": %.6g, \"norm\": %.6g",
                l->step, l->epoch, l->loss, l->lr, l->norm);
        if (l->blocks) {
            write_list(m->stream, "mixer_norms", l->blocks, l->mixer_norms);
            write_list(m->stream, "kernel_gains", l->blocks, l->kernel_gains);
        }
        fprintf(m->stream, ", \"images_per_s\": %.1f, \"wait\": %.4f}\n", l->images_per_s, l->wait);
    }
    return fflush(m->stream) || ferror(m->stream) ? fail_write(m, error) : SSM2D_OK;
}

ssm2d_status metrics_sync(metrics *m, ssm2d_error *error)
{
    return fsync(fileno(m->stream)) && errno != EINVAL && errno != EROFS ? fail_write(m, error)
                                                                         : SSM2D_OK;
}

void metrics_close(metrics *m)
{
    if (!m) return;
    if (m->stream) fclose(m->stream);
    for (size_t i = 0; i < m->count; i++) mem_free(m->context, (void *)m->lines[i].mixer_norms);
    mem_free(m->context, m->lines);
    mem_free(m->context, m);
}

/* ---- picture --------------------------------------------------------------------------------- */

enum { X_STEP, LOSS_STEP, X_EPOCH, LOSS_EPOCH, SCORE, TEST_LOSS, TEST_SCORE, COLUMNS };

ssm2d_status metrics_draw(const metrics *m, const char *path, const char *title, const char *note,
                          long epochs, ssm2d_error *error)
{
    static const colour blue = {0.12, 0.42, 0.74}, orange = {0.85, 0.37, 0.05};
    size_t rows = m->count ? m->count : 1;
    double *column[COLUMNS], *table = mem_alloc(m->context, COLUMNS * rows * sizeof *table);
    int steps = 0, ends = 0, validation = 0;
    char label[TASK_TITLE];
    if (!table) return fail_memory(error, "drawing %s", text_path(path));
    for (size_t i = 0; i < COLUMNS; i++) column[i] = table + i * rows;
    for (size_t i = 0; i < m->count; i++) {
        const metric *l = &m->lines[i];
        if (l->is_epoch) {
            validation = l->validation;
            column[X_EPOCH][ends] = l->epoch;
            column[LOSS_EPOCH][ends] = l->loss;
            column[SCORE][ends] = m->what->scale * l->score;
            column[TEST_LOSS][ends] = l->test_loss;
            column[TEST_SCORE][ends++] = m->what->scale * l->test_score;
        } else {
            column[X_STEP][steps] = l->epoch;
            column[LOSS_STEP][steps++] = l->loss;
        }
    }
    const char *other = validation ? "validation" : "test";
    /* with fewer lines of steps than epochs, draw the means of the epochs instead */
    const int by_step = steps > 1 && steps >= ends;
    const curve losses[] = {
        by_step ? (curve){"training", column[X_STEP], column[LOSS_STEP], steps, blue, 0, 0}
                : (curve){"training", column[X_EPOCH], column[LOSS_EPOCH], ends, blue, 1, 0},
        {other, column[X_EPOCH], column[TEST_LOSS], ends, orange, 1, 0}};
    const curve scores[] = {{"training", column[X_EPOCH], column[SCORE], ends, blue, 1, 0},
                            {other, column[X_EPOCH], column[TEST_SCORE], ends, orange, 1, 0}};
    const curve_panel panels[] = {
        {.y_label = "loss", .curves = losses, .count = 2},
        {.y_label = metric_axis(m->what, label),
         .curves = scores,
         .count = 2,
         .is_percent = !strcmp(m->what->unit, "%"),
         .legend_below = 1},
    };
    const curve_figure figure = {.title = title,
                                 .note = note,
                                 .x_label = "epoch",
                                 .panels = panels,
                                 .count = 2,
                                 .x_high = (double)epochs};
    ssm2d_status status = curves_draw(m->context, path, &figure, error);
    mem_free(m->context, table);
    return status;
}
