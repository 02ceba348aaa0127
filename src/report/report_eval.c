/* report_eval - evaluates a run, for the sections about what it gets right and wrong. */
#include "report/report_groups.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "report/report.h"
#include "train/run_images.h"

#include <math.h>
#include <string.h>

enum { MAX_SIDE = 96 }; /* of an embedded image; larger ones are reduced */

typedef struct job {
    const report *r;
    report_run *run;
    const run_model *m;
    double *scratch; /* [outputs] */
    int reduce;      /* factor by which the sides are reduced */
} job;

/* ---- images with a high loss ----------------------------------------------------------------- */

/* The mean of a square of pixels as a byte, without the normalisation. */
static uint8_t pixel_of(const job *j, const float *plane, int channel, int row, int col)
{
    const model_config *c = &j->m->settings.model;
    double sum = 0;
    for (int y = 0; y < j->reduce; y++)
        for (int x = 0; x < j->reduce; x++)
            sum += (double)plane[row_major(row * j->reduce + y, c->image[1], col * j->reduce + x)];
    const double value = sum / (j->reduce * j->reduce) * (double)j->m->data.norm.std[channel]
                         + (double)j->m->data.norm.mean[channel];
    return (uint8_t)lround(255 * fmin(fmax(value, 0), 1));
}

static void copy_pixels(const job *j, const float *pixels, wrong_image *to)
{
    const model_config *c = &j->m->settings.model;
    const size_t area = row_major(c->image[0], c->image[1], 0);
    for (int row = 0; row < to->rows; row++)
        for (int col = 0; col < to->cols; col++)
            for (int k = 0; k < c->channels; k++)
                to->pixels[row_major(row, to->cols, col) * (size_t)c->channels + (size_t)k] =
                    pixel_of(j, pixels + (size_t)k * area, k, row, col);
}

/* Keeps the image if its loss is among the highest; the earlier one of equals. */
static void take_image(void *user, const evaluated_image *image)
{
    job *j = user;
    report_evaluation *e = &j->run->evaluation;
    wrong_image *last = &e->wrong[REPORT_WRONG - 1], w;
    if (e->wrong_count == REPORT_WRONG && !(image->loss > last->loss)) return;
    w = e->wrong[e->wrong_count < REPORT_WRONG ? e->wrong_count : REPORT_WRONG - 1];
    w.loss = image->loss;
    w.index = image->index;
    const task_shape shape = task_shape_of(&j->m->settings.model);
    if (!j->m->data.task->mistake(j->m->model->loss, image->out, image->target, &shape, j->scratch,
                                  &w.what))
        return;
    copy_pixels(j, image->pixels, &w);
    int k = e->wrong_count < REPORT_WRONG ? e->wrong_count++ : REPORT_WRONG - 1;
    for (; k > 0 && e->wrong[k - 1].loss < w.loss; k--) e->wrong[k] = e->wrong[k - 1];
    e->wrong[k] = w;
}

static ssm2d_status reserve(const job *j, ssm2d_error *error)
{
    const model_config *c = &j->m->settings.model;
    report_evaluation *e = &j->run->evaluation;
    const int rows = c->image[0] / j->reduce, cols = c->image[1] / j->reduce;
    for (int i = 0; i < REPORT_WRONG; i++) {
        e->wrong[i] = (wrong_image){.rows = rows, .cols = cols};
        e->wrong[i].pixels =
            mem_alloc(j->r->context, (size_t)rows * (size_t)cols * (size_t)c->channels);
        if (!e->wrong[i].pixels) return fail_memory(error, "images");
    }
    return SSM2D_OK;
}

/* Notes the names of the images' files, if the data set has them. */
static ssm2d_status name_images(const job *j, const dataset *data, ssm2d_error *error)
{
    report_evaluation *e = &j->run->evaluation;
    for (int i = 0; i < e->wrong_count; i++) {
        wrong_image *w = &e->wrong[i];
        char path[RUN_PATH];
        if (!dataset_file(data, w->index, path, sizeof path)) continue;
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        w->file = mem_alloc(j->r->context, strlen(name) + 1);
        if (!w->file) return fail_memory(error, "names of images");
        strcpy(w->file, name);
    }
    return SSM2D_OK;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static void show_progress(void *user, size_t batch, size_t batches)
{
    const job *j = user;
    const report_hooks *hooks = &j->r->options->hooks;
    if (hooks->progress) hooks->progress(hooks->user, "evaluating", j->run->name, batch, batches);
}

static ssm2d_status run_model_on(job *j, run_images *images, ssm2d_error *error)
{
    ssm2d_context *context = j->r->context;
    const run_model *m = j->m;
    report_evaluation *e = &j->run->evaluation;
    const task *t = m->data.task;
    const int side = max_int(m->settings.model.image[0], m->settings.model.image[1]);
    ssm2d_session *session = NULL;
    ssm2d_error first;
    j->reduce = min_int(div_up(side, MAX_SIDE),
                        min_int(m->settings.model.image[0], m->settings.model.image[1]));
    j->scratch = mem_alloc(context, (size_t)m->data.outputs * sizeof *j->scratch);
    ssm2d_status status = j->scratch ? SSM2D_OK : fail_memory(error, "%d outputs", m->data.outputs);
    if (!status) status = reserve(j, error);
    if (!status) status = run_model_session(context, m, images->batch, &session, error);
    if (!status) {
        const evaluation_hooks hooks = {.user = j,
                                        .progress = show_progress,
                                        .detail = &e->detail,
                                        .image = t->mistake ? take_image : NULL};
        status = evaluate(session->evaluator, images->loader, t, m->model->loss, &hooks, &e->result,
                          error);
    }
    if (!status && t->pair)
        status =
            evaluation_confusion(context, t, &e->detail, &e->confusion, &e->confusion_count, error);
    if (!status) status = name_images(j, images->data, error);
    if (!status) {
        e->split = images->split;
        e->skipped = loader_skipped(images->loader, &first);
        e->done = 1;
    }
    ssm2d_session_destroy(session);
    mem_free(context, j->scratch);
    return status;
}

ssm2d_status report_evaluate(const report *r, report_run *run, ssm2d_error *error)
{
    run_model m;
    run_images images = {0};
    job j = {.r = r, .run = run, .m = &m};
    report_evaluation *e = &run->evaluation;
    if (!run->known || r->options->no_data) {
        fail(&e->why, SSM2D_ERROR_ARGUMENT, "%s",
             r->options->no_data ? "left out by --no-data" : "the run cannot be read");
        return SSM2D_OK;
    }
    ssm2d_status status = run_model_open(r->context, run->folder, RUN_MODEL, NULL, &m, &e->why);
    if (!status) {
        status = run_images_open(r->context, run->folder, &m, NULL, &images, &e->why);
        if (!status) status = run_model_on(&j, &images, &e->why);
        run_images_close(&images);
        run_model_close(&m);
    }
    for (int i = e->done ? e->wrong_count : 0; i < REPORT_WRONG; i++) {
        mem_free(r->context, e->wrong[i].pixels);
        mem_free(r->context, e->wrong[i].file);
        e->wrong[i].pixels = NULL;
        e->wrong[i].file = NULL;
    }
    if (!e->done) e->wrong_count = 0;
    return status == SSM2D_ERROR_MEMORY ? fail(error, status, "%s", e->why.line) : SSM2D_OK;
}
