/* Files of weights: saved weights load unchanged, files that do not fit are refused, and new mixers
 * or a new head get initial values. */
#define _GNU_SOURCE /* mkdtemp */
#include "io/safetensors.h"
#include "weights_fixture.h"

static void test_saved_weights_load_unchanged(void **state)
{
    (void)state;
    ssm2d_error error;
    weights_report report;
    weights *w = weights_of("vit-mini", with_mixer, 2);
    float *params = initial(w, 7), *again = initial(w, 8);
    if (weights_save(w, path, params, &error)
        || weights_load(w, path, NULL, again, &report, &error))
        fail_msg("%s", error.line);
    assert_memory_equal(params, again, w->total * sizeof *params);
    assert_true(!report.new_mixer_arrays && !report.new_head && !report.resized);
    double *arrays = read_arrays(w, path); /* names and shapes */
    free(arrays), free(params), free(again);
    weights_destroy(w);
    assert_int_not_equal(access(path, F_OK), -1);
}

/* A plain model's file loads into a model with mixers; the reverse, which would lose arrays, is
 * refused. */
static void test_missing_mixers_are_initialised(void **state)
{
    (void)state;
    ssm2d_error error;
    weights_report report;
    weights *w = weights_of("vit-mini", with_mixer, 2), *plain = weights_of("vit-mini", NULL, 0);
    float *bare = initial(plain, 7), *params = initial(w, 8), *expected = initial(w, 5);
    const weights_options options = {.seed = 5};
    if (weights_save(plain, path, bare, &error)
        || weights_load(w, path, &options, params, &report, &error))
        fail_msg("%s", error.line);
    assert_int_equal(report.new_mixer_arrays, 4 * 6);
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        const float *from = a->spec.part == PARAM_MIXER ? expected + a->offset
                                                        : bare + find(plain, a->name)->offset;
        assert_memory_equal(params + a->offset, from, a->count * sizeof *params);
    }
    if (weights_save(w, path, params, &error)) fail_msg("%s", error.line);
    assert_int_equal(weights_load(plain, path, NULL, bare, &report, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "has the array blocks.0.mixer."));
    free(bare), free(params), free(expected);
    weights_destroy(w), weights_destroy(plain);
}

/* Writes all arrays of w but `without`; `changed` gets another first axis, of `axis`. */
static void save_changed(const weights *w, float *params, const char *without, const char *changed,
                         size_t axis)
{
    safetensors_item items[128];
    ssm2d_error error;
    size_t count = 0;
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        if (without && !strcmp(a->name, without)) continue;
        safetensors_item *item = &items[count++];
        *item = (safetensors_item){
            .name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = params + a->offset};
        memcpy(item->shape, a->shape, sizeof a->shape);
        if (changed && !strcmp(a->name, changed)) item->shape[0] = axis;
    }
    if (safetensors_write(context, path, count, items, 0, NULL, &error)) fail_msg("%s", error.line);
}

static void assert_load_refused(const weights *w, float *params, const char *part)
{
    ssm2d_error error = {""};
    assert_int_equal(weights_load(w, path, NULL, params, NULL, &error), SSM2D_ERROR_ARGUMENT);
    if (!strstr(error.line, part) || !strstr(error.line, "w.safetensors: "))
        fail_msg("\"%s\" does not say \"%s\"", error.line, part);
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    weights *w = weights_of("vit-mini", with_mixer, 2);
    float *params = initial(w, 7);
    save_changed(w, params, "blocks.1.attn.proj.bias", NULL, 0);
    assert_load_refused(w, params, "the array blocks.1.attn.proj.bias is missing");
    save_changed(w, params, "cls_token", NULL, 0);
    assert_load_refused(w, params, "the array cls_token is missing");
    save_changed(w, params, "blocks.1.mixer.B", NULL, 0);
    assert_load_refused(
        w, params, "the array blocks.1.mixer.B is missing, but other arrays of mixers are present");
    save_changed(w, params, NULL, "blocks.1.mlp.fc1.weight", 191);
    assert_load_refused(
        w, params, "blocks.1.mlp.fc1.weight has the shape (191, 96), the model needs (192, 96)");
    save_changed(w, params, NULL, "blocks.1.mixer.D", 95);
    assert_load_refused(w, params, "blocks.1.mixer.D has the shape (95,), the model needs (96,)");
    save_changed(w, params, NULL, "head.weight", 9);
    assert_load_refused(w, params, "head.weight is for 9 outputs, the model has 10");
    params[find(w, "norm.weight")->offset + 3] = INFINITY;
    save_changed(w, params, NULL, NULL, 0);
    assert_load_refused(w, params, "norm.weight[3] is inf: weights must be finite");
    FILE *f = fopen(path, "w");
    fputs("this is no such file at all, not even nearly", f);
    fclose(f);
    assert_load_refused(w, params, "");
    free(params);
    weights_destroy(w);
}

static void test_new_head_replaces_other_classes(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"classes", "7"}};
    ssm2d_error error;
    weights_report report;
    weights *ten = weights_of("vit-mini", NULL, 0), *seven = weights_of("vit-mini", set, 1);
    float *params = initial(ten, 7), *new = initial(seven, 8), *expected = initial(seven, 5);
    const weights_options options = {.new_head = 1, .seed = 5};
    if (weights_save(ten, path, params, &error)
        || weights_load(seven, path, &options, new, &report, &error))
        fail_msg("%s", error.line);
    assert_int_equal(report.new_head, 1);
    const param_array *a = find(seven, "head.weight");
    assert_memory_equal(new + a->offset, expected + a->offset, a->count * sizeof *new);
    a = find(seven, "head.bias");
    assert_memory_equal(new + a->offset, expected + a->offset, a->count * sizeof *new);
    a = find(seven, "norm.weight");
    /* everything before the head */
    assert_memory_equal(new, params, (a->offset + a->count) * sizeof *new);
    free(params), free(new), free(expected);
    weights_destroy(ten), weights_destroy(seven);
}

