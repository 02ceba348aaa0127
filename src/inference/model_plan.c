/* model_plan - a model for (batch, rows, columns, threads), and running it. */
#include "core/context.h"
#include "core/float_mode.h"
#include "core/sized.h"
#include "core/status.h"
#include "inference/memory_budget.h"
#include "inference/preparation.h"
#include "inference/trained_model.h"

#include <assert.h>
#include <string.h>

void ssm2d_model_plan_options_init(ssm2d_model_plan_options *options, size_t size)
{
    const ssm2d_model_plan_options defaults = {.batch = 1};
    sized_init(options, size, &defaults, sizeof defaults);
}

/* full <- the caller's options, complete: rows and cols are those of the plan. */
static ssm2d_status read_options(const ssm2d_model *m, const ssm2d_model_plan_options *options,
                                 ssm2d_model_plan_options *full, ssm2d_error *error)
{
    static const size_t sizes[] = {sizeof(ssm2d_model_plan_options), 0};
    ssm2d_status status = SSM2D_OK;
    ssm2d_model_plan_options_init(full, sizeof *full);
    if (options) status = sized_read(full, options, sizes, "model_plan_options", error);
    if (status) return status;
    if (!full->batch) return fail(error, SSM2D_ERROR_ARGUMENT, "batch=0: use 1 or more images");
    if (full->rows < 0 || full->cols < 0 || !full->rows != !full->cols)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "rows=%d, cols=%d: give both, or 0 for the size of training", full->rows,
                    full->cols);
    if (full->features < 0)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "features=%d: use 0 for logits, or the number of a block from 1",
                    full->features);
    if (!full->rows) {
        full->rows = m->config.image[0];
        full->cols = m->config.image[1];
    }
    return SSM2D_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* The weights for images of another size. */
static ssm2d_status resize_weights(ssm2d_model_plan *p, const ssm2d_model_plan_options *o,
                                   ssm2d_error *error)
{
    model_config config = p->model->config;
    ssm2d_status status = model_config_resize(&config, (int[]){o->rows, o->cols}, error);
    if (!status) status = weights_create(p->context, &config, &p->weights, error);
    if (status) return status;
    p->params = mem_alloc(p->context, p->weights->total * sizeof *p->params);
    if (!p->params)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu parameters", p->weights->total);
    return weights_resize(p->model->weights, p->model->params, p->weights, p->params, error);
}

static ssm2d_status make_evaluator(ssm2d_model_plan *p, const ssm2d_model_plan_options *o,
                                   ssm2d_error *error)
{
    const ssm2d_model *m = p->model;
    const weights *w = p->weights ? p->weights : m->weights;
    const float *params = p->params ? p->params : m->params;
    if (o->features)
        return evaluator_create_tokens(p->context, w, params, o->batch, o->features, &p->evaluator,
                                       error);
    ssm2d_status status = evaluator_create(p->context, &w->config, o->batch, &p->evaluator, error);
    if (!status) evaluator_weights(p->evaluator, params);
    return status;
}

/* Pixels cannot be prepared for a model from files, unless the caller says how; nor for one that
 * reads no images of 1 or 3 channels. */
static ssm2d_status make_preparation(ssm2d_model_plan *p, const ssm2d_model_plan_options *o,
                                     ssm2d_error *error)
{
    const ssm2d_model *m = p->model;
    augment_options options;
    augment_setup setup = {.options = &options,
                           .when = AUGMENT_EVALUATION,
                           .rows = (size_t)o->rows,
                           .cols = (size_t)o->cols,
                           .channels = m->config.channels};
    if (!m->is_run && !o->preparation) return SSM2D_OK;
    ssm2d_status status = preparation_read(m, o->preparation, &options, &setup.norm, error);
    return status ? status : augment_create(p->context, &setup, &p->augment, error);
}

static ssm2d_status make_plan(ssm2d_model_plan *p, const ssm2d_model_plan_options *o,
                              ssm2d_error *error)
{
    const int *image = p->model->config.image;
    ssm2d_status status = SSM2D_OK;
    if (o->rows != image[0] || o->cols != image[1]) status = resize_weights(p, o, error);
    if (!status) status = make_evaluator(p, o, error);
    if (!status) status = make_preparation(p, o, error);
    return status;
}

static ssm2d_status create(ssm2d_context *context, memory_budget *budget, const ssm2d_model *m,
                           const ssm2d_model_plan_options *o, ssm2d_model_plan **out,
                           ssm2d_error *error)
{
    ssm2d_model_plan *p = mem_alloc(context, sizeof *p);
    *out = NULL;
    if (!p) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a plan");
    p->model = m;
    p->context = context;
    const ssm2d_status status = make_plan(p, o, error);
    if (status) {
        ssm2d_model_plan_destroy(p);
        return status;
    }
    p->budget = budget;
    *out = p;
    return SSM2D_OK;
}

