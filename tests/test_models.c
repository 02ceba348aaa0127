/* Whole models through graphs in double: the golden cases, parameter counts, the inference graph,
 * other sizes, drop path, and overfitting one batch. */

#include "layers/ssm2d/ssm2d_config.h"
#include "models/vit.h"
#include "model_case.h"
#include "ops/ops.h"
#include "problem.h"
#include "tools/reproduce/paper_counts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct net {
    graph *g;
    tensor *logits, *loss;
    double *params, *grads, *targets;
    size_t count;
} net;

/* A graph with a loss; images and targets are the caller's. */
static net net_make(ssm2d_context *context, const model_config *c, int training, size_t batch,
                    const float *params, double *images, double *targets)
{
    net n = {0};
    ssm2d_error error;
    const size_t shape[] = {batch, (size_t)c->outputs};
    if (graph_create(context, training, &n.g, &error)) fail_msg("%s", error.line);
    n.logits = model_build(n.g, c, batch);
    tensor *t = graph_input(n.g, "targets", 2, shape);
    n.loss = cross_entropy(n.g, n.logits, t);
    if (graph_finish(n.g, n.loss, &error)) fail_msg("%s", error.line);
    n.count = n.g->param_count;
    n.params = doubles(n.count);
    n.grads = doubles(n.count);
    for (size_t i = 0; i < n.count; i++) n.params[i] = (double)params[i];
    graph_bind(n.g, n.params, training ? n.grads : NULL);
    graph_find(n.g, "images")->data = images;
    t->data = targets;
    return n;
}

static void net_free(net *n)
{
    graph_destroy(n->g);
    free(n->params), free(n->grads);
}

static void test_models_agree_with_golden_values(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(2);
    for (int i = 0; i < MODEL_CASES; i++) {
        model_case c = model_case_read(context, model_cases[i]);
        net n = net_make(context, &c.config, 1, c.batch, c.params, c.images, c.targets);
        graph_forward(n.g);
        assert_close(c.folder, n.logits->data, c.logits, c.batch * c.classes, 1e-11);
        assert_close(c.folder, n.loss->data, &c.loss, 1, 1e-12);
        n.loss->grad[0] = 1;
        graph_backward(n.g);
        assert_arrays(&c, n.grads, 1.3e-7); /* files store them in float */
        net_free(&n);

        /* the inference graph gives the same */
        n = net_make(context, &c.config, 0, c.batch, c.params, c.images, c.targets);
        graph_forward(n.g);
        assert_close(c.folder, n.logits->data, c.logits, c.batch * c.classes, 1e-11);
        net_free(&n);
        model_case_free(&c);
    }
    ssm2d_context_destroy(context);
}

/* ---- parameter counts ------------------------------------------------------------------------ */

static size_t count_of(ssm2d_context *context, const char *name, int classes, const char *kind,
                       ssm2d_values form)
{
    model_config c;
    weights *w = NULL;
    ssm2d_error error;
    if (model_config_named(name, &c, &error)) fail_msg("%s", error.line);
    c.outputs = classes;
    if (model_config_use_mixer(&c, mixer_find(kind), &error)) fail_msg("%s", error.line);
    if (c.mixer.kind == &layer_ssm2d) ssm2d_config_of(&c.mixer.values)->values = form;
    if (model_config_finish(&c, &error) || weights_create(context, &c, &w, &error))
        fail_msg("%s", error.line);
    size_t total = w->total, sum = 0;
    for (int i = 0; i < w->count; i++) {
        assert_int_equal(w->arrays[i].offset, sum); /* no gaps, in order */
        sum += w->arrays[i].count;
    }
    assert_int_equal(sum, total);
    weights_destroy(w);
    return total;
}

