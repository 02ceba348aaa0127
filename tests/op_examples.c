/* Runs the examples: graphs that are created and executed. The builders are in op_examples_*.c. */
#include "op_builders.h"

#include "core/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const op_builder *const lists[] = {value_examples, linear_examples, attention_examples,
                                          token_examples, mixer_examples,  loss_examples,
                                          added_examples};

static const op_builder *example_of(const char *name)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const op_builder *b = lists[i]; b && b->op; b++)
            if (!strcmp(b->op, name)) return b;
    return NULL;
}

static int variants(const char *name)
{
    const op_builder *example = example_of(name);
    return example ? example->variants : 0;
}

static int rounds(const char *name)
{
    const op_builder *example = example_of(name);
    return example && example->rounds;
}

static tensor *loss_of(graph *g, tensor *x, const char *name)
{
    return bce(g, x, x ? graph_input(g, name, x->rank, x->shape) : NULL);
}

static tensor *build(maker *m, const op_builder *example, int variant)
{
    tensor *y = example->build(m, variant);
    if (m->mode != OF_SHARED_VALUES) return y;
    y = loss_of(m->g, y, "t");
    for (int i = 0; i < m->count; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        y = add(m->g, y, loss_of(m->g, m->given[i], name));
    }
    return y;
}

static void *new_array(size_t count)
{
    void *p = calloc(count ? count : 1, sizeof(real));
    assert_non_null(p);
    return p;
}

static void fill_inputs(trial *t)
{
    graph *g = t->graph;
    rng r = rng_seed(5);
    size_t total = 0;
    for (int i = 0; i < g->tensor_count; i++)
        total += g->tensors[i]->role == ROLE_INPUT ? g->tensors[i]->count : 0;
    real *at = t->inputs = new_array(total);
    for (int i = 0; i < g->tensor_count; i++) {
        if (g->tensors[i]->role != ROLE_INPUT) continue;
        g->tensors[i]->data = at;
        for (size_t k = 0; k < g->tensors[i]->count; k++)
            *at++ = (real)(float)rng_uniform(&r, 0, 1);
    }
}

static trial *open_trial(ssm2d_context *context, const char *name, int variant, trial_mode mode)
{
    ssm2d_error error;
    const int training = mode != INFERENCE;
    maker m = {.mode = training ? mode : OF_PARAMS};
    trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    const op_builder *example = example_of(name);
    assert_non_null(example);
    if (graph_create(context, training, &m.g, &error)) fail_msg("%s", error.line);
    tensor *out = build(&m, example, variant);
    if (graph_finish(m.g, out, &error)) fail_msg("%s, variant %d: %s", name, variant, error.line);
    int found = !training; /* some act in training only */
    for (int i = 0; i < m.g->node_count; i++) found |= !strcmp(m.g->nodes[i]->op->name, name);
    if (!found) fail_msg("the example of %s does not use it", name);
    t->graph = m.g;
    t->context = context;
    t->param_count = m.g->param_count;
    t->out = out;
    t->out_count = out->count;
    t->params = new_array(t->param_count);
    t->grads = new_array(t->param_count);
    for (int i = 0; i < m.g->tensor_count; i++) {
        if (m.g->tensors[i]->role != ROLE_PARAM) continue;
        assert_true(t->tensors < (int)(sizeof t->count / sizeof *t->count));
        t->offset[t->tensors] = m.g->tensors[i]->offset;
        t->count[t->tensors++] = m.g->tensors[i]->count;
    }
    fill_inputs(t);
    m.g->seed = 77;
    m.g->step = 3;
    graph_bind(m.g, t->params, training ? t->grads : NULL);
    return t;
}

static void close_trial(trial *t)
{
    graph_destroy(t->graph);
    free(t->params);
    free(t->grads);
    free(t->inputs);
    free(t);
}

static void run_trial(trial *t, const double *params, const double *dout, double *out,
                      double *dparams)
{
    tensor *last = t->out;
    graph *g = t->graph;
    real *p = t->params, *d = t->grads;
    for (size_t i = 0; i < t->param_count; i++) p[i] = (real)params[i];
    if (!g->training) g->step++; /* the parameters have changed */
    graph_forward(g);
    for (size_t i = 0; i < t->out_count; i++) out[i] = (double)last->data[i];
    if (!dparams) return;
    for (size_t i = 0; i < t->param_count; i++) d[i] = (real)dparams[i];
    for (size_t i = 0; i < t->out_count; i++) last->grad[i] = (real)dout[i];
    graph_backward(g);
    for (size_t i = 0; i < t->param_count; i++) dparams[i] = (double)d[i];
}

const trial_functions TRIAL = {variants, rounds, open_trial, close_trial, run_trial};
