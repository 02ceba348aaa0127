#include "inference/evaluator.h"

#include "core/context.h"
#include "core/status.h"
#include "ops/simd/gemm_table.h"

#include <string.h>

/* The table of matrix products with these factors: NULL for real ones, which is the graph's
 * default; for bfloat16 that with instructions made for it, where there are any. */
static const gemm_table *products(const ssm2d_context *context, element_type factors)
{
    gemm_body bodies[GEMM_BODIES];
    if (factors != ELEMENT_BFLOAT16) return NULL;
    return bodies[gemm_bfloat16_bodies(context->cpu, GEMM_PAIRS, bodies) - 1].table;
}

/* Builds the graph of the logits, or if blocks > 0, of the tokens after that many blocks. */
static ssm2d_status build(evaluator *e, evaluator_precision precision, int blocks,
                          ssm2d_error *error)
{
    const model_config *c = &e->config;
    const model_family *family = c->model->family;
    const size_t shape[] = {e->batch, (size_t)c->channels, (size_t)c->image[0],
                            (size_t)c->image[1]};
    const int depth = family->depth ? family->depth(c) : 0;
    if (blocks && !family->tokens)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "models of the family %s cannot return tokens",
                    family->name);
    if (blocks < 0 || blocks > depth)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "features=%d: use 1 to %d, the number of the model's blocks", blocks, depth);
    ssm2d_status status = graph_create(e->context, 0, &e->graph, error);
    if (status) return status;
    e->graph->gemm = products(e->context, precision.factors);
    e->graph->quantization = precision.quantized;
    e->out = blocks ? family->tokens(e->graph, c, graph_input(e->graph, "images", 4, shape), blocks)
                    : model_build(e->graph, c, e->batch);
    if ((status = graph_finish(e->graph, e->out, error))) return status;
    e->images = graph_find(e->graph, "images");
    return SSM2D_OK;
}

static ssm2d_status create(ssm2d_context *context, const model_config *config,
                           evaluator_precision precision, size_t batch, int blocks, evaluator **out,
                           ssm2d_error *error)
{
    size_t bytes;
    *out = NULL;
    evaluator *e = mem_alloc(context, sizeof *e);
    if (!e) return fail_memory(error, "evaluation");
    e->context = context;
    e->config = *config;
    e->batch = batch;
    e->outputs = config->outputs;
    e->image = (size_t)config->channels * (size_t)config->image[0] * (size_t)config->image[1];
    ssm2d_status status = build(e, precision, blocks, error);
    if (!status) {
        if (!__builtin_mul_overflow(batch, e->image * sizeof *e->part, &bytes))
            e->part = mem_alloc(context, bytes);
        if (!e->part) status = fail_memory(error, "batch of %zu images", batch);
    }
    if (status)
        evaluator_destroy(e);
    else
        *out = e;
    return status;
}

ssm2d_status evaluator_create(ssm2d_context *context, const model_config *config,
                              evaluator_precision precision, size_t batch, evaluator **out,
                              ssm2d_error *error)
{
    return create(context, config, precision, batch, 0, out, error);
}

ssm2d_status evaluator_create_tokens(ssm2d_context *context, const weights *w, const float *params,
                                     evaluator_precision precision, size_t batch, int blocks,
                                     evaluator **out, ssm2d_error *error)
{
    ssm2d_status status = create(context, &w->config, precision, batch, blocks, out, error);
    if (!status) {
        evaluator *e = *out;
        e->params = mem_alloc(context, e->graph->param_count * sizeof *e->params);
        status = e->params ? weights_copy(w, params, e->graph, 0, e->params, error)
                           : fail_memory(error, "%zu parameters", e->graph->param_count);
    }
    if (!status) {
        evaluator_weights(*out, (*out)->params);
        return SSM2D_OK;
    }
    evaluator_destroy(*out);
    *out = NULL;
    return status;
}

void evaluator_destroy(evaluator *e)
{
    if (!e) return;
    graph_destroy(e->graph);
    mem_free(e->context, e->part);
    mem_free(e->context, e->params);
    mem_free(e->context, e);
}

void evaluator_weights(evaluator *e, const float *params)
{
    graph_bind(e->graph, (float *)params, NULL); /* inference only reads them */
    e->graph->step++;                            /* kernels are recomputed */
}

const float *evaluator_run(evaluator *e, const float *images, size_t count)
{
    e->images->data = (float *)images; /* the graph only reads it */
    if (count < e->batch) {
        if (images != e->part) memcpy(e->part, images, count * e->image * sizeof *images);
        e->images->data = e->part;
    }
    graph_forward(e->graph);
    return e->out->data;
}
