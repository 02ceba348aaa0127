/* libssm2d_model as a program uses it, linked as a shared library: golden logits of every family,
 * features, probabilities, and pixels prepared as `ssm2d eval` prepares them. */
#include "session_helpers.h"
#include "tool/tool_run.h"

#include "data/augment.h"
#include "data/picture.h"
#include "inference/evaluator.h"
#include "io/image.h"
#include "io/npy.h"
#include "model_case.h"
#include "ssm2d_model.h"

#include <float.h>
#include <math.h>

static ssm2d_context *context;
static ssm2d_error error;

static int group_setup(void **state)
{
    (void)state;
    return ssm2d_context_create(NULL, &context, NULL) ? -1 : 0;
}

static int group_teardown(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    return 0;
}

static ssm2d_model *open_case(const model_case *c)
{
    ssm2d_model *m;
    char config[600], weights_path[600];
    snprintf(config, sizeof config, "%s/config.json", c->folder);
    snprintf(weights_path, sizeof weights_path, "%s/weights.safetensors", c->folder);
    if (ssm2d_model_open_files(config, weights_path, NULL, &m, &error)) fail_msg("%s", error.line);
    return m;
}

static ssm2d_session *session_of(const ssm2d_model *m, ssm2d_session_options o)
{
    ssm2d_session *p;
    if (ssm2d_session_create(m, &o, &p, &error)) fail_msg("%s", error.line);
    return p;
}

static ssm2d_session_options options_for(size_t batch, int threads)
{
    ssm2d_session_options o = ssm2d_session_options_default();
    o.batch = batch;
    o.threads = threads;
    return o;
}

static float *as_floats(const double *x, size_t count, size_t shift)
{
    float *out = malloc((count + shift) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) out[shift + i] = (float)x[i];
    return out;
}

static double *as_doubles(const float *x, size_t count)
{
    double *out = malloc(count * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) out[i] = (double)x[i];
    return out;
}

/* ---- golden models --------------------------------------------------------------------------- */

static void check_info(const ssm2d_model *m, const model_case *c)
{
    const ssm2d_model_info info = ssm2d_model_info_of(m);
    ssm2d_model_preparation none = ssm2d_model_preparation_default();
    assert_int_equal(info.outputs, c->classes);
    assert_string_equal(info.task, "classification");
    assert_string_equal(info.activation, "softmax");
    assert_int_equal(info.rows, c->config.image[0]);
    assert_int_equal(info.cols, c->config.image[1]);
    assert_int_equal(info.channels, c->config.channels);
    assert_int_equal(info.parameters, c->weights->learned);
    assert_string_equal(info.model, c->config.model->name);
    assert_string_equal(info.family, c->config.model->family->name);
    assert_string_equal(info.mixer, c->config.mixer.kind->name);
    assert_int_equal(info.blocks, c->config.model->family->depth(&c->config));
    assert_null(ssm2d_model_output_name(m, 0));
    assert_int_equal(ssm2d_model_preparation_get(m, &none), 0);
}

/* All images at once, and in batches that are not full, from memory of any alignment. */
static void check_logits(const ssm2d_model *m, const model_case *c)
{
    const size_t elements = c->batch * c->classes;
    float *images = as_floats(c->images, c->batch * c->pixels, 1);
    float *logits = malloc((elements + 1) * sizeof *logits),
          *again = malloc(elements * sizeof *again);
    ssm2d_session *all = session_of(m, options_for(c->batch, 1));
    assert_int_equal(ssm2d_session_output_of(all).count, c->classes);
    assert_int_equal(ssm2d_session_output_of(all).tokens, 0);
    assert_true(ssm2d_session_bytes(all) > c->batch * c->pixels * sizeof(float));
    logits[elements] = 123;
    assert_int_equal(ssm2d_session_run(all, images + 1, c->batch, logits, &error), SSM2D_OK);
    assert_true(logits[elements] == 123);
    double *got = as_doubles(logits, elements);
    assert_close(c->folder, got, c->logits, elements, 1e-5);
    free(got);
    ssm2d_session_destroy(all);

    ssm2d_session *more = session_of(m, options_for(c->batch + 2, 2));
    assert_int_equal(ssm2d_session_run(more, images + 1, c->batch, again, &error), SSM2D_OK);
    got = as_doubles(again, elements);
    assert_close(c->folder, got, c->logits, elements, 1e-5);
    free(got);
    ssm2d_session_destroy(more);
    free(images), free(logits), free(again);
}

