/* mix - a layer of any kind over the patch tokens, as a grid; tokens before `first` (CLS) pass
 * unchanged.
 *
 * The layer reads and writes its tokens in place through strides. For inference its kernels are
 * made once per parameters: the owner of the graph says when they have changed (graph.step). */
#include "ops/mix.h"

#include "core/status.h"
#include "ops/elementwise.h"

#include <string.h>

enum { X, PARAMS };

static const ssm2d_type number_type = sizeof(real) == sizeof(double) ? SSM2D_DOUBLE : SSM2D_FLOAT;

static const mix_setup *setup_of(const node *n) { return n->attributes; }

mix_setup mix_setup_of(const node *n) { return *setup_of(n); }

/* ---- tokens ---------------------------------------------------------------------------------- */

/* What happens to the tokens of an image that are not of the grid. */
typedef struct token_job {
    const node *n;
    size_t first; /* token of the grid */
    real *to;     /* laid out as n's output */
    const real *from;
    int adds, clears; /* clears: tokens of the grid become 0 */
} token_job;

static void pass_image(void *arg, size_t b, int worker)
{
    (void)worker;
    const token_job *j = arg;
    const size_t image = j->n->out->count / j->n->out->shape[0],
                 count = j->first * last_axis(j->n->out);
    real *to = j->to + b * image;
    const real *from = j->from + b * image;
    for (size_t i = 0; i < count; i++) to[i] = from[i] + (j->adds ? to[i] : 0);
    if (j->clears) memset(to + count, 0, (image - count) * sizeof(real));
}

/* out[b][t] = in[b][t] for t < first. */
static void pass_tokens(const graph *g, const node *n, size_t first)
{
    token_job j = {.n = n, .first = first, .to = n->out->data, .from = n->in[0]->data};
    if (first) pool_run(g->context->pool, n->out->shape[0], pass_image, &j);
}

/* The gradient of the same; that of the grid's tokens is made ready to be added to. */
static void pass_gradient(const graph *g, const node *n, size_t first)
{
    const int adds = n->adds[0];
    token_job j = {n, first, n->in[0]->grad, n->out->grad, adds, !adds};
    if (first || !adds) pool_run(g->context->pool, n->out->shape[0], pass_image, &j);
}

/* A plan for the tokens of the grid in n's output. */
static ssm2d_plan_options grid_plan_options(const graph *g, const node *n, token_grid grid)
{
    const ptrdiff_t H = (ptrdiff_t)last_axis(n->out), tokens = (ptrdiff_t)n->out->shape[1];
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = n->out->shape[0];
    o.grid = grid.shape;
    o.type = number_type;
    o.inference = !g->training;
    o.in = (ssm2d_strides){.batch = tokens * H, .channel = 1};
    for (int i = grid.shape.axes - 1, inner = 1; i >= 0; inner *= (int)grid.shape.extent[i--])
        o.in.axis[i] = inner * H;
    o.out = o.in;
    return o;
}

/* ---- the layer ------------------------------------------------------------------------------- */

typedef struct mix_state {
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    uint64_t prepared; /* inference: step + 1 for which the kernels were made */
} mix_state;

static void forward(const graph *g, const node *n)
{
    mix_state *m = n->object;
    const size_t at = (size_t)setup_of(n)->grid.first * last_axis(n->out);
    if (g->training || m->prepared != g->step + 1) {
        layer_prepare(m->plan, m->workspace, number_type, n->in[PARAMS]->data);
        m->prepared = g->step + 1;
    }
    layer_apply(m->plan, m->workspace, number_type, n->in[X]->data + at, n->out->data + at);
    pass_tokens(g, n, (size_t)setup_of(n)->grid.first);
}

static void backward(const graph *g, const node *n)
{
    mix_state *m = n->object;
    const size_t at = (size_t)setup_of(n)->grid.first * last_axis(n->out);
    real *dx = n->in[X]->needs_grad ? n->in[X]->grad : NULL;
    if (dx) pass_gradient(g, n, (size_t)setup_of(n)->grid.first);
    layer_backward(m->plan, m->workspace, number_type, n->in[PARAMS]->data, n->in[X]->data + at,
                   n->out->grad + at, dx ? dx + at : NULL,
                   n->in[PARAMS]->needs_grad ? n->in[PARAMS]->grad : NULL);
}

static ssm2d_status prepare(graph *g, node *n, ssm2d_error *error)
{
    const mix_setup *a = setup_of(n);
    mix_state *m = n->object = mem_alloc(g->context, sizeof *m);
    if (!m) return fail_memory(error, "a mixer");
    const ssm2d_plan_options o = grid_plan_options(g, n, a->grid);
    ssm2d_status status = ssm2d_plan_create(g->context, &a->layer, &o, &m->plan, error);
    return status ? status : ssm2d_workspace_create(m->plan, &m->workspace, error);
}

static void destroy(graph *g, node *n)
{
    mix_state *m = n->object;
    ssm2d_workspace_destroy(m->workspace);
    ssm2d_plan_destroy(m->plan);
    mem_free(g->context, m);
}

const op op_mix = {.name = "mix",
                   .reads_in = 3,
                   .affordable = 1,
                   .prepare = prepare,
                   .forward = forward,
                   .backward = backward,
                   .destroy = destroy};

tensor *mix_layer(graph *g, tensor *x, tensor *params, const ssm2d_layer *layer, token_grid grid)
{
    char one[64], shape[GRID_TEXT];
    ssm2d_error error;
    if (g->status) return NULL;
    if (layer_check(layer, &error)) return graph_fail(g, "mixer: %s", error.line);
    if (x->rank != 3 || grid.first < 0 || !grid_cells(grid.shape)
        || x->shape[1] != (size_t)grid.first + grid_cells(grid.shape)
        || x->shape[2] != (size_t)ssm2d_layer_channels(layer)
        || params->count != ssm2d_layer_param_count(layer))
        return graph_fail(g, "mixer: tokens %s are not %d + %s with %d channels",
                          shape_text(x, one), grid.first, grid_text(grid.shape, shape),
                          ssm2d_layer_channels(layer));
    const mix_setup a = {*layer, grid};
    node *n = graph_add(g, &op_mix, 2, (tensor *[]){x, params}, 0, NULL, &a, sizeof a);
    return n ? n->out : NULL;
}
