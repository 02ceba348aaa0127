/* Mega against plain loops in double that were written from its formulas, forward and (by
 * differences of the loops) backward; BatchNorm over training and evaluation; other image sizes;
 * configurations that are refused. */

#include "layers/ssm2d/ssm2d_config.h"
#include "models/mega.h"
#include "models/weights.h"
#include "ops/ops.h"
#include "oracle.h"
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the reference --------------------------------------------------------------------------- */

typedef struct reference {
    const model_config *c;
    const mega_config *m;
    const weights *w;
    const double *params;
    size_t batch, rows, cols, tokens;
    int from_batch; /* BatchNorm's moments */
} reference;

/* An array by its name, in a block unless `block` is -1. */
static const double *array(const reference *f, const char *name, int block)
{
    char full[128];
    if (block >= 0)
        snprintf(full, sizeof full, "blocks.%d.%s", block, name);
    else
        snprintf(full, sizeof full, "%s", name);
    const param_array *a = weights_find(f->w, full);
    if (!a) fail_msg("there is no array %s", full);
    return f->params + a->offset;
}

static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double silu_of(double x) { return x * logistic(x); }

/* y = x W^T + b for all rows; NAME.weight and NAME.bias. */
static double *apply_linear(const reference *f, const double *x, size_t rows, size_t in, size_t out,
                            const char *name, int block)
{
    char part[64];
    double *y = doubles(rows * out);
    snprintf(part, sizeof part, "%s.weight", name);
    const double *w = array(f, part, block);
    snprintf(part, sizeof part, "%s.bias", name);
    /* the head of lra alone has no bias */
    const int has_bias = f->m->head != MEGA_LRA || strcmp(name, "head") != 0;
    const double *b = has_bias ? array(f, part, block) : NULL;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            double sum = b ? b[o] : 0;
            for (size_t i = 0; i < in; i++) sum += x[r * in + i] * w[o * in + i];
            y[r * out + o] = sum;
        }
    return y;
}

static void moments(const double *x, size_t count, size_t step, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (size_t i = 0; i < count; i++) *mean += x[i * step] / (double)count;
    for (size_t i = 0; i < count; i++)
        *variance += (x[i * step] - *mean) * (x[i * step] - *mean) / (double)count;
}

static double *apply_norm(const reference *f, const double *x, const char *name, int block)
{
    char part[64];
    const size_t rows = f->batch * f->tokens, D = (size_t)f->m->dim;
    double *y = doubles(rows * D), mean, variance;
    snprintf(part, sizeof part, "%s.weight", name);
    const double *gamma = array(f, part, block);
    snprintf(part, sizeof part, "%s.bias", name);
    const double *beta = array(f, part, block), *running_mean = NULL, *running_var = NULL;
    const int by_batch = f->m->norm == MEGA_BATCH_NORM;
    if (by_batch) {
        snprintf(part, sizeof part, "%s.running_mean", name);
        running_mean = array(f, part, block);
        snprintf(part, sizeof part, "%s.running_var", name);
        running_var = array(f, part, block);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < D; d++) {
            if (by_batch && f->from_batch)
                moments(x + d, rows, D, &mean, &variance);
            else if (by_batch)
                mean = running_mean[d], variance = running_var[d];
            else
                moments(x + r * D, D, 1, &mean, &variance);
            y[r * D + d] =
                (x[r * D + d] - mean) / sqrt(variance + f->m->norm_eps) * gamma[d] + beta[d];
        }
    return y;
}

/* The 2-D SSM by the oracle; without a mixer, or elsewhere, a copy. */
static double *apply_mixer(const reference *f, const double *x, size_t channels, mixer_place place,
                           int block)
{
    const size_t count = f->batch * f->tokens * channels;
    double *y = doubles(count);
    memcpy(y, x, count * sizeof *y);
    if ((mixer_place)f->c->mixer.place != place || f->c->mixer.kind == &mixer_none) return y;
    layer_values values = f->c->mixer.values;
    ssm2d_config layer = *ssm2d_config_of(&values);
    layer.channels = (int)channels;
    oracle_forward(&layer, f->params + f->w->block[block].offset, f->batch, f->rows, f->cols, x, y);
    return y;
}

