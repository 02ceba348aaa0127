/* mix_ssm2d - the 2-D SSM over the patch tokens, as a grid; tokens before `first` (CLS) pass
 * unchanged.
 *
 * The layer reads and writes its tokens in place through strides. For inference its kernels are
 * made once per parameters: the owner of the graph says when they have changed (graph.step). */
#include "core/status.h"
#include "ops/grid_tokens.h"
#include "ops/node_attributes.h"

enum { X, PARAMS };

typedef struct mix_ssm2d_attributes {
    ssm2d_config config;
    size_t first, rows, cols;
} mix_ssm2d_attributes;

static const mix_ssm2d_attributes *attributes_of(const node *n) { return n->attributes; }

const ssm2d_config *mix_ssm2d_config(const node *n) { return &attributes_of(n)->config; }

token_grid mix_ssm2d_grid(const node *n)
{
    const mix_ssm2d_attributes *a = attributes_of(n);
    return (token_grid){(int)a->first, (int)a->rows, (int)a->cols};
}

typedef struct mix_state {
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    uint64_t prepared; /* inference: step + 1 for which the kernels were made */
} mix_state;

static void forward(const graph *g, const node *n)
{
    mix_state *m = n->object;
    const size_t at = attributes_of(n)->first * last_axis(n->out);
    if (g->training || m->prepared != g->step + 1) {
        ssm2d_prepare(m->plan, m->workspace, n->in[PARAMS]->data);
        m->prepared = g->step + 1;
    }
    ssm2d_apply(m->plan, m->workspace, n->in[X]->data + at, n->out->data + at);
    pass_tokens(g, n, attributes_of(n)->first);
}

static void backward(const graph *g, const node *n)
{
    mix_state *m = n->object;
    const size_t at = attributes_of(n)->first * last_axis(n->out);
    real *dx = n->in[X]->needs_grad ? n->in[X]->grad : NULL;
    if (dx) pass_gradient(g, n, attributes_of(n)->first);
    ssm2d_backward(m->plan, m->workspace, n->in[PARAMS]->data, n->in[X]->data + at,
                   n->out->grad + at, dx ? dx + at : NULL,
                   n->in[PARAMS]->needs_grad ? n->in[PARAMS]->grad : NULL);
}

static ssm2d_status prepare(graph *g, node *n, ssm2d_error *error)
{
    const mix_ssm2d_attributes *a = attributes_of(n);
    mix_state *m = n->object = mem_alloc(g->context, sizeof *m);
    if (!m) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a mixer");
    const ssm2d_plan_options o = grid_plan_options(g, n, a->rows, a->cols);
    ssm2d_status status = ssm2d_plan_create(g->context, &a->config, &o, &m->plan, error);
    return status ? status : ssm2d_workspace_create(m->plan, &m->workspace, error);
}

static void destroy(graph *g, node *n)
{
    mix_state *m = n->object;
    ssm2d_workspace_destroy(m->workspace);
    ssm2d_plan_destroy(m->plan);
    mem_free(g->context, m);
}

const op op_mix_ssm2d = {.name = "mix_ssm2d",
                         .reads_in = 3,
                         .affordable = 1,
                         .prepare = prepare,
                         .forward = forward,
                         .backward = backward,
                         .destroy = destroy};

tensor *mix_ssm2d(graph *g, tensor *x, tensor *params, const ssm2d_config *config, int first,
                  int rows, int cols)
{
    char one[64];
    if (g->status) return NULL;
    ssm2d_error error;
    if (ssm2d_config_check(config, &error)) return graph_fail(g, "mixer: %s", error.line);
    if (x->rank != 3 || first < 0 || rows < 1 || cols < 1
        || x->shape[1] != (size_t)first + (size_t)rows * (size_t)cols
        || x->shape[2] != (size_t)config->channels || params->count != ssm2d_param_total(config))
        return graph_fail(g, "mixer: tokens %s are not %d + %d x %d with %d channels",
                          shape_text(x, one), first, rows, cols, config->channels);
    const mix_ssm2d_attributes a = {*config, (size_t)first, (size_t)rows, (size_t)cols};
    node *n = graph_add(g, &op_mix_ssm2d, 2, (tensor *[]){x, params}, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}