ssm2d_status model_plan_create(ssm2d_context *context, const ssm2d_model *m,
                               const ssm2d_model_plan_options *options, ssm2d_model_plan **out,
                               ssm2d_error *error)
{
    ssm2d_model_plan_options o;
    *out = NULL;
    const ssm2d_status status = read_options(m, options, &o, error);
    return status ? status : create(context, NULL, m, &o, out, error);
}

/* A plan has a context of its own, with its threads, in the memory of the model's. */
static ssm2d_status create_in_context(const ssm2d_model *m, const ssm2d_model_plan_options *options,
                                      ssm2d_model_plan **plan, ssm2d_error *error)
{
    ssm2d_model_plan_options o;
    ssm2d_context *context = NULL;
    ssm2d_error why;
    if (!plan)
        return fail(error, SSM2D_ERROR_ARGUMENT, "plan=NULL: there is nowhere to put the result");
    *plan = NULL;
    if (!m) return fail(error, SSM2D_ERROR_ARGUMENT, "model=NULL: open one first");
    ssm2d_status status = read_options(m, options, &o, error);
    if (status) return status;
    memory_budget *budget = mem_alloc(m->context, sizeof *budget);
    if (!budget) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a plan");
    *budget = (memory_budget){.from = m->context, .limit = o.max_bytes};
    const ssm2d_context_options c = {.size = sizeof c,
                                     .threads = o.threads,
                                     .cpu = ssm2d_context_cpu(m->context),
                                     .allocate = budget_allocate,
                                     .release = budget_release,
                                     .user = budget};
    status = ssm2d_context_create(&c, &context, &why);
    if (!status) status = create(context, budget, m, &o, plan, &why);
    if (!status) return SSM2D_OK;
    if (status == SSM2D_ERROR_MEMORY && o.max_bytes)
        fail(error, status, "%s (max_bytes=%zu)", why.line, o.max_bytes);
    else
        fail(error, status, "%s", why.line);
    ssm2d_context_destroy(context);
    mem_free(m->context, budget);
    return status;
}

ssm2d_status ssm2d_model_plan_create(const ssm2d_model *m, const ssm2d_model_plan_options *options,
                                     ssm2d_model_plan **plan, ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = create_in_context(m, options, plan, error);
    float_mode_restore(before);
    return status;
}

void ssm2d_model_plan_destroy(ssm2d_model_plan *p)
{
    if (!p) return;
    ssm2d_context *context = p->context;
    memory_budget *budget = p->budget;
    evaluator_destroy(p->evaluator);
    augment_destroy(p->augment);
    mem_free(context, p->params);
    weights_destroy(p->weights);
    mem_free(context, p);
    if (!budget) return;
    const ssm2d_context *of_model = budget->from;
    ssm2d_context_destroy(context);
    mem_free(of_model, budget);
}

/* ---- about it -------------------------------------------------------------------------------- */

size_t ssm2d_model_plan_bytes(const ssm2d_model_plan *p)
{
    return p->budget ? p->budget->taken : 0;
}

void ssm2d_model_output_get(const ssm2d_model_plan *p, ssm2d_model_output *output)
{
    const tensor *out = p->evaluator->out;
    ssm2d_model_output o = {.numbers = out->count / p->evaluator->batch};
    if (out->rank == 3) {
        o.tokens = out->shape[1];
        o.dim = out->shape[2];
        o.first = out->grid.first;
        o.grid_rows = out->grid.rows;
        o.grid_cols = out->grid.cols;
    }
    sized_init(output, output->size, &o, sizeof o);
}

/* ---- running --------------------------------------------------------------------------------- */

const float *ssm2d_model_prepared(const ssm2d_model_plan *p) { return p->evaluator->part; }

void ssm2d_model_run(ssm2d_model_plan *p, const float *images, size_t count, float *out)
{
    const evaluator *e = p->evaluator;
    assert(count <= e->batch && (images || p->augment));
    if (!count) return;
    memcpy(out, evaluator_run(p->evaluator, images ? images : e->part, count),
           count * (e->out->count / e->batch) * sizeof *out);
}

void ssm2d_model_probabilities(const ssm2d_model *m, const float *logits, size_t count,
                               double *probabilities)
{
    const size_t classes = (size_t)m->config.classes;
    const float_mode before = float_mode_set();
    for (size_t i = 0; i < count; i++)
        class_probabilities(m->loss, logits + i * classes, m->config.classes,
                            probabilities + i * classes);
    float_mode_restore(before);
}