/* State is saved and read with the weights, but it is not a parameter and has no gradient. */
static void test_state_is_saved_with_weights(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"depth", "1"}, {"dim", "8"}, {"norm", "batch"}};
    static const char counter[] = "final_norm.norm.num_batches_tracked";
    ssm2d_error error;
    weights *w = weights_of("mega-mini", set, 3), *plain = weights_of("mega-mini", set, 2);
    float *params = initial(w, 7), *again = initial(w, 8);
    const param_array *mean = find(w, "blocks.0.nffn.norm.norm.running_mean"),
                      *variance = find(w, "final_norm.norm.running_var");
    assert_int_equal(w->learned, plain->learned);
    assert_int_equal(plain->total, plain->learned);
    assert_int_equal(w->total, w->learned + 3 * 2 * 8);
    assert_int_equal(mean->spec.group, PARAM_STATE);
    assert_true(params[mean->offset] == 0 && params[variance->offset] == 1);
    for (size_t i = 0; i < w->total; i++) params[i] += (float)i;
    if (weights_save(w, path, params, &error) || weights_load(w, path, NULL, again, NULL, &error))
        fail_msg("%s", error.line);
    assert_memory_equal(params, again, w->total * sizeof *params);

    safetensors *file = NULL;
    if (weights_save_gradients(w, path, params, &error)
        || safetensors_open(context, path, &file, &error))
        fail_msg("%s", error.line);
    assert_int_equal(safetensors_count(file), w->count - 6);
    assert_null(safetensors_find(file, mean->name));
    safetensors_close(file);
    assert_int_equal(weights_load(w, path, NULL, again, NULL, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "running_mean is missing"));

    params[variance->offset + 3] = -1;
    if (weights_save(w, path, params, &error)) fail_msg("%s", error.line);
    assert_int_equal(weights_load(w, path, NULL, again, NULL, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "final_norm.norm.running_var[3] is -1: it cannot be"));
    params[variance->offset + 3] = 1;

    /* PyTorch's counter of batches is accepted for a norm that exists */
    safetensors_item items[64] = {0};
    const float one = 1;
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        items[i] = (safetensors_item){
            .name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = params + a->offset};
        memcpy(items[i].shape, a->shape, (size_t)a->rank * sizeof *a->shape);
    }
    safetensors_item *last = &items[w->count];
    *last = (safetensors_item){.name = counter, .type = SAFETENSORS_F32, .rank = 0, .data = &one};
    if (safetensors_write(context, path, (size_t)w->count + 1, items, 0, NULL, &error)
        || weights_load(w, path, NULL, again, NULL, &error))
        fail_msg("%s", error.line);
    assert_memory_equal(params, again, w->total * sizeof *params);
    last->name = "nobody.num_batches_tracked";
    if (safetensors_write(context, path, (size_t)w->count + 1, items, 0, NULL, &error))
        fail_msg("%s", error.line);
    assert_int_equal(weights_load(w, path, NULL, again, NULL, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "has the array nobody.num_batches_tracked"));
    free(params), free(again);
    weights_destroy(w), weights_destroy(plain);
}

/* ---- out of memory --------------------------------------------------------------------------- */

static int left; /* allocations that succeed */

static void *take(size_t bytes, void *user)
{
    (void)user;
    return left-- > 0 ? malloc(bytes) : NULL;
}

static void give(void *memory, void *user)
{
    (void)user;
    free(memory);
}

/* Whichever allocation fails, the result is an error and nothing leaks (sanitizers check) or is
 * written. */
static void test_any_allocation_may_fail(void **state)
{
    (void)state;
    ssm2d_context *poor;
    ssm2d_context_options options = {
        .size = sizeof options, .threads = 1, .allocate = take, .release = give};
    ssm2d_error error;
    model_config c;
    assert_int_equal(model_config_named("vit-mini", &c, &error), SSM2D_OK);
    assert_int_equal(model_config_use_mixer(&c, &layer_ssm2d, &error), SSM2D_OK);
    assert_int_equal(model_config_finish(&c, &error), SSM2D_OK);
    left = 1000;
    assert_int_equal(ssm2d_context_create(&options, &poor, &error), SSM2D_OK);
    int failed = 0, done = 0;
    for (int allowed = 0; !done && allowed < 2000; allowed++) {
        weights *w = NULL;
        float *params = NULL;
        left = allowed;
        ssm2d_status status = weights_create(poor, &c, &w, &error);
        if (!status) params = initial(w, 1);
        if (!status) status = weights_save(w, path, params, &error);
        if (!status) status = weights_load(w, path, NULL, params, NULL, &error);
        assert_true(status == SSM2D_OK || status == SSM2D_ERROR_MEMORY);
        failed += status != SSM2D_OK;
        done = status == SSM2D_OK;
        left = 0;
        free(params);
        weights_destroy(w);
    }
    assert_true(done && failed > 50);
    ssm2d_context_destroy(poor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved_weights_load_unchanged),
        cmocka_unit_test(test_missing_mixers_are_initialised),
        cmocka_unit_test(test_bad_files_are_refused),
        cmocka_unit_test(test_new_head_replaces_other_classes),
        cmocka_unit_test(test_state_is_saved_with_weights),
        cmocka_unit_test(test_any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
