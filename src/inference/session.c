/* session - prepares a model for (batch, rows, columns, threads), and runs it. */
#include "core/context.h"
#include "core/float_mode.h"
#include "core/sized.h"
#include "core/status.h"
#include "inference/trained_model.h"

#include <string.h>

/* ---- memory: an allocator that counts bytes and enforces a limit ----------------------------- */

/* Not thread-safe: only one thread at a time calls its functions. */
typedef struct memory_budget {
    const ssm2d_context *from; /* allocates the memory */
    size_t taken, limit;       /* limit 0: unlimited */
} memory_budget;

enum { HEAD = 16 }; /* before each block: its size */

static void *budget_allocate(size_t bytes, void *user)
{
    memory_budget *b = user;
    if (bytes > PTRDIFF_MAX - HEAD) return NULL;
    const size_t size = bytes + HEAD;
    if (b->limit && (b->taken > b->limit || size > b->limit - b->taken)) return NULL;
    /* not mem_alloc, which would write zeros: the context that calls this does so */
    char *memory = b->from->allocate(size, b->from->user);
    if (!memory) return NULL;
    memcpy(memory, &size, sizeof size);
    b->taken += size;
    return memory + HEAD;
}

static void budget_release(void *memory, void *user)
{
    memory_budget *b = user;
    char *start = (char *)memory - HEAD;
    size_t size;
    memcpy(&size, start, sizeof size);
    b->taken -= size;
    b->from->release(start, b->from->user);
}

/* ---- options --------------------------------------------------------------------------------- */

void ssm2d_session_options_init(ssm2d_session_options *options, size_t size)
{
    const ssm2d_session_options defaults = {.batch = 1};
    sized_init(options, size, &defaults, sizeof defaults);
}

enum { MAX_BATCH = 1 << 20 };

/* full <- the caller's options with defaults filled in; rows and cols are those of the session. */
static ssm2d_status read_options(const ssm2d_model *m, const ssm2d_session_options *options,
                                 ssm2d_session_options *full, ssm2d_error *error)
{
    static const size_t sizes[] = {sizeof(ssm2d_session_options), 0};
    ssm2d_status status = SSM2D_OK;
    ssm2d_session_options_init(full, sizeof *full);
    if (options) status = sized_read(full, options, sizes, "session_options", error);
    if (status) return status;
    if (!full->batch || full->batch > MAX_BATCH)
        return fail(error, SSM2D_ERROR_ARGUMENT, "batch=%zu: use 1 to %d images", full->batch,
                    MAX_BATCH);
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

/* ---- creating -------------------------------------------------------------------------------- */

/* Adapts the weights to images of another size. */
static ssm2d_status resize_weights(ssm2d_session *s, const ssm2d_session_options *o,
                                   ssm2d_error *error)
{
    model_config config = s->model->config;
    ssm2d_status status = model_config_resize(&config, (int[]){o->rows, o->cols}, error);
    if (!status) status = weights_create(s->context, &config, &s->weights, error);
    if (status) return status;
    s->params = mem_alloc(s->context, s->weights->total * sizeof *s->params);
    if (!s->params) return fail_memory(error, "%zu parameters", s->weights->total);
    return weights_resize(s->model->weights, s->model->params, s->weights, s->params, error);
}

static ssm2d_status make_evaluator(ssm2d_session *s, const ssm2d_session_options *o,
                                   ssm2d_error *error)
{
    const ssm2d_model *m = s->model;
    const weights *w = s->weights ? s->weights : m->weights;
    const float *params = s->params ? s->params : m->params;
    const evaluator_precision precision = {m->factors, m->quantized};
    if (o->features)
        return evaluator_create_tokens(s->context, w, params, precision, o->batch, o->features,
                                       &s->evaluator, error);
    ssm2d_status status =
        evaluator_create(s->context, &w->config, precision, o->batch, &s->evaluator, error);
    if (!status) evaluator_weights(s->evaluator, params);
    return status;
}

/* Pixels cannot be prepared for a model opened from files unless the caller specifies how, nor for
 * a model whose images do not have 1 or 3 channels. */
static ssm2d_status make_preparation(ssm2d_session *s, const ssm2d_session_options *o,
                                     ssm2d_error *error)
{
    const ssm2d_model *m = s->model;
    augment_options options;
    augment_setup setup = {.options = &options,
                           .when = AUGMENT_EVALUATION,
                           .rows = (size_t)o->rows,
                           .cols = (size_t)o->cols,
                           .channels = m->config.channels};
    if (!m->is_run && !o->preparation) return SSM2D_OK;
    ssm2d_status status = preparation_read(m, o->preparation, &options, &setup.norm, error);
    return status ? status : augment_create(s->context, &setup, &s->augment, error);
}

static ssm2d_status make_session(ssm2d_session *s, const ssm2d_session_options *o,
                                 ssm2d_error *error)
{
    const int *image = s->model->config.image;
    ssm2d_status status = SSM2D_OK;
    if (o->rows != image[0] || o->cols != image[1]) status = resize_weights(s, o, error);
    if (!status) status = make_evaluator(s, o, error);
    if (!status && !(s->prepared = mem_alloc(s->context, o->batch)))
        status = fail_memory(error, "session");
    if (!status) status = make_preparation(s, o, error);
    return status;
}

static ssm2d_status create(ssm2d_context *context, memory_budget *budget, const ssm2d_model *m,
                           const ssm2d_session_options *o, ssm2d_session **out, ssm2d_error *error)
{
    ssm2d_session *s = mem_alloc(context, sizeof *s);
    *out = NULL;
    if (!s) return fail_memory(error, "session");
    s->model = m;
    s->context = context;
    const ssm2d_status status = make_session(s, o, error);
    if (status) {
        ssm2d_session_destroy(s);
        return status;
    }
    s->budget = budget;
    *out = s;
    return SSM2D_OK;
}

ssm2d_status session_create(ssm2d_context *context, const ssm2d_model *m,
                            const ssm2d_session_options *options, ssm2d_session **out,
                            ssm2d_error *error)
{
    ssm2d_session_options o;
    *out = NULL;
    const ssm2d_status status = read_options(m, options, &o, error);
    return status ? status : create(context, NULL, m, &o, out, error);
}

/* A session has its own context with its own threads; memory comes from the model's context. */
static ssm2d_status create_in_context(const ssm2d_model *m, const ssm2d_session_options *options,
                                      ssm2d_session **session, ssm2d_error *error)
{
    ssm2d_session_options o;
    ssm2d_context *context = NULL;
    ssm2d_error why;
    if (!session)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "session=NULL: there is nowhere to put the result");
    *session = NULL;
    if (!m) return fail(error, SSM2D_ERROR_ARGUMENT, "model=NULL: open one first");
    ssm2d_status status = read_options(m, options, &o, error);
    if (status) return status;
    memory_budget *budget = mem_alloc(m->context, sizeof *budget);
    if (!budget) return fail_memory(error, "session");
    *budget = (memory_budget){.from = m->context, .limit = o.max_bytes};
    const ssm2d_context_options c = {.size = sizeof c,
                                     .threads = o.threads,
                                     .cpu = ssm2d_context_cpu(m->context),
                                     .allocate = budget_allocate,
                                     .release = budget_release,
                                     .user = budget};
    status = ssm2d_context_create(&c, &context, &why);
    if (!status) status = create(context, budget, m, &o, session, &why);
    if (!status) return SSM2D_OK;
    if (status == SSM2D_ERROR_MEMORY && o.max_bytes)
        fail(error, status, "%s (max_bytes=%zu)", why.line, o.max_bytes);
    else
        fail(error, status, "%s", why.line);
    ssm2d_context_destroy(context);
    mem_free(m->context, budget);
    return status;
}