static void test_parameter_counts_have_closed_form(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int classes;
        size_t plain, dim, depth, kn;
    } table[] = {
        {"vit", 100, 2709796, 192, 9, 128},    {"deit-t", 40, 5532136, 192, 12, 32},
        {"deit-s", 40, 21681064, 384, 12, 32}, {"deit-b", 40, 85829416, 768, 12, 32},
        {"vit-mini", 10, 310186, 96, 4, 128},  {"mega", 100, 2761435, 192, 9, 512},
    };
    ssm2d_context *context = context_of(1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const size_t real_mixers = table[i].depth * (8 * table[i].kn + table[i].dim);
        const size_t complex_mixers = table[i].depth * (16 * table[i].kn + table[i].dim);
        assert_int_equal(count_of(context, table[i].name, table[i].classes, "none", SSM2D_REAL),
                         table[i].plain);
        assert_int_equal(count_of(context, table[i].name, table[i].classes, "ssm2d", SSM2D_REAL),
                         table[i].plain + real_mixers);
        assert_int_equal(count_of(context, table[i].name, table[i].classes, "ssm2d", SSM2D_POLAR),
                         table[i].plain + complex_mixers);
    }
    /* 4416 and 2880: channels of all mixers of swin-t and swin; those of swin have C per direction
     * and channel: 6*K*N + 8*N*H + H. Patches of 2 x 2 instead of 4 x 4 pixels have 36 * 96 weights
     * less. */
    assert_int_equal(count_of(context, "swin", 200, "none", SSM2D_REAL), 7149794 - 36 * 96);
    assert_int_equal(count_of(context, "swin", 200, "ssm2d", SSM2D_REAL),
                     7149794 - 36 * 96 + 12 * 6 * 32 + 33 * 2880);
    assert_int_equal(count_of(context, "swin-t", 40, "none", SSM2D_REAL), 27550114);
    assert_int_equal(count_of(context, "swin-t", 40, "ssm2d", SSM2D_REAL),
                     27550114 + 12 * 8 * 16 + 4416);
    ssm2d_context_destroy(context);
}

/* The parameter count of a model as in a row of the paper. */
static size_t paper_total(ssm2d_context *context, const paper_model *m, const paper_count *row)
{
    model_config c;
    weights *w = NULL;
    ssm2d_error error;
    if (model_config_named(m->model, &c, &error)
        || model_config_use_mixer(&c, mixer_find(row->mixer), &error)
        || mixer_config_preset(row->settings, &c.mixer, &error))
        fail_msg("%s: %s", m->model, error.line);
    if (m->image) c.image[0] = c.image[1] = m->image;
    c.outputs = m->classes;
    if (model_config_finish(&c, &error) || weights_create(context, &c, &w, &error))
        fail_msg("%s: %s", m->model, error.line);
    const size_t total = w->learned;
    weights_destroy(w);
    return total;
}

/* The paper sometimes truncates and sometimes rounds, hence the tolerance of more than one unit in
 * the last place. */