static void test_logits_equal_golden_ones(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_CASES; i++) {
        model_case c = model_case_read(context, model_cases[i]);
        ssm2d_model *m = open_case(&c);
        check_info(m, &c);
        check_logits(m, &c);
        ssm2d_model_close(m);
        model_case_free(&c);
    }
}

/* ---- features -------------------------------------------------------------------------------- */

/* The tokens after some blocks, by the family's builder. */
static float *expected_tokens(const model_case *c, const float *images, int blocks, size_t *count)
{
    evaluator *e;
    if (evaluator_create_tokens(context, c->weights, c->params, (evaluator_precision){0}, c->batch,
                                blocks, &e, &error))
        fail_msg("%s", error.line);
    const float *tokens = evaluator_run(e, images, c->batch);
    *count = e->out->count;
    float *out = malloc(*count * sizeof *out);
    memcpy(out, tokens, *count * sizeof *out);
    evaluator_destroy(e);
    return out;
}

static void test_features_have_shape_and_values_of_every_block(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_CASES; i++) {
        model_case c = model_case_read(context, model_cases[i]);
        ssm2d_model *m = open_case(&c);
        float *images = as_floats(c.images, c.batch * c.pixels, 0);
        const int blocks = ssm2d_model_info_of(m).blocks;
        assert_true(blocks > 0);
        for (int block = 1; block <= blocks; block++) {
            ssm2d_session_options o = options_for(c.batch, 1);
            size_t count;
            o.features = block;
            float *expected = expected_tokens(&c, images, block, &count);
            ssm2d_session *p = session_of(m, o);
            const ssm2d_session_output out = ssm2d_session_output_of(p);
            assert_int_equal(out.count * c.batch, count);
            assert_int_equal(out.tokens * out.dim, out.count);
            assert_int_equal(out.first + out.grid_rows * out.grid_cols, out.tokens);
            float *got = malloc(count * sizeof *got);
            assert_int_equal(ssm2d_session_run(p, images, c.batch, got, &error), SSM2D_OK);
            assert_memory_equal(got, expected, count * sizeof *got);
            ssm2d_session_destroy(p);
            free(got), free(expected);
        }
        ssm2d_session_options o = options_for(c.batch, 1);
        ssm2d_session *p;
        o.features = blocks + 1;
        assert_int_equal(ssm2d_session_create(m, &o, &p, &error), SSM2D_ERROR_ARGUMENT);
        assert_null(p);
        assert_non_null(strstr(error.line, "features="));
        free(images);
        ssm2d_model_close(m);
        model_case_free(&c);
    }
}

static const float *weight(const model_case *c, const char *name)
{
    const param_array *a = weights_find(c->weights, name);
    assert_non_null(a);
    return c->params + a->offset;
}

/* The features after the last block of a ViT are what its head reads: LayerNorm of the class token,
 * then the linear layer give the golden logits. */