ssm2d_status ssm2d_session_create(const ssm2d_model *m, const ssm2d_session_options *options,
                                  ssm2d_session **session, ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = create_in_context(m, options, session, error);
    float_mode_restore(before);
    return status;
}

void ssm2d_session_destroy(ssm2d_session *s)
{
    if (!s) return;
    ssm2d_context *context = s->context;
    memory_budget *budget = s->budget;
    evaluator_destroy(s->evaluator);
    augment_destroy(s->augment);
    mem_free(context, s->params);
    mem_free(context, s->prepared);
    weights_destroy(s->weights);
    mem_free(context, s);
    if (!budget) return;
    const ssm2d_context *of_model = budget->from;
    ssm2d_context_destroy(context);
    mem_free(of_model, budget);
}

/* ---- properties ------------------------------------------------------------------------------ */

size_t ssm2d_session_bytes(const ssm2d_session *s) { return s->budget ? s->budget->taken : 0; }

void ssm2d_session_output_get(const ssm2d_session *s, ssm2d_session_output *output)
{
    const tensor *out = s->evaluator->out;
    ssm2d_session_output o = {.count = out->count / s->evaluator->batch};
    if (out->rank == 3) {
        o.tokens = out->shape[1];
        o.dim = out->shape[2];
        o.first = out->grid.first;
        o.grid_rows = grid_rows(out->grid.shape);
        o.grid_cols = grid_cols(out->grid.shape);
    }
    sized_init(output, output->size, &o, sizeof o);
}

/* ---- running --------------------------------------------------------------------------------- */

const float *ssm2d_session_prepared(const ssm2d_session *s) { return s->evaluator->part; }

static ssm2d_status check_run(const ssm2d_session *s, const float *images, size_t count,
                              const float *out, ssm2d_error *error)
{
    if (!s || !out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s=NULL: nothing can be run",
                    s ? "out" : "session");
    if (count > s->evaluator->batch)
        return fail(error, SSM2D_ERROR_ARGUMENT, "count=%zu: the session is for %zu images", count,
                    s->evaluator->batch);
    for (size_t i = 0; i < count && !images; i++)
        if (!s->prepared[i])
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "images=NULL: image %zu of %zu was not prepared", i, count);
    return SSM2D_OK;
}

ssm2d_status ssm2d_session_run(ssm2d_session *s, const float *images, size_t count, float *out,
                               ssm2d_error *error)
{
    const ssm2d_status status = check_run(s, images, count, out, error);
    if (status || !count) return status;
    const evaluator *e = s->evaluator;
    /* a partial batch overwrites the prepared images */
    if (images && count < e->batch) memset(s->prepared, 0, count);
    memcpy(out, evaluator_run(s->evaluator, images ? images : e->part, count),
           count * (e->out->count / e->batch) * sizeof *out);
    return SSM2D_OK;
}

ssm2d_status ssm2d_model_probabilities(const ssm2d_model *m, const float *logits, size_t count,
                                       double *probabilities, ssm2d_error *error)
{
    if (!m || (count && (!logits || !probabilities)))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s=NULL: there is nothing to compute with",
                    !m        ? "model"
                    : !logits ? "logits"
                              : "probabilities");
    const task_shape shape = task_shape_of(&m->config);
    const size_t outputs = (size_t)m->config.outputs;
    const float_mode before = float_mode_set();
    for (size_t i = 0; i < count; i++)
        loss_at(m->loss)->activate(logits + i * outputs, &shape, probabilities + i * outputs);
    float_mode_restore(before);
    return SSM2D_OK;
}
