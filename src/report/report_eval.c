#include "report/report_eval.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data/targets.h"
#include "report/report.h"
#include "train/run_images.h"

#include <math.h>
#include <string.h>

enum { MAX_SIDE = 96 }; /* of an embedded image; larger ones are reduced */

typedef struct job {
    const report *r;
    report_run *run;
    const run_model *m;
    double *probabilities; /* [classes] */
    int reduce;            /* this many pixels a side become one */
} job;

/* ---- images with a high loss ----------------------------------------------------------------- */

/* The mean of a square of pixels, as a byte, its normalisation undone. */
static uint8_t pixel_of(const job *j, const float *plane, int channel, int row, int col)
{
    const model_config *c = &j->m->settings.model;
    double sum = 0;
    for (int y = 0; y < j->reduce; y++)
        for (int x = 0; x < j->reduce; x++)
            sum += (double)plane[(row * j->reduce + y) * c->image[1] + col * j->reduce + x];
    const double value = sum / (j->reduce * j->reduce) * (double)j->m->data.norm.std[channel]
                         + (double)j->m->data.norm.mean[channel];
    return (uint8_t)lround(255 * fmin(fmax(value, 0), 1));
}

static void copy_pixels(const job *j, const float *pixels, wrong_image *to)
{
    const model_config *c = &j->m->settings.model;
    const int area = c->image[0] * c->image[1];
    for (int row = 0; row < to->rows; row++)
        for (int col = 0; col < to->cols; col++)
            for (int k = 0; k < c->channels; k++)
                to->pixels[(row * to->cols + col) * c->channels + k] =
                    pixel_of(j, pixels + k * area, k, row, col);
}

/* The predicted and the true class of the image. Returns whether they differ. */
static int judge(const job *j, const evaluated_image *image, wrong_image *w)
{
    const int classes = j->run->data.classes;
    const train_loss loss = (train_loss)j->m->settings.options.loss;
    class_probabilities(loss, image->logits, classes, j->probabilities);
    if (j->run->data.labels == LABEL_BINARY) {
        w->predicted = -1;
        w->truth = 0;
        for (int i = 0; i < classes; i++)
            w->truth += (image->logits[i] > 0) != (image->target[i] > .5f);
        return w->truth > 0;
    }
    w->truth = largest_index(image->target, classes);
    w->predicted = largest_index(image->logits, classes);
    w->probability = j->probabilities[w->predicted];
    w->of_truth = j->probabilities[w->truth];
    return w->truth != w->predicted;
}

/* Keeps the image when it is among those with the highest loss; of equal ones the earlier. */
static void take_image(void *user, const evaluated_image *image)
{
    job *j = user;
    report_evaluation *e = &j->run->evaluation;
    wrong_image *last = &e->wrong[REPORT_WRONG - 1], w;
    if (e->wrong_count == REPORT_WRONG && !(image->loss > last->loss)) return;
    w = e->wrong[e->wrong_count < REPORT_WRONG ? e->wrong_count : REPORT_WRONG - 1];
    w.loss = image->loss;
    w.number = image->number;
    if (!judge(j, image, &w)) return;
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
        if (!e->wrong[i].pixels) return fail(error, SSM2D_ERROR_MEMORY, "no memory for images");
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
    const int classes = m->data.classes, is_class = m->data.labels == LABEL_CLASS;
    const int side = max_int(m->settings.model.image[0], m->settings.model.image[1]);
    ssm2d_model_plan *plan = NULL;
    ssm2d_error first;
    j->reduce = min_int(div_up(side, MAX_SIDE),
                        min_int(m->settings.model.image[0], m->settings.model.image[1]));
    j->probabilities = mem_alloc(context, (size_t)classes * sizeof *j->probabilities);
    ssm2d_status status =
        j->probabilities ? SSM2D_OK
                         : fail(error, SSM2D_ERROR_MEMORY, "no memory for %d classes", classes);
    if (!status)
        status =
            evaluation_detail_create(context, m->data.labels, classes, is_class, &e->detail, error);
    if (!status) status = reserve(j, error);
    if (!status) status = run_model_plan(context, m, images->batch, &plan, error);
    if (!status) {
        const evaluation_hooks hooks = {
            .user = j, .progress = show_progress, .detail = &e->detail, .image = take_image};
        status =
            evaluate(plan->evaluator, images->loader, m->model->loss, &hooks, &e->result, error);
    }
    if (!status) {
        e->split = images->split;
        e->skipped = loader_skipped(images->loader, &first);
        e->known_index = !e->skipped;
        e->done = 1;
    }
    ssm2d_model_plan_destroy(plan);
    mem_free(context, j->probabilities);
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
        e->wrong[i].pixels = NULL;
    }
    if (!e->done) e->wrong_count = 0;
    return status == SSM2D_ERROR_MEMORY ? fail(error, status, "%s", e->why.line) : SSM2D_OK;
}
