#include "train/calibration.h"

#include "core/context.h"
#include "core/status.h"
#include "ops/ops.h"

#include <math.h>

enum { BINS = 2048 };

/* What one layer reads. */
typedef struct layer_input {
    const param_array *weight;
    float low, high; /* at least [0, 0] */
    int is_bad;      /* something is not finite */
    double *bins;    /* [BINS], from low to high */
} layer_input;

struct calibration {
    ssm2d_context *context;
    const ssm2d_model *model;
    graph *graph;
    tensor *images;
    float *part;                /* images of a partial batch */
    size_t batch, image, count; /* count: images of this run */
    int second;
    layer_input *inputs; /* [weights->count] */
    double *bins;
};

/* ---- watching -------------------------------------------------------------------------------- */

static void find_range(layer_input *l, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        l->is_bad |= !isfinite(x[i]);
        l->low = fminf(l->low, x[i]);
        l->high = fmaxf(l->high, x[i]);
    }
}

static void fill_bins(layer_input *l, const float *x, size_t count)
{
    const float width = l->high - l->low, factor = width > 0 ? BINS / width : 0;
    for (size_t i = 0; i < count; i++) {
        const int bin = (int)((x[i] - l->low) * factor);
        l->bins[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
    }
}

static layer_input *input_of(const calibration *c, const tensor *weight)
{
    const param_array *a = weights_find(c->model->weights, weight->name);
    return a ? &c->inputs[a - c->model->weights->arrays] : NULL;
}

/* Called before a node runs: its input is in memory. */
static void watch(void *arg, const node *n, int backward)
{
    calibration *c = arg;
    (void)backward;
    if (!n || n->op != &op_linear || n->in[1]->role != ROLE_PARAM) return;
    layer_input *l = input_of(c, n->in[1]);
    const tensor *x = n->in[0];
    const size_t width = x->shape[x->rank - 1], rows = x->count / width / c->batch * c->count;
    if (!l || !l->weight) return;
    for (size_t r = 0; r < rows; r++)
        (c->second ? fill_bins : find_range)(l, x->data + r * x->row_stride, width);
}

/* ---- creating -------------------------------------------------------------------------------- */

static ssm2d_status build(calibration *c, ssm2d_error *error)
{
    ssm2d_status status = graph_create(c->context, 0, &c->graph, error);
    if (status) return status;
    c->graph->one_by_one = 1;
    tensor *out = model_build(c->graph, &c->model->config, c->batch);
    if ((status = graph_finish(c->graph, out, error))) return status;
    c->images = graph_find(c->graph, "images");
    c->image = c->images->count / c->batch;
    graph_bind(c->graph, c->model->params, NULL);
    graph_watch(c->graph, watch, c);
    return SSM2D_OK;
}

/* The layers: weights of nodes of the operator linear. */
static void find_layers(calibration *c)
{
    const weights *w = c->model->weights;
    int found = 0;
    for (int i = 0; i < c->graph->node_count; i++) {
        const node *n = c->graph->nodes[i];
        if (n->op != &op_linear || n->in[1]->role != ROLE_PARAM) continue;
        const param_array *a = weights_find(w, n->in[1]->name);
        if (!a || c->inputs[a - w->arrays].weight) continue;
        c->inputs[a - w->arrays] =
            (layer_input){.weight = a, .bins = c->bins + (size_t)found++ * BINS};
    }
}

ssm2d_status calibration_create(ssm2d_context *context, const ssm2d_model *m, size_t batch,
                                calibration **out, ssm2d_error *error)
{
    calibration *c = *out = mem_alloc(context, sizeof *c);
    if (!c) return fail_memory(error, "calibration");
    *c = (calibration){.context = context, .model = m, .batch = batch};
    ssm2d_status status = build(c, error);
    if (!status) {
        const size_t arrays = (size_t)m->weights->count;
        c->inputs = mem_alloc(context, arrays * sizeof *c->inputs);
        c->bins = mem_alloc(context, arrays * BINS * sizeof *c->bins);
        c->part = mem_alloc(context, batch * c->image * sizeof *c->part);
        if (!c->inputs || !c->bins || !c->part) status = fail_memory(error, "calibration");
    }
    if (!status) {
        find_layers(c);
        return SSM2D_OK;
    }
    calibration_destroy(c);
    *out = NULL;
    return status;
}

void calibration_destroy(calibration *c)
{
    if (!c) return;
    graph_destroy(c->graph);
    mem_free(c->context, c->inputs);
    mem_free(c->context, c->bins);
    mem_free(c->context, c->part);
    mem_free(c->context, c);
}

void calibration_run(calibration *c, const float *images, size_t count)
{
    c->count = count;
    memcpy(c->part, images, count * c->image * sizeof *images);
    c->images->data = c->part;
    graph_forward(c->graph);
}

void calibration_second(calibration *c) { c->second = 1; }

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The squared error of all values when those from low to high have 256 levels. Inside, a value is
 * off by a third of half a level squared on average; outside, by its distance. */
static double error_of(const layer_input *l, double low, double high)
{
    const double width = ((double)l->high - (double)l->low) / BINS, level = (high - low) / 255;
    double sum = 0;
    for (int i = 0; i < BINS; i++) {
        const double x = (double)l->low + (i + 0.5) * width;
        const double off = x < low ? low - x : x > high ? x - high : 0;
        sum += l->bins[i] * (off * off + level * level / 12);
    }
    return sum;
}

/* The best range among those whose ends are fractions of the whole one's. */
static void choose_range(const layer_input *l, double *low, double *high)
{
    enum { STEPS = 64 };
    double min_error = INFINITY;
    *low = (double)l->low;
    *high = (double)l->high;
    /* one end after the other, twice: each error is convex in one end */
    for (int end = 0; end < 4; end++) {
        double *at = end % 2 ? low : high, best = *at;
        const double whole = end % 2 ? (double)l->low : (double)l->high;
        for (int i = STEPS; i > 0; i--) {
            *at = whole * i / STEPS;
            const double e = error_of(l, *low, *high);
            if (e >= min_error) continue;
            min_error = e;
            best = *at;
        }
        *at = best;
    }
}

static void set_input(const layer_input *l, quantized_linear *q)
{
    double low, high;
    choose_range(l, &low, &high);
    const double level = (high - low) / 255;
    q->scale = level > 1e-30 ? (float)level : 1;
    q->zero = level > 1e-30 ? (int)nearbyint(-low / level) : 0;
}

ssm2d_status calibration_end(const calibration *c, quantization **out, ssm2d_error *error)
{
    const weights *w = c->model->weights;
    uint8_t *chosen = mem_alloc(c->context, (size_t)w->count);
    *out = NULL;
    if (!chosen) return fail_memory(error, "calibration");
    for (int i = 0; i < w->count; i++) chosen[i] = c->inputs[i].weight != NULL;
    quantization *q = quantization_create(w, chosen);
    mem_free(c->context, chosen);
    if (!q) return fail_memory(error, "calibration");
    for (int i = 0; i < q->count; i++) {
        quantized_linear *l = &q->list[i];
        const param_array *a = weights_find(w, l->weight);
        const layer_input *in = &c->inputs[a - w->arrays];
        if (in->is_bad) {
            mem_free(w->context, q);
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "the layer %s reads values that are not finite: it cannot be quantised",
                        a->name);
        }
        set_input(in, l);
        quantization_scales(c->model->params + a->offset, l->outputs, a->count / l->outputs,
                            l->weight_scales);
    }
    *out = q;
    return SSM2D_OK;
}