static void test_parameter_counts_are_those_of_the_paper(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    int found = 0;
    for (int i = 0; model_at(i); i++) {
        const paper_model *m = paper_model_find(model_at(i)->name);
        found += m != NULL;
        for (const paper_count *p = m ? m->counts : NULL; p && p->mixer; p++) {
            const size_t digits =
                strlen(p->millions) - (size_t)(strchr(p->millions, '.') - p->millions);
            const double unit = digits > 3 ? 0.001 : 0.01;
            const double off = fabs((double)paper_total(context, m, p) / 1e6 - atof(p->millions));
            assert_true(p->table == 1 || p->table == 2 || p->table == 4);
            if (p->unexplained && !p->note) fail_msg("%s has no note", m->model);
            if (p->unexplained ? off <= 1.2 * unit : off > 1.2 * unit)
                fail_msg("%s with %s %s: %g M away from the paper's %s M", m->model, p->mixer,
                         p->settings, off, p->millions);
        }
    }
    assert_int_equal(found, 8); /* the names in the table are those of models */
    ssm2d_context_destroy(context);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* A small model: vit-mini, or another that `set` begins with, with these changes. */
static model_config small_config(const char *const (*set)[2], int count)
{
    model_config c;
    ssm2d_error error;
    static const char *const common[][2] = {
        {"image", "16"}, {"dim", "32"}, {"depth", "2"}, {"classes", "5"}};
    const int is_named = count && !strcmp(set[0][0], "model");
    if (model_config_named(is_named ? set[0][1] : "vit-mini", &c, &error))
        fail_msg("%s", error.line);
    for (int i = 0; i < 4; i++)
        if (model_config_set((field_source){.where = "test"}, common[i][0], common[i][1], &c,
                             &error))
            fail_msg("%s", error.line);
    for (int i = is_named; i < count; i++)
        if (model_config_set((field_source){.where = "test"}, set[i][0], set[i][1], &c, &error))
            fail_msg("%s", error.line);
    if (model_config_finish(&c, &error)) fail_msg("%s", error.line);
    return c;
}

static float *initial(ssm2d_context *context, const model_config *c, uint64_t seed)
{
    weights *w;
    ssm2d_error error;
    if (weights_create(context, c, &w, &error)) fail_msg("%s", error.line);
    float *params = malloc(w->total * sizeof *params);
    if (weights_init(w, PARAM_ALL, seed, params, &error)) fail_msg("%s", error.line);
    weights_destroy(w);
    return params;
}

/* Random images with random labels can only be memorised. A few steps reduce the loss. */
static void overfit(const char *const (*set)[2], int count)
{
    enum { BATCH = 8 };
    const int steps = short_tests() ? 12 : 60;
    ssm2d_context *context = context_of(2);
    model_config c = small_config(set, count);
    rng r = rng_seed(5);
    const size_t pixels = BATCH * (size_t)(c.channels * c.image[0] * c.image[1]),
                 classes = (size_t)c.outputs;
    double *images = doubles(pixels), *targets = doubles(BATCH * classes);
    for (size_t i = 0; i < pixels; i++) images[i] = rng_normal(&r);
    for (size_t b = 0; b < BATCH; b++) targets[b * classes + rng_next(&r) % classes] = 1;
    float *start = initial(context, &c, 1);
    net n = net_make(context, &c, 1, BATCH, start, images, targets);
    double *m = doubles(n.count), *v = doubles(n.count), first = 0;
    for (int step = 1; step <= steps; step++) {
        memset(n.grads, 0, n.count * sizeof *n.grads);
        n.g->step = (uint64_t)step;
        graph_forward(n.g);
        if (step == 1) first = n.loss->data[0];
        n.loss->grad[0] = 1;
        graph_backward(n.g);
        for (size_t i = 0; i < n.count; i++) { /* Adam */
            m[i] = 0.9 * m[i] + 0.1 * n.grads[i];
            v[i] = 0.99 * v[i] + 0.01 * n.grads[i] * n.grads[i];
            n.params[i] -=
                5e-3 * (m[i] / (1 - pow(0.9, step))) / (sqrt(v[i] / (1 - pow(0.99, step))) + 1e-8);
        }
    }
    graph_forward(n.g);
    if (!(first > 1 && n.loss->data[0] < (short_tests() ? 0.7 * first : 1e-2)))
        fail_msg("the loss went from %g to %g", first, n.loss->data[0]);
    net_free(&n);
    free(m), free(v), free(start), free(images), free(targets);
    ssm2d_context_destroy(context);
}

static void test_models_overfit_one_batch(void **state)
{
    (void)state;
    static const char *const with_ssm2d[][2] = {{"mixer", "ssm2d"}, {"pos_embed", "false"}};
    static const char *const with_complex[][2] = {
        {"mixer", "ssm2d"}, {"mixer.values", "polar"}, {"mixer.place", "block"}};
    static const char *const with_ffn[][2] = {
        {"mixer", "ssm2d"}, {"mixer.place", "ffn"}, {"mixer.init", "authors"}};
    static const char *const swin[][2] = {
        {"model", "swin-mini"}, {"dim", "16"}, {"depth", "2,2"}, {"heads", "2"}};
    static const char *const swin_with_ssm2d[][2] = {
        {"model", "swin-mini"}, {"dim", "16"},      {"depth", "2,2"},
        {"heads", "2"},         {"mixer", "ssm2d"}, {"pos_embed", "false"}};
    static const char *const with_s4nd[][2] = {{"mixer", "s4nd"}, {"mixer.place", "block"}};
    static const char *const with_identity[][2] = {
        {"mixer", "s4nd"}, {"mixer.init", "identity"}, {"mixer.place", "ffn"}};
    static const char *const with_ema[][2] = {{"mixer", "ema"}, {"pos_embed", "false"}};
    static const char *const mega[][2] = {{"model", "mega-mini"}},
                             *const mega_with_ema[][2] = {{"model", "mega-mini"},
                                                          {"mixer", "ema"},
                                                          {"norm", "batch"},
                                                          {"pos_embed", "false"}},
                             *const mega_with_ssm2d[][2] = {{"model", "mega-mini"},
                                                            {"mixer", "ssm2d"},
                                                            {"attention", "softmax"}};
    static const char *const convnext[][2] = {{"model", "convnext-mini"},
                                              {"dim", "16"},
                                              {"depth", "2,2"},
                                              {"mixer", "conv"}},
                             *const convnext_with_ssm2d[][2] = {{"model", "convnext-mini"},
                                                                {"dim", "16"},
                                                                {"depth", "2,2"},
                                                                {"mixer", "ssm2d"}};
    overfit(convnext, 4);
    overfit(convnext_with_ssm2d, 4);
    overfit(mega, 1);
    overfit(mega_with_ema, 4);
    overfit(mega_with_ssm2d, 3);
    overfit(swin, 4);
    overfit(swin_with_ssm2d, 6);
    overfit(NULL, 0);
    overfit(with_ssm2d, 2);
    overfit(with_complex, 3);
    overfit(with_ffn, 3);
    overfit(with_s4nd, 2);
    overfit(with_identity, 3);
    overfit(with_ema, 2);
}

/* ---- other ways to run ----------------------------------------------------------------------- */

/* Any patch, any rectangle, any number of colours: finite, and different for different images. */
static void test_any_patch_and_image_shape_works(void **state)
{
    (void)state;
    static const char *const sets[][5][2] = {
        {{"image", "[16, 40]"},
         {"mixer", "ssm2d"},
         {"channels", "1"},
         {"mlp_ratio", "2.5"},
         {"pos_embed", "false"}},
        {{"image", "[7, 21]"},
         {"patch", "7"},
         {"mixer", "ssm2d"},
         {"mixer.directions", "1"},
         {"heads", "8"}},
        {{"image", "5"},
         {"patch", "1"},
         {"mixer", "ssm2d"},
         {"mixer.average", "true"},
         {"mixer.normalize", "true"}},
        {{"image", "8"},
         {"patch", "8"},
         {"mixer", "ssm2d"},
         {"depth", "1"},
         {"mixer.place", "ffn"}},
        {{"image", "[12, 28]"},
         {"mixer", "s4nd"},
         {"mixer.rate", "0.5"},
         {"mixer.d_state", "6"},
         {"mixer.n_ssm", "5"}},
        {{"image", "[20, 8]"},
         {"mixer", "ema"},
         {"mixer.trunc", "3"},
         {"mixer.bidirectional", "false"},
         {"mixer.place", "block"}},
    };
    ssm2d_context *context = context_of(2);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        model_config c = small_config(sets[s], 5);
        const size_t pixels = 2 * (size_t)(c.channels * c.image[0] * c.image[1]);
        double *images = doubles(pixels), targets[10] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 1};
        rng r = rng_seed(s);
        for (size_t i = 0; i < pixels; i++) images[i] = rng_normal(&r);
        float *params = initial(context, &c, 3);
        net n = net_make(context, &c, 1, 2, params, images, targets);
        graph_forward(n.g);
        for (int k = 0; k < 5; k++) {
            assert_true(isfinite(n.logits->data[k]));
            assert_true(n.logits->data[k] != n.logits->data[5 + k]);
        }
        n.loss->grad[0] = 1;
        graph_backward(n.g);
        assert_null(graph_find_bad(n.g));
        net_free(&n);
        free(images), free(params);
    }
    ssm2d_context_destroy(context);
}