static void test_head_applied_to_features_gives_logits(void **state)
{
    (void)state;
    model_case c = model_case_read(context, "01_vit");
    ssm2d_model *m = open_case(&c);
    ssm2d_session_options o = options_for(c.batch, 1);
    o.features = ssm2d_model_info_of(m).blocks;
    ssm2d_session *p = session_of(m, o);
    const ssm2d_session_output out = ssm2d_session_output_of(p);
    float *images = as_floats(c.images, c.batch * c.pixels, 0);
    float *tokens = malloc(c.batch * out.count * sizeof *tokens);
    double *logits = malloc(c.batch * c.classes * sizeof *logits);
    assert_int_equal(out.first, 1);
    assert_int_equal(ssm2d_session_run(p, images, c.batch, tokens, &error), SSM2D_OK);
    const float *scale = weight(&c, "norm.weight"), *shift = weight(&c, "norm.bias");
    const float *head = weight(&c, "head.weight"), *bias = weight(&c, "head.bias");
    for (size_t b = 0; b < c.batch; b++) {
        const float *x = tokens + b * out.count;
        double mean = 0, variance = 0;
        for (size_t i = 0; i < out.dim; i++) mean += (double)x[i] / (double)out.dim;
        for (size_t i = 0; i < out.dim; i++)
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)out.dim;
        for (size_t k = 0; k < c.classes; k++) {
            double sum = (double)bias[k];
            for (size_t i = 0; i < out.dim; i++)
                sum += (double)head[k * out.dim + i]
                       * (((double)x[i] - mean) / sqrt(variance + 1e-5) * (double)scale[i]
                          + (double)shift[i]);
            logits[b * c.classes + k] = sum;
        }
    }
    assert_close("head of features", logits, c.logits, c.batch * c.classes, 1e-5);
    free(images), free(tokens), free(logits);
    ssm2d_session_destroy(p);
    ssm2d_model_close(m);
    model_case_free(&c);
}

/* ---- a run: names, preparation, probabilities, other sizes ----------------------------------- */

static ssm2d_model *open_run(const char *run, ssm2d_model_weights which)
{
    ssm2d_model *m;
    ssm2d_model_options o = ssm2d_model_options_default();
    o.weights = which;
    if (ssm2d_model_open(run, &o, &m, &error)) fail_msg("%s", error.line);
    return m;
}

static void test_run_opens_with_last_and_best_weights(void **state)
{
    (void)state;
    ssm2d_model *last = open_run(GOLDEN_RUN, SSM2D_MODEL_LAST);
    ssm2d_model_preparation prepare = ssm2d_model_preparation_default();
    const ssm2d_model_info info = ssm2d_model_info_of(last);
    float images[64], logits[2][4];
    double likely[4], sum = 0;
    /* the best epoch of that run was its latest; here it is made another one */
    copy_folder(GOLDEN_RUN, in_folder("run"));
    assert_int_equal(rename(in_folder("run/end.safetensors"), in_folder("run/best.safetensors")),
                     0);
    ssm2d_model *best = open_run(in_folder("run"), SSM2D_MODEL_BEST);
    assert_string_equal(info.model, "vit-mini");
    assert_string_equal(info.mixer, "ssm2d");
    assert_int_equal(info.outputs, 4);
    assert_string_equal(ssm2d_model_output_name(last, 3), "3");
    assert_null(ssm2d_model_output_name(last, 4));
    assert_null(ssm2d_model_output_name(last, -1));
    assert_int_equal(ssm2d_model_preparation_get(last, &prepare), 1);
    assert_true(prepare.mean[0] == 0.5f && prepare.std[2] == 0.5f);
    assert_true(prepare.crop == 0 && prepare.filter == SSM2D_BILINEAR);
    for (int i = 0; i < 64; i++) images[i] = (float)sin(i);
    for (int k = 0; k < 2; k++) {
        ssm2d_session *p = session_of(k ? best : last, options_for(1, 1));
        assert_int_equal(ssm2d_session_run(p, images, 1, logits[k], &error), SSM2D_OK);
        ssm2d_session_destroy(p);
    }
    assert_memory_not_equal(logits[0], logits[1], sizeof logits[0]);
    assert_int_equal(ssm2d_model_probabilities(last, logits[0], 1, likely, &error), SSM2D_OK);
    for (int i = 0; i < 4; i++) sum += likely[i];
    assert_true(fabs(sum - 1) < 1e-12);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(log(likely[i] / likely[0]) - (double)(logits[0][i] - logits[0][0]))
                    < 1e-5);
    ssm2d_model_close(last);
    ssm2d_model_close(best);
}