static double score_function(const reference *f, double s)
{
    if (f->m->attention == MEGA_SOFTMAX) return exp(s);
    return (1 + erf((s - 0.707107) / (0.282095 * sqrt(2)))) / 2;
}

/* a V for one image. Z: [T][z], V, out: [T][v] */
static void apply_attention(const reference *f, const double *Z, const double *V, int block,
                            double *out)
{
    const size_t T = f->tokens, z = (size_t)f->m->z, v = (size_t)f->m->v;
    const double *gamma = array(f, "mega_layer.gamma", block),
                 *beta = array(f, "mega_layer.beta", block),
                 *bias = f->m->relative_bias
                             ? array(f, "mega_layer.rel_pos_bias.rel_pos_bias", block)
                             : NULL;
    const size_t P = f->m->max_positions ? (size_t)f->m->max_positions : T;
    for (size_t i = 0; i < T; i++) {
        double sum = 0;
        for (size_t e = 0; e < v; e++) out[i * v + e] = 0;
        for (size_t j = 0; j < T; j++) {
            double dot = 0;
            for (size_t d = 0; d < z; d++)
                dot += (Z[i * z + d] * gamma[d] + beta[d])
                       * (Z[j * z + d] * gamma[z + d] + beta[z + d]);
            dot *= f->m->attention == MEGA_SOFTMAX ? 1 / sqrt((double)z) : 1 / (double)T;
            const double a = score_function(f, dot + (bias ? bias[P - 1 + j - i] : 0));
            sum += a;
            for (size_t e = 0; e < v; e++) out[i * v + e] += a * V[j * v + e];
        }
        for (size_t e = 0; f->m->attention == MEGA_SOFTMAX && e < v; e++) out[i * v + e] /= sum;
    }
}

/* Frees x and returns the block's output. */
static double *apply_block(const reference *f, double *x, int block)
{
    const size_t rows = f->batch * f->tokens, D = (size_t)f->m->dim, z = (size_t)f->m->z,
                 v = (size_t)f->m->v, ffn = (size_t)f->m->ffn, wide = 2 * D + z + v;
    double *mixed = apply_mixer(f, x, D, PLACE_BLOCK, block);
    free(x);
    x = mixed;
    double *n = apply_norm(f, x, "mega_layer.norm.norm", block);
    double *V = apply_linear(f, n, rows, D, v, "mega_layer.v_proj", block);
    for (size_t i = 0; i < rows * v; i++) V[i] = silu_of(V[i]);
    double *M = apply_mixer(f, n, D, PLACE_ATTN, block);
    double *all = apply_linear(f, M, rows, D, wide, "mega_layer.mx_proj", block);
    double *Z = doubles(rows * z), *a = doubles(rows * v);
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < z; d++) Z[r * z + d] = silu_of(all[r * wide + D + d]);
    for (size_t b = 0; b < f->batch; b++)
        apply_attention(f, Z + b * f->tokens * z, V + b * f->tokens * v, block,
                        a + b * f->tokens * v);
    for (size_t r = 0; r < rows; r++)
        for (size_t e = 0; e < v; e++) a[r * v + e] *= silu_of(all[r * wide + D + z + e]);
    double *h = apply_linear(f, a, rows, v, D, "mega_layer.h_proj", block);
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < D; d++) {
            const double u = logistic(all[r * wide + d]),
                         H = silu_of(all[r * wide + D + z + v + d] + h[r * D + d]);
            x[r * D + d] = u * H + (1 - u) * x[r * D + d];
        }
    free(n), free(V), free(M), free(all), free(Z), free(a), free(h);

    n = apply_norm(f, x, "nffn.norm.norm", block);
    double *first = apply_linear(f, n, rows, D, ffn, "nffn.fc1", block);
    double *hidden = apply_mixer(f, first, ffn, PLACE_FFN, block);
    for (size_t i = 0; i < rows * ffn; i++) hidden[i] = silu_of(hidden[i]);
    double *y = apply_linear(f, hidden, rows, ffn, D, "nffn.fc2", block);
    for (size_t i = 0; i < rows * D; i++) y[i] += x[i];
    free(x), free(n), free(first), free(hidden);
    return y;
}