/* Weights of one size at another: position embedding interpolated, kernels of the new grid, all
 * else unchanged. */
static void test_weights_work_at_another_size(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"mixer", "ssm2d"}};
    static const int sides[][2] = {{32, 32}, {8, 24}};
    ssm2d_context *context = context_of(2);
    ssm2d_error error;
    model_config c = small_config(set, 1);
    weights *w;
    assert_int_equal(weights_create(context, &c, &w, &error), SSM2D_OK);
    float *params = initial(context, &c, 3);
    for (int s = 0; s < 2; s++) {
        model_config other = c;
        weights *v = NULL;
        other.image[0] = sides[s][0];
        other.image[1] = sides[s][1];
        if (model_config_finish(&other, &error) || weights_create(context, &other, &v, &error))
            fail_msg("%s", error.line);
        float *resized = malloc(v->total * sizeof *resized);
        if (weights_resize(w, params, v, resized, &error)) fail_msg("%s", error.line);
        const param_array *pos = weights_find(v, "pos_embed"),
                          *head = weights_find(v, "head.weight");
        assert_int_equal(pos->shape[1], 1 + sides[s][0] / 4 * (sides[s][1] / 4));
        assert_memory_equal(resized + head->offset, params + weights_find(w, "head.weight")->offset,
                            head->count * sizeof(float));
        const size_t pixels = (size_t)(3 * sides[s][0] * sides[s][1]);
        double *images = doubles(pixels), targets[5] = {1};
        for (size_t i = 0; i < pixels; i++) images[i] = sin(0.01 * (double)i);
        net n = net_make(context, &other, 0, 1, resized, images, targets);
        graph_forward(n.g);
        assert_true(isfinite(n.loss->data[0]) && n.loss->data[0] > 0);
        net_free(&n);
        weights_destroy(v);
        free(resized), free(images);
    }
    /* a model that differs in more than its image is refused */
    model_config wider = c;
    weights *v;
    vit_of(&wider)->dim = 64;
    assert_int_equal(weights_create(context, &wider, &v, &error), SSM2D_OK);
    float *resized = malloc(v->total * sizeof *resized);
    assert_int_equal(weights_resize(w, params, v, resized, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "cls_token"));
    weights_destroy(v);
    weights_destroy(w);
    free(params), free(resized);
    ssm2d_context_destroy(context);
}

