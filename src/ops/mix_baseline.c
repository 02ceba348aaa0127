#include "ops/mix_baseline.h"

#include "core/status.h"
#include "ops/grid_tokens.h"
#include "ops/node_attributes.h"

#include <string.h>

enum { X, PARAMS };

typedef struct mix_attributes {
    union {
        ssm2d_baseline_config base;
        ssm2d_s4nd_config s4nd;
        ssm2d_ema_config ema;
    } config;
    size_t first, rows, cols;
} mix_attributes;

static const mix_attributes *attributes_of(const node *n) { return n->attributes; }

const ssm2d_baseline_config *mix_baseline_config(const node *n)
{
    return &attributes_of(n)->config.base;
}

token_grid mix_baseline_grid(const node *n)
{
    const mix_attributes *a = attributes_of(n);
    return (token_grid){(int)a->first, (int)a->rows, (int)a->cols};
}

typedef struct mix_state {
    ssm2d_baseline_plan *plan;
    ssm2d_baseline_workspace *workspace;
    uint64_t prepared; /* inference: step + 1 for which the kernels were made */
} mix_state;

void mix_baseline_forward(const graph *g, const node *n)
{
    mix_state *m = n->object;
    const size_t first = attributes_of(n)->first, at = first * last_axis(n->out);
    if (g->training || m->prepared != g->step + 1) {
        ssm2d_baseline_prepare(m->plan, m->workspace, n->in[PARAMS]->data);
        m->prepared = g->step + 1;
    }
    ssm2d_baseline_apply(m->plan, m->workspace, n->in[X]->data + at, n->out->data + at);
    pass_tokens(g, n, first);
}

void mix_baseline_backward(const graph *g, const node *n)
{
    mix_state *m = n->object;
    const size_t first = attributes_of(n)->first, at = first * last_axis(n->out);
    real *dx = n->in[X]->needs_grad ? n->in[X]->grad : NULL;
    if (dx) pass_gradient(g, n, first);
    ssm2d_baseline_backward(m->plan, m->workspace, n->in[PARAMS]->data, n->in[X]->data + at,
                            n->out->grad + at, dx ? dx + at : NULL,
                            n->in[PARAMS]->needs_grad ? n->in[PARAMS]->grad : NULL);
}

ssm2d_status mix_baseline_prepare(graph *g, node *n, ssm2d_error *error)
{
    const mix_attributes *a = attributes_of(n);
    const ssm2d_plan_options o = grid_plan_options(g, n, a->rows, a->cols);
    mix_state *m = n->object = mem_alloc(g->context, sizeof *m);
    if (!m) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a mixer");
    ssm2d_status status =
        ssm2d_baseline_plan_create(g->context, &a->config.base, &o, &m->plan, error);
    return status ? status : ssm2d_baseline_workspace_create(m->plan, &m->workspace, error);
}

void mix_baseline_destroy(graph *g, node *n)
{
    mix_state *m = n->object;
    ssm2d_baseline_workspace_destroy(m->workspace);
    ssm2d_baseline_plan_destroy(m->plan);
    mem_free(g->context, m);
}

tensor *mix_baseline(graph *g, const op *kind, tensor *x, tensor *params,
                     const ssm2d_baseline_config *config, int first, int rows, int cols)
{
    char one[64];
    ssm2d_error error;
    mix_attributes a = {.first = (size_t)first, .rows = (size_t)rows, .cols = (size_t)cols};
    if (g->status) return NULL;
    if (ssm2d_baseline_config_check(config, &error)) return graph_fail(g, "mixer: %s", error.line);
    if (x->rank != 3 || first < 0 || rows < 1 || cols < 1
        || x->shape[1] != (size_t)first + (size_t)rows * (size_t)cols
        || x->shape[2] != (size_t)config->channels
        || params->count != ssm2d_baseline_param_total(config))
        return graph_fail(g, "mixer: tokens %s are not %d + %d x %d with %d channels",
                          shape_text(x, one), first, rows, cols, config->channels);
    memcpy(&a.config, config, config->size); /* the check knows the size */
    node *n = graph_add(g, kind, 2, (tensor *[]){x, params}, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}