static double *projection_head(const reference *f, const double *n, size_t all, size_t D,
                               size_t classes)
{
    double *y = apply_linear(f, n, all, D, D, "out_proj.fc", -1), *mean = doubles(f->batch * D);
    for (size_t r = 0; r < all; r++)
        for (size_t d = 0; d < D; d++)
            mean[r / f->tokens * D + d] += silu_of(y[r * D + d]) / (double)f->tokens;
    double *out = apply_linear(f, mean, f->batch, D, classes, "head", -1);
    free(y), free(mean);
    return out;
}

static double *lra_head(const reference *f, const double *n, size_t all, size_t D, size_t classes)
{
    double *mean = doubles(f->batch * D);
    for (size_t r = 0; r < all; r++)
        for (size_t d = 0; d < D; d++)
            mean[r / f->tokens * D + d] += n[r * D + d] / (double)f->tokens;
    double *y = apply_linear(f, mean, f->batch, D, 2 * D, "out_proj.fc", -1);
    for (size_t i = 0; i < f->batch * 2 * D; i++) y[i] *= 0.5 * (1 + erf(y[i] / sqrt(2)));
    double *out = apply_linear(f, y, f->batch, 2 * D, classes, "head", -1);
    free(y), free(mean);
    return out;
}

/* images: [batch][channels][rows][cols], logits: [batch][classes] */
static void reference_logits(const reference *f, const double *images, double *logits)
{
    const size_t D = (size_t)f->m->dim, C = (size_t)f->c->channels, side = (size_t)f->m->patch;
    const size_t all = f->batch * f->tokens, classes = (size_t)f->c->outputs;
    const size_t width = (size_t)f->c->image[1], height = (size_t)f->c->image[0];
    const double *w = array(f, "patch_embed.proj.weight", -1),
                 *b = array(f, "patch_embed.proj.bias", -1),
                 *pos = f->m->pos_embed ? array(f, "pos_embed", -1) : NULL;
    double *x = doubles(all * D);
    for (size_t r = 0; r < all; r++)
        for (size_t d = 0; d < D; d++) {
            const size_t image = r / f->tokens, t = r % f->tokens;
            const size_t top = t / f->cols * side, left = t % f->cols * side;
            double sum = b[d] + (pos ? pos[t * D + d] : 0);
            for (size_t c = 0; c < C; c++)
                for (size_t i = 0; i < side; i++)
                    for (size_t j = 0; j < side; j++)
                        sum += w[((d * C + c) * side + i) * side + j]
                               * images[((image * C + c) * height + top + i) * width + left + j];
            x[r * D + d] = sum;
        }
    for (int i = 0; i < f->m->depth; i++) x = apply_block(f, x, i);
    double *n = apply_norm(f, x, "final_norm.norm", -1);
    double *out = (f->m->head == MEGA_LRA ? lra_head : projection_head)(f, n, all, D, classes);
    memcpy(logits, out, f->batch * classes * sizeof *out);
    free(x), free(n), free(out);
}

/* ---- models ---------------------------------------------------------------------------------- */

enum { MAX_SETS = 8 };
typedef const char *const setting[2];

/* A small Mega with widths that all differ, with changes. */
static model_config config_of(setting *set)
{
    model_config c;
    ssm2d_error error;
    static setting common[] = {{"image", "8"}, {"patch", "4"}, {"dim", "12"}, {"depth", "2"},
                               {"z", "5"},     {"v", "9"},     {"ffn", "10"}, {"classes", "4"}};
    if (model_config_named("mega-mini", &c, &error)) fail_msg("%s", error.line);
    for (int i = 0; i < 8; i++)
        if (model_config_set((field_source){.where = "test"}, common[i][0], common[i][1], &c,
                             &error))
            fail_msg("%s", error.line);
    for (int i = 0; i < MAX_SETS && set[i][0]; i++)
        if (model_config_set((field_source){.where = "test"}, set[i][0], set[i][1], &c, &error))
            fail_msg("%s", error.line);
    if (model_config_finish(&c, &error)) fail_msg("%s", error.line);
    return c;
}