/* A run of attributes: the sigmoid of each, and a task of that name. */
static void test_attributes_have_sigmoid_probabilities(void **state)
{
    (void)state;
    ssm2d_model *m;
    const float logits[2][4] = {{0, 2, -3, 500}, {-500, 1, 0, 0}};
    double likely[2][4];
    copy_folder(GOLDEN_RUN, in_folder("run"));
    edit_file(in_folder("run/data.json"), "\"channels\"", "\"labels\": \"binary\", \"channels\"");
    assert_int_equal(ssm2d_model_open(in_folder("run"), NULL, &m, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "bce"));
    edit_file(in_folder("run/train.json"), "cross-entropy", "bce");
    if (ssm2d_model_open(in_folder("run"), NULL, &m, &error)) fail_msg("%s", error.line);
    assert_string_equal(ssm2d_model_info_of(m).task, "attributes");
    assert_string_equal(ssm2d_model_info_of(m).activation, "sigmoid");
    assert_int_equal(ssm2d_model_probabilities(m, logits[0], 2, likely[0], &error), SSM2D_OK);
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 4; i++)
            assert_true(fabs(likely[b][i] - 1 / (1 + exp(-(double)logits[b][i]))) < 1e-12);
    ssm2d_model_close(m);
}

/* Another image size: as weights that were resized for it. */
static void test_other_image_size_uses_resized_weights(void **state)
{
    (void)state;
    model_case c = model_case_read(context, "05_vit_ssm2d_attn");
    ssm2d_model *m = open_case(&c);
    ssm2d_session_options o = options_for(1, 1);
    model_config config = c.config;
    weights *w;
    evaluator *e;
    o.rows = 24;
    o.cols = 32;
    ssm2d_session *p = session_of(m, o);
    assert_int_equal(model_config_resize(&config, (int[]){24, 32}, &error), SSM2D_OK);
    assert_int_equal(weights_create(context, &config, &w, &error), SSM2D_OK);
    float *params = malloc(w->total * sizeof *params);
    assert_int_equal(weights_resize(c.weights, c.params, w, params, &error), SSM2D_OK);
    assert_int_equal(evaluator_create(context, &config, (evaluator_precision){0}, 1, &e, &error),
                     SSM2D_OK);
    evaluator_weights(e, params);
    float *image = calloc(e->image, sizeof *image), *got = malloc(c.classes * sizeof *got);
    for (size_t i = 0; i < e->image; i++) image[i] = (float)cos((double)i);
    assert_int_equal(ssm2d_session_run(p, image, 1, got, &error), SSM2D_OK);
    assert_memory_equal(got, evaluator_run(e, image, 1), c.classes * sizeof *got);
    ssm2d_session_destroy(p);
    evaluator_destroy(e);
    weights_destroy(w);
    free(params), free(image), free(got);
    ssm2d_model_close(m);
    model_case_free(&c);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static void put_png(const char *path, const test_image *image)
{
    const image_info info = {image->rows, image->cols, image->channels};
    image_writer *writer;
    if (image_create(context, path, &info, NULL, &writer, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < image->rows; i++)
        assert_int_equal(image_write_row(writer,
                                         image->pixels + i * image->cols * (size_t)image->channels,
                                         &error),
                         SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
}

/* The image as the loader of `ssm2d eval` prepares it. */
static void evaluate_file(const char *path, const ssm2d_model_preparation *prepare, int rows,
                          int cols, int channels, float *out)
{
    augment_options options = augment_options_default();
    augment *a;
    char crop[32];
    augment_setup setup = {.options = &options,
                           .when = AUGMENT_EVALUATION,
                           .rows = (size_t)rows,
                           .cols = (size_t)cols,
                           .channels = channels};
    memcpy(setup.norm.mean, prepare->mean, sizeof prepare->mean);
    memcpy(setup.norm.std, prepare->std, sizeof prepare->std);
    snprintf(crop, sizeof crop, "%.17g", prepare->crop);
    assert_int_equal(augment_options_set(&options, "eval_crop", crop, &error), SSM2D_OK);
    assert_int_equal(augment_options_set(&options, "interpolation",
                                         prepare->filter ? "bicubic" : "bilinear", &error),
                     SSM2D_OK);
    assert_int_equal(augment_create(context, &setup, &a, &error), SSM2D_OK);
    augment_begin(a, 0, 0);
    if (picture_read(context, path, &(image_read_options){.max_pixels = 1 << 24}, augment_resize(a),
                     augment_pixels(a), &error))
        fail_msg("%s", error.line);
    augment_end(a, out);
    augment_destroy(a);
}

/* The same picture dense, with space between rows, and from the bottom up. */
static void check_strides(ssm2d_session *p, test_image image, const float *expected,
                          size_t elements)
{
    const size_t row = image.cols * (size_t)image.channels, wide = row + 5;
    uint8_t *copy = malloc(image.rows * wide);
    for (int upward = 0; upward < 2; upward++) {
        for (size_t i = 0; i < image.rows; i++)
            memcpy(copy + (upward ? image.rows - 1 - i : i) * wide, image.pixels + i * row, row);
        const test_image strided = {copy + (upward ? (image.rows - 1) * wide : 0), image.rows,
                                    image.cols, image.channels,
                                    upward ? -(ptrdiff_t)wide : (ptrdiff_t)wide};
        assert_int_equal(prepare_images(p, 0, 1, &strided, &error), SSM2D_OK);
        assert_memory_equal(ssm2d_session_prepared(p), expected, elements * sizeof *expected);
    }
    free(copy);
}

static void check_pixels(const ssm2d_model *m, ssm2d_model_preparation prepare)
{
    static const size_t sizes[][2] = {{8, 8}, {1, 1}, {31, 17}, {90, 200}, {5, 64}, {16, 16}};
    const ssm2d_model_info info = ssm2d_model_info_of(m);
    const size_t elements = (size_t)(info.rows * info.cols * info.channels);
    ssm2d_session_options o = options_for(3, 1);
    float *expected = malloc(elements * sizeof *expected);
    uint32_t random = 1;
    o.preparation = &prepare;
    ssm2d_session *p = session_of(m, o);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int channels = 1; channels <= 4; channels++) {
            const size_t bytes = sizes[s][0] * sizes[s][1] * (size_t)channels;
            uint8_t *pixels = malloc(bytes);
            for (size_t i = 0; i < bytes; i++)
                pixels[i] = (uint8_t)((random = random * 1664525u + 1013904223u) >> 24);
            const test_image image = {pixels, sizes[s][0], sizes[s][1], channels, 0};
            put_png(in_folder("a.png"), &image);
            evaluate_file(in_folder("a.png"), &prepare, info.rows, info.cols, info.channels,
                          expected);
            /* the last of a batch, after another that is larger */
            const test_image two[] = {image, image};
            assert_int_equal(prepare_images(p, 1, 2, two, &error), SSM2D_OK);
            assert_memory_equal(ssm2d_session_prepared(p) + 2 * elements, expected,
                                elements * sizeof *expected);
            check_strides(p, image, expected, elements);
            free(pixels);
        }
    ssm2d_session_destroy(p);
    free(expected);
}

static void test_pixels_are_prepared_as_in_evaluation(void **state)
{
    (void)state;
    ssm2d_model *grey = open_run(GOLDEN_RUN, SSM2D_MODEL_LAST);
    model_case c = model_case_read(context, "03_vit_rect");
    ssm2d_model *colour = open_case(&c);
    ssm2d_model_preparation prepare = ssm2d_model_preparation_default();
    assert_int_equal(ssm2d_model_preparation_get(grey, &prepare), 1);
    check_pixels(grey, prepare);
    check_pixels(colour, ssm2d_model_preparation_default());
    prepare.crop = 0.875;
    prepare.filter = SSM2D_BICUBIC;
    prepare.mean[1] = 0.25f;
    prepare.std[2] = 0.3f;
    check_pixels(grey, prepare);
    check_pixels(colour, prepare);
    ssm2d_model_close(grey);
    ssm2d_model_close(colour);
    model_case_free(&c);
}

/* A run uses the prepared images; the rest of the batch stays unchanged. */
static void test_run_uses_prepared_images(void **state)
{
    (void)state;
    ssm2d_model *m = open_run(GOLDEN_RUN, SSM2D_MODEL_LAST);
    ssm2d_session *p = session_of(m, options_for(2, 1));
    uint8_t pixels[2][100];
    float logits[2][4], again[2][4], kept[128];
    for (int i = 0; i < 100; i++) pixels[0][i] = (uint8_t)(2 * i), pixels[1][i] = (uint8_t)(i * i);
    const test_image images[] = {{pixels[0], 10, 10, 1, 0}, {pixels[1], 10, 10, 1, 0}};
    assert_int_equal(prepare_images(p, 0, 2, images, &error), SSM2D_OK);
    memcpy(kept, ssm2d_session_prepared(p), sizeof kept);
    assert_int_equal(ssm2d_session_run(p, NULL, 2, logits[0], &error), SSM2D_OK);
    assert_int_equal(ssm2d_session_run(p, kept, 2, again[0], &error), SSM2D_OK);
    assert_memory_equal(logits, again, sizeof logits);
    assert_int_equal(ssm2d_session_run(p, NULL, 1, again[0], &error), SSM2D_OK);
    assert_memory_equal(logits[0], again[0], sizeof logits[0]);
    assert_int_equal(ssm2d_session_run(p, kept + 64, 1, again[1], &error), SSM2D_OK);
    assert_memory_equal(logits[1], again[1], sizeof logits[1]);
    ssm2d_session_destroy(p);
    ssm2d_model_close(m);
}

/* ---- the tool uses the same code ------------------------------------------------------------- */

/* The value of the n-th "probability": in the output of predict. */
static double printed_probability(const char *text, int n)
{
    const char *at = text;
    for (int i = 0; i <= n; i++) {
        at = strstr(at, "\"probability\":");
        assert_non_null(at);
        at += strlen("\"probability\":");
    }
    return strtod(at, NULL);
}

/* predict and the example print the same for a picture. cJSON prints 15 digits where these are
 * within an epsilon of the number. */
static void test_predict_and_example_agree(void **state)
{
    (void)state;
    enum { ROWS = 13, COLS = 29 };
    uint8_t pixels[ROWS * COLS * 3];
    float logits[4];
    double likely[4];
    for (int i = 0; i < ROWS * COLS * 3; i++) pixels[i] = (uint8_t)(i * i / 7);
    const test_image image = {pixels, ROWS, COLS, 3, 0};
    ssm2d_model *m = open_run(GOLDEN_RUN, SSM2D_MODEL_LAST);
    ssm2d_session *p = session_of(m, options_for(1, 1));
    assert_int_equal(prepare_images(p, 0, 1, &image, &error), SSM2D_OK);
    assert_int_equal(ssm2d_session_run(p, NULL, 1, logits, &error), SSM2D_OK);
    assert_int_equal(ssm2d_model_probabilities(m, logits, 1, likely, &error), SSM2D_OK);

    put_png(in_folder("a.png"), &image);
    FILE *ppm = fopen(in_folder("a.ppm"), "wb");
    assert_non_null(ppm);
    fprintf(ppm, "P6\n%d %d\n255\n", COLS, ROWS);
    assert_int_equal(fwrite(pixels, 1, sizeof pixels, ppm), sizeof pixels);
    assert_int_equal(fclose(ppm), 0);
    TOOL("predict", GOLDEN_RUN, in_folder("a.png"), "--top", "4", "--json");
    assert_done();
    char lines[4 * 32] = "";
    for (int i = 0; i < 4; i++) {
        int best = 0;
        for (int k = 1; k < 4; k++)
            if (likely[k] > likely[best]) best = k;
        const double off = fabs(printed_probability(tool.out, i) - likely[best]);
        assert_true(off <= DBL_EPSILON * likely[best]);
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%5.1f %%  %s\n",
                 100 * likely[best], ssm2d_model_output_name(m, best));
        likely[best] = -1;
    }
    shell_run("\"" CLASSIFY "\" \"" GOLDEN_RUN "\" \"$FOLDER/a.ppm\"");
    assert_int_equal(tool.code, 0);
    assert_string_equal(tool.out, lines);
    shell_run("\"" CLASSIFY "\" \"$FOLDER\" \"$FOLDER/a.ppm\"");
    assert_int_equal(tool.code, 1);
    assert_non_null(strstr(tool.err, "not the folder of a run"));
    shell_run("\"" CLASSIFY "\" \"" GOLDEN_RUN "\" \"$FOLDER/a.png\"");
    assert_int_equal(tool.code, 1);
    assert_non_null(strstr(tool.err, "not a binary PPM"));
    ssm2d_session_destroy(p);
    ssm2d_model_close(m);
}

/* The library reads config.json, the tool train.json as well: both must describe the same model. */
static void test_contradictory_files_of_a_run_are_refused(void **state)
{
    (void)state;
    copy_folder(GOLDEN_RUN, in_folder("run"));
    put_picture(in_folder("a.png"), 9, 9, 1);
    TOOL("predict", in_folder("run"), in_folder("a.png"));
    assert_done();
    edit_file(in_folder("run/train.json"), "relaxed", "half");
    TOOL("predict", in_folder("run"), in_folder("a.png"));
    assert_refused(1, "predict",
                   "mixer.norm is \"half\" in train.json and \"relaxed\" in config.json");
}

/* `ssm2d run` writes the logits that the library computes, to the bit. */
static void test_tool_writes_the_logits_of_the_library(void **state)
{
    (void)state;
    static const char *const cases[] = {"07_vit_ssm2d_block", "18_swin_rect", "15_mega_ema"};
    for (int i = 0; i < 3; i++) {
        model_case c = model_case_read(context, cases[i]);
        char words[3][600];
        npy_array array;
        for (int k = 0; k < 3; k++) {
            static const char *const names[] = {"config.json", "weights.safetensors", "x.npy"};
            snprintf(words[k], sizeof words[k], "%s/%s", c.folder, names[k]);
        }
        TOOL("run", "--config", words[0], "--weights", words[1], "--input", words[2], "--out",
             in_folder("y.npy"));
        assert_done();
        ssm2d_model *m = open_case(&c);
        ssm2d_session *p = session_of(m, options_for(c.batch, 1));
        float *images = as_floats(c.images, c.batch * c.pixels, 0);
        float *logits = malloc(c.batch * c.classes * sizeof *logits);
        assert_int_equal(ssm2d_session_run(p, images, c.batch, logits, &error), SSM2D_OK);
        if (npy_read(context, in_folder("y.npy"), &array, &error)) fail_msg("%s", error.line);
        float *written = malloc(array.count * sizeof *written);
        assert_int_equal(array.count, c.batch * c.classes);
        npy_to_float(&array, written);
        assert_memory_equal(written, logits, array.count * sizeof *written);
        npy_free(context, &array);
        free(images), free(logits), free(written);
        ssm2d_session_destroy(p);
        ssm2d_model_close(m);
        model_case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits_equal_golden_ones),
        cmocka_unit_test(test_features_have_shape_and_values_of_every_block),
        cmocka_unit_test(test_head_applied_to_features_gives_logits),
        cmocka_unit_test_setup_teardown(test_run_opens_with_last_and_best_weights, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_attributes_have_sigmoid_probabilities, folder_setup,
                                        folder_teardown),
        cmocka_unit_test(test_other_image_size_uses_resized_weights),
        cmocka_unit_test_setup_teardown(test_pixels_are_prepared_as_in_evaluation, folder_setup,
                                        folder_teardown),
        cmocka_unit_test(test_run_uses_prepared_images),
        cmocka_unit_test_setup_teardown(test_predict_and_example_agree, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_contradictory_files_of_a_run_are_refused, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_tool_writes_the_logits_of_the_library, folder_setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