/* Drop path acts in training only, with new draws in each step; or, where the first block has the
 * rate 0 and is the only one, not at all. `set` has it last. */
static void check_drop_path(const char *const (*set)[2], int count, int acts)
{
    ssm2d_context *context = context_of(1);
    model_config c = small_config(set, count), plain = small_config(set, count - 1);
    double images[4 * 768], targets[20] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    for (int i = 0; i < 4 * 768; i++) images[i] = sin(0.1 * i);
    float *params = initial(context, &c, 3);
    net dropped = net_make(context, &c, 1, 4, params, images, targets),
        inference = net_make(context, &c, 0, 4, params, images, targets);
    net trained = net_make(context, &plain, 1, 4, params, images, targets);
    graph_forward(inference.g);
    graph_forward(trained.g);
    assert_memory_equal(inference.logits->data, trained.logits->data, 20 * sizeof(double));
    double losses[8];
    int different = 0;
    for (int step = 0; step < 8; step++) {
        dropped.g->step = (uint64_t)step;
        graph_forward(dropped.g);
        losses[step] = dropped.loss->data[0];
        different += losses[step] != losses[0] && losses[step] != trained.loss->data[0];
    }
    assert_true(acts ? different >= 5 : different == 0 && losses[0] == trained.loss->data[0]);
    net_free(&dropped);
    net_free(&inference);
    net_free(&trained);
    free(params);
    ssm2d_context_destroy(context);
}

static void test_drop_path_drops_whole_branches(void **state)
{
    (void)state;
    static const char *const vit[][2] = {{"drop_path", "0.5"}},
                             *const ramp[][2] = {{"drop_path_ramp", "true"}, {"drop_path", "0.5"}},
                             *const first[][2] = {{"depth", "1"},
                                                  {"drop_path_ramp", "true"},
                                                  {"drop_path", "0.5"}},
                             *const mega[][2] = {{"model", "mega-mini"}, {"drop_path", "0.5"}},
                             *const mega_first[][2] = {
                                 {"model", "mega-mini"}, {"depth", "1"}, {"drop_path", "0.5"}};
    static const char *const convnext[][2] = {{"model", "convnext-mini"}, {"dim", "8,16"},
                                              {"depth", "2,2"},           {"layer_scale", "1"},
                                              {"mixer", "conv"},          {"drop_path", "0.5"}};
    check_drop_path(convnext, 6, 1);
    check_drop_path(vit, 1, 1);
    check_drop_path(ramp, 2, 1);
    check_drop_path(first, 3, 0);
    check_drop_path(mega, 2, 1);
    check_drop_path(mega_first, 3, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_agree_with_golden_values),
        cmocka_unit_test(test_parameter_counts_have_closed_form),
        cmocka_unit_test(test_parameter_counts_are_those_of_the_paper),
        cmocka_unit_test(test_models_overfit_one_batch),
        cmocka_unit_test(test_any_patch_and_image_shape_works),
        cmocka_unit_test(test_weights_work_at_another_size),
        cmocka_unit_test(test_drop_path_drops_whole_branches),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