typedef struct net {
    ssm2d_context *context;
    model_config config;
    weights *w;
    graph *g;
    tensor *logits;
    double *params, *grads, *images;
    size_t batch, pixels;
} net;

static void net_open(net *n, const model_config *c, size_t batch, int training, int random,
                     uint64_t seed)
{
    ssm2d_error error;
    *n = (net){.context = context_of(2), .config = *c, .batch = batch};
    if (weights_create(n->context, &n->config, &n->w, &error)
        || graph_create(n->context, training, &n->g, &error))
        fail_msg("%s", error.line);
    n->g->random = random;
    n->logits = model_build(n->g, &n->config, batch);
    if (graph_finish(n->g, n->logits, &error)) fail_msg("%s", error.line);
    n->params = doubles(n->w->total);
    n->grads = doubles(n->w->total);
    n->pixels = batch * (size_t)(c->channels * c->image[0] * c->image[1]);
    n->images = doubles(n->pixels);
    rng r = rng_seed(seed);
    for (int i = 0; i < n->w->count; i++)
        for (size_t k = 0; k < n->w->arrays[i].count; k++) {
            double *x = &n->params[n->w->arrays[i].offset + k];
            *x = 0.4 * rng_normal(&r);
            if (n->w->arrays[i].spec.nonnegative) *x = 0.5 + *x * *x;
        }
    for (size_t i = 0; i < n->pixels; i++) n->images[i] = rng_normal(&r);
    graph_bind(n->g, n->params, training ? n->grads : NULL);
    graph_find(n->g, "images")->data = n->images;
}

static void net_close(net *n)
{
    graph_destroy(n->g);
    weights_destroy(n->w);
    free(n->params), free(n->grads), free(n->images);
    ssm2d_context_destroy(n->context);
}

static reference reference_of(const net *n, const double *params)
{
    reference f = {.c = &n->config,
                   .m = (const mega_config *)(const void *)n->config.own,
                   .w = n->w,
                   .params = params,
                   .batch = n->batch,
                   .from_batch = n->g->random};
    f.rows = (size_t)(n->config.image[0] / f.m->patch);
    f.cols = (size_t)(n->config.image[1] / f.m->patch);
    f.tokens = f.rows * f.cols;
    return f;
}

/* The sum of logits with weights, of the reference at params + step * direction. */
static double along(const net *n, const double *from, const double *direction, double step,
                    const double *dout)
{
    double *params = doubles(n->w->total), *logits = doubles(n->logits->count), sum = 0;
    for (size_t i = 0; i < n->w->total; i++) params[i] = from[i] + step * direction[i];
    const reference f = reference_of(n, params);
    reference_logits(&f, n->images, logits);
    for (size_t i = 0; i < n->logits->count; i++) sum += dout[i] * logits[i];
    free(params), free(logits);
    return sum;
}

/* Each array's gradient in a random direction. */
static void check_gradients(const net *n, const double *from, const double *dout)
{
    const double h = 1e-3;
    double *direction = doubles(n->w->total);
    rng r = rng_seed(8);
    for (int i = 0; i < n->w->count; i++) {
        const param_array *a = &n->w->arrays[i];
        memset(direction, 0, n->w->total * sizeof *direction);
        double got = 0, size = 0;
        for (size_t k = a->offset; k < a->offset + a->count; k++) {
            direction[k] = rng_normal(&r) / sqrt((double)a->count);
            got += n->grads[k] * direction[k];
            size = fmax(size, fabs(n->grads[k]));
        }
        if (a->spec.group == PARAM_STATE) { /* it has no gradient */
            assert_true(size == 0);
            continue;
        }
        const double one = along(n, from, direction, h, dout) - along(n, from, direction, -h, dout),
                     two = along(n, from, direction, 2 * h, dout)
                           - along(n, from, direction, -2 * h, dout),
                     want = (8 * one - two) / (12 * h);
        if (fabs(got - want) > 1e-7 * (1e-2 + size))
            fail_msg("%s: gradient %.12g, differences of the reference %.12g (largest %g)", a->name,
                     got, want, size);
        if (!(size > 0)) fail_msg("%s: has no gradient at all", a->name);
    }
    free(direction);
}

static void compare(setting *set, size_t batch, int random)
{
    net n;
    const model_config c = config_of(set);
    net_open(&n, &c, batch, 1, random, 3);
    const size_t outputs = n.logits->count;
    double *want = doubles(outputs), *dout = doubles(outputs), *from = doubles(n.w->total);
    memcpy(from, n.params, n.w->total * sizeof *from); /* a step changes running moments */
    const reference f = reference_of(&n, from);
    reference_logits(&f, n.images, want);
    graph_forward(n.g);
    assert_int_equal(differs("logits", n.logits->data, want, outputs, 1e-12), 0);
    rng r = rng_seed(4);
    for (size_t i = 0; i < outputs; i++) n.logits->grad[i] = dout[i] = rng_normal(&r);
    graph_backward(n.g);
    check_gradients(&n, from, dout);
    free(want), free(dout), free(from);
    net_close(&n);
}

static void model_agrees_with_its_formula(void **state)
{
    (void)state;
    static setting sets[][MAX_SETS] = {
        {{"image", "8"}},
        {{"image", "[8, 12]"}, {"max_positions", "9"}, {"channels", "1"}},
        {{"image", "[12, 4]"}, {"attention", "softmax"}, {"pos_embed", "false"}, {"z", "16"}},
        {{"image", "3"}, {"patch", "1"}, {"channels", "2"}, {"attention", "softmax"}},
        {{"image", "[8, 12]"}, {"mixer", "ssm2d"}, {"mixer.n_ssm", "1"}, {"mixer.d_state", "2"}},
        {{"image", "[12, 8]"},
         {"mixer", "ssm2d"},
         {"mixer.n_ssm", "1"},
         {"mixer.d_state", "2"},
         {"mixer.place", "block"},
         {"mixer.values", "polar"}},
        {{"image", "[8, 12]"},
         {"mixer", "ssm2d"},
         {"mixer.n_ssm", "1"},
         {"mixer.d_state", "2"},
         {"mixer.place", "ffn"},
         {"attention", "softmax"},
         {"max_positions", "12"}},
        {{"image", "4"}, {"norm_eps", "0.1"}}, /* one token */
        /* drops nothing, but uses the operators of drop path */
        {{"image", "[8, 12]"}, {"drop_path", "1e-15"}},
        {{"image", "[4, 8]"}, {"norm", "batch"}},
        {{"image", "[8, 12]"}, {"relative_bias", "false"}},
        {{"image", "[8, 12]"}, {"head", "lra"}},
        {{"image", "[2, 3]"}, {"patch", "1"}, {"head", "lra"}, {"norm", "batch"}},
        {{"image", "[8, 12]"}, {"relative_bias", "false"}, {"attention", "softmax"}},
        {{"image", "[8, 12]"},
         {"norm", "batch"},
         {"mixer", "ssm2d"},
         {"mixer.n_ssm", "1"},
         {"mixer.d_state", "2"}},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        compare(sets[i], 2, 1);
        compare(sets[i], 1 + i % 3, 0);
    }
}

/* With more tokens than this, most values are recomputed instead of being kept. */
static void long_sequences_agree_with_the_formula(void **state)
{
    (void)state;
    static setting set[MAX_SETS] = {{"image", "[21, 25]"}, {"patch", "1"},   {"dim", "3"},
                                    {"depth", "1"},        {"z", "2"},       {"v", "2"},
                                    {"ffn", "3"},          {"norm", "batch"}};
    if (short_tests()) return;
    compare(set, 1, 1);
}

static double *logits_and_gradients(int threads, setting *set)
{
    const model_config c = config_of(set);
    net n;
    net_open(&n, &c, 3, 1, 1, 3);
    ssm2d_context *context = context_of(threads);
    graph *g;
    ssm2d_error error;
    if (graph_create(context, 1, &g, &error)) fail_msg("%s", error.line);
    tensor *out = model_build(g, &c, 3);
    if (graph_finish(g, out, &error)) fail_msg("%s", error.line);
    graph_bind(g, n.params, n.grads);
    graph_find(g, "images")->data = n.images;
    graph_forward(g);
    double *all = doubles(out->count + 2 * n.w->total);
    memcpy(all, out->data, out->count * sizeof *all);
    for (size_t i = 0; i < out->count; i++) out->grad[i] = 1;
    graph_backward(g);
    memcpy(all + 12, n.grads, n.w->total * sizeof *all);
    memcpy(all + 12 + n.w->total, n.params, n.w->total * sizeof *all);
    graph_destroy(g);
    ssm2d_context_destroy(context);
    net_close(&n);
    return all;
}

/* Logits, gradients and running moments. */
static void thread_count_changes_no_bit(void **state)
{
    (void)state;
    static setting sets[][MAX_SETS] = {
        {{"image", "32"}, {"norm", "batch"}, {"mixer", "ema"}},
        {{"image", "[40, 16]"}, {"mixer", "ssm2d"}, {"attention", "softmax"}},
        {{"image", "[24, 24]"}, {"patch", "1"}, {"depth", "1"}, {"norm", "batch"}}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const model_config c = config_of(sets[i]);
        ssm2d_context *context = context_of(1);
        weights *w;
        ssm2d_error error;
        if (weights_create(context, &c, &w, &error)) fail_msg("%s", error.line);
        const size_t count = 12 + 2 * w->total;
        double *want = logits_and_gradients(1, sets[i]);
        for (int threads = 2; threads <= 4; threads++) {
            double *got = logits_and_gradients(threads, sets[i]);
            assert_int_equal(bits_differ("mega", got, want, count), 0);
            free(got);
        }
        free(want);
        weights_destroy(w);
        ssm2d_context_destroy(context);
    }
}

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *says, *remedy;
    } bad[] = {
        {"image", "30", "\"patch\" is 4", "cannot be cut"},
        {"max_positions", "63", "\"max_positions\" is 63, but there are 64 tokens",
         "use 0, or at least"},
        {"heads", "2", "\"heads\" is 2", "use"},
        {"z", "0", "\"z\"", "use"},
        {"v", "-1", "\"v\" is -1", "use"},
        {"ffn", "0", "\"ffn\"", "use"},
        {"attention", "linear", "\"attention\" is \"linear\"", "laplace or softmax"},
        {"norm", "group", "\"norm\" is \"group\"", "layer or batch"},
        {"drop_path", "1", "\"drop_path\" is 1", "use a number from 0 to 0.99"},
        {"window", "4", "window", "not a known key"},
        {"max_position", "64", "max_position", "did you mean \"max_positions\"?"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        model_config c;
        ssm2d_error error;
        if (model_config_named("mega-mini", &c, &error)) fail_msg("%s", error.line);
        ssm2d_status status =
            model_config_set((field_source){.where = "test"}, bad[i].key, bad[i].value, &c, &error);
        if (!status) status = model_config_finish(&c, &error);
        assert_int_equal(status, SSM2D_ERROR_ARGUMENT);
        says(&error, bad[i].says, bad[i].remedy);
    }
}

/* In training BatchNorm needs a variance, which a single row does not have; in evaluation it does
 * not. */
static void one_token_has_no_variance(void **state)
{
    (void)state;
    static setting set[MAX_SETS] = {{"image", "4"}, {"norm", "batch"}};
    const model_config c = config_of(set);
    ssm2d_context *context = context_of(1);
    ssm2d_error error;
    for (int training = 0; training < 2; training++) {
        graph *g;
        if (graph_create(context, training, &g, &error)) fail_msg("%s", error.line);
        tensor *out = model_build(g, &c, 1);
        assert_int_equal(out != NULL, !training);
        if (training) {
            assert_int_equal(graph_finish(g, out, &error), SSM2D_ERROR_ARGUMENT);
            says(&error, "batch_norm", "use larger batches");
        }
        graph_destroy(g);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_agrees_with_its_formula),
        cmocka_unit_test(long_sequences_agree_with_the_formula),
        cmocka_unit_test(thread_count_changes_no_bit),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(one_token_has_no_variance),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
