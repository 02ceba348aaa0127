/* Receptive fields: against derivatives by finite differences, for every family, and refusals. */
#include "core/context.h"
#include "models/receptive_field.h"
#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static ssm2d_context *context;
static ssm2d_error error;

#define good(call)                                                                                 \
    do {                                                                                           \
        if (call) fail_msg("%s", error.line);                                                      \
    } while (0)

static int start(void **state)
{
    (void)state;
    const ssm2d_context_options options = {.size = sizeof options, .threads = 2};
    return (int)ssm2d_context_create(&options, &context, &error);
}

static int end(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    return 0;
}

/* A model by name with changes as "key=value key=value". */
static model_config config_of(const char *name, const char *changes)
{
    model_config c;
    char text[256], *rest = text;
    good(model_config_named(name, &c, &error));
    strncpy(text, changes, sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        *value++ = 0;
        good(model_config_set((field_source){.where = "test"}, word, value, &c, &error));
    }
    good(model_config_finish(&c, &error));
    return c;
}

typedef struct example {
    model_config config;
    weights *w;
    float *params, *image;
    size_t pixels, inputs; /* of an image */
} example;

static example example_of(const char *name, const char *changes)
{
    example e = {.config = config_of(name, changes)};
    e.pixels = (size_t)e.config.image[0] * (size_t)e.config.image[1];
    e.inputs = e.pixels * (size_t)e.config.channels;
    good(weights_create(context, &e.config, &e.w, &error));
    e.params = malloc(e.w->total * sizeof *e.params);
    e.image = malloc(e.inputs * sizeof *e.image);
    good(weights_init(e.w, PARAM_ALL, 3, e.params, &error));
    srand(5);
    for (size_t i = 0; i < e.inputs; i++) e.image[i] = (float)rand() / (float)RAND_MAX - 0.5F;
    return e;
}

static void example_free(example *e)
{
    weights_destroy(e->w);
    free(e->params);
    free(e->image);
}

/* The tokens of an image, by a separate graph. */
typedef struct forward {
    graph *g;
    tensor *tokens;
    float *params;
} forward;

static forward forward_of(const example *e)
{
    forward f = {0};
    const size_t shape[] = {1, (size_t)e->config.channels, (size_t)e->config.image[0],
                            (size_t)e->config.image[1]};
    const model_family *family = e->config.model->family;
    good(graph_create(context, 0, &f.g, &error));
    f.tokens = family->tokens(f.g, &e->config, graph_input(f.g, "images", 4, shape),
                              family->depth(&e->config));
    good(graph_finish(f.g, f.tokens, &error));
    f.params = malloc(f.g->param_count * sizeof *f.params);
    for (int i = 0; i < f.g->array_count; i++) {
        const param_array *to = &f.g->arrays[i], *from = weights_find(e->w, to->name);
        memcpy(f.params + to->offset, e->params + from->offset, to->count * sizeof *f.params);
    }
    graph_bind(f.g, f.params, NULL);
    return f;
}

static void centre_token(forward *f, const float *image, float *centre)
{
    const token_grid grid = f->tokens->grid;
    const int rows = grid_rows(grid.shape), cols = grid_cols(grid.shape);
    const size_t dim = f->tokens->shape[2], at = (size_t)(grid.first + rows / 2 * cols + cols / 2);
    graph_find(f->g, "images")->data = (float *)image;
    graph_forward(f->g);
    memcpy(centre, f->tokens->data + at * dim, dim * sizeof *centre);
}

/* jacobian[dim][inputs], the derivatives of the centre token by central differences; the caller
 * frees it. */
static double *jacobian_of(example *e, size_t *dim)
{
    const double step = 0.02;
    forward f = forward_of(e);
    *dim = f.tokens->shape[2];
    float *up = malloc(*dim * sizeof *up), *down = malloc(*dim * sizeof *down);
    double *jacobian = malloc(*dim * e->inputs * sizeof *jacobian);
    for (size_t i = 0; i < e->inputs; i++) {
        const float kept = e->image[i];
        e->image[i] = kept + (float)step;
        centre_token(&f, e->image, up);
        e->image[i] = kept - (float)step;
        centre_token(&f, e->image, down);
        e->image[i] = kept;
        for (size_t k = 0; k < *dim; k++)
            jacobian[k * e->inputs + i] = ((double)up[k] - (double)down[k]) / (2 * step);
    }
    graph_destroy(f.g);
    free(f.params);
    free(up);
    free(down);
    return jacobian;
}

/* Adds the shares of the pixels for one random vector of signs. */
static void add_shares(const example *e, const double *jacobian, size_t dim, double *sum)
{
    double all = 0, *squares = calloc(e->pixels, sizeof *squares),
           *product = calloc(e->inputs, sizeof *product);
    for (size_t k = 0; k < dim; k++) {
        const double sign = rand() % 2 ? 1 : -1;
        for (size_t i = 0; i < e->inputs; i++) product[i] += sign * jacobian[k * e->inputs + i];
    }
    for (size_t i = 0; i < e->inputs; i++) {
        squares[i % e->pixels] += product[i] * product[i];
        all += product[i] * product[i];
    }
    for (size_t i = 0; i < e->pixels; i++) sum[i] += squares[i] / all;
    free(squares);
    free(product);
}

/* The squares of the field of this many images, as fractions of their sum. */
static void shares_of(const receptive_field *r, size_t pixels, double *shares)
{
    double sum = 0;
    receptive_field_get(r, shares);
    for (size_t i = 0; i < pixels; i++) sum += shares[i] * shares[i];
    for (size_t i = 0; i < pixels; i++) shares[i] *= shares[i] / sum;
}

static double difference(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += fabs(a[i] - b[i]);
    return sum;
}

/* The mean over many draws of signs comes as close as a mean of squares of normals does. */
static void check_field(const char *name, const char *changes)
{
    enum { DRAWS = 400, EXPECTED_DRAWS = 4000 };
    example e = example_of(name, changes);
    receptive_field *r;
    double *field = malloc(e.pixels * sizeof *field),
           *expected = calloc(e.pixels, sizeof *expected);
    double largest = 0;
    size_t dim;
    good(receptive_field_create(context, &e.config, e.w, e.params, 0, &r, &error));
    for (int i = 0; i < DRAWS; i++) assert_true(receptive_field_add(r, e.image));
    receptive_field_get(r, field);
    for (size_t i = 0; i < e.pixels; i++) largest = fmax(largest, field[i]);
    assert_true(fabs(largest - 1) < 1e-12);
    double *jacobian = jacobian_of(&e, &dim);
    for (int i = 0; i < EXPECTED_DRAWS; i++) add_shares(&e, jacobian, dim, expected);
    for (size_t i = 0; i < e.pixels; i++) expected[i] /= EXPECTED_DRAWS;
    shares_of(r, e.pixels, field);
    const double off = difference(field, expected, e.pixels);
    /* sqrt(2/400) = 0.07 is what one pixel is away, by the draws */
    if (off > 0.08) fail_msg("%s %s: %g of the field is elsewhere", name, changes, off);
    receptive_field_destroy(r);
    example_free(&e);
    free(field);
    free(expected);
    free(jacobian);
}

static void test_field_equals_finite_differences(void **state)
{
    (void)state;
    check_field("vit-mini", "image=12x20 dim=16 heads=2 depth=1 mixer=ssm2d channels=1");
    check_field("swin-mini", "image=16 dim=[12,24] depth=[1,2] heads=[2,2] mixer=ssm2d");
    check_field("mega-lra", "image=6x5 dim=16 z=8 v=12 ffn=16 depth=1 mixer=ssm2d");
    if (short_tests()) return;
    check_field("vit-mini", "image=16 dim=16 heads=2 depth=2");
    check_field("vit-mini", "image=16 dim=16 heads=2 depth=2 mixer=ssm2d mixer.place=ffn");
    check_field("vit-mini", "image=16 dim=16 heads=2 depth=1 mixer=s4nd");
    check_field("convnext-mini", "image=16 dim=[12,24] depth=[1,1] mixer=conv layer_scale=1");
    check_field("swin-mini", "image=16x24 dim=[12,24] depth=[2,1] heads=[2,2]");
    check_field("mega-mini", "image=16 dim=16 z=8 v=12 ffn=16 depth=2 mixer=ema");
}

/* LayerNorm makes the derivatives of a pale image many times larger than those of others. It still
 * has the weight of one image. */
static void test_each_image_has_equal_weight(void **state)
{
    (void)state;
    enum { ORDINARY = 15 };
    example e = example_of("vit-mini", "image=16 dim=16 heads=2 depth=2");
    receptive_field *r;
    double *before = malloc(e.pixels * sizeof *before), *after = malloc(e.pixels * sizeof *after);
    good(receptive_field_create(context, &e.config, e.w, e.params, 0, &r, &error));
    for (int i = 0; i < ORDINARY; i++) {
        for (size_t k = 0; k < e.inputs; k++)
            e.image[k] = 10 * ((float)rand() / (float)RAND_MAX - 0.5F);
        assert_true(receptive_field_add(r, e.image));
    }
    shares_of(r, e.pixels, before);
    for (size_t k = 0; k < e.inputs; k++) e.image[k] *= 1e-4F;
    assert_true(receptive_field_add(r, e.image));
    shares_of(r, e.pixels, after);
    const double change = difference(before, after, e.pixels);
    /* one of 16 images can move no more than 1/16 of all shares from some pixels to others */
    if (change > 2.0 / (ORDINARY + 1)) fail_msg("one image of 16 changes %g of the field", change);
    receptive_field_destroy(r);
    example_free(&e);
    free(before);
    free(after);
}

/* A field on the centre patch only has radius 0. */
static void test_radius_of_centre_patch_is_zero(void **state)
{
    (void)state;
    example e = example_of("vit-mini", "image=16 dim=16 heads=2 depth=1");
    receptive_field *r;
    good(receptive_field_create(context, &e.config, e.w, e.params, 1, &r, &error));
    assert_true(receptive_field_add(r, e.image));
    const int half = receptive_field_radius(r, 0.5), all = receptive_field_radius(r, 1);
    assert_in_range(half, 0, all);
    assert_int_equal(all, 8); /* from the third patch to the first pixel */
    const pixel_box centre = receptive_field_centre(r);
    assert_int_equal(centre.row, 8);
    assert_int_equal(centre.col, 8);
    assert_int_equal(centre.rows, 4);
    assert_int_equal(centre.cols, 4);
    receptive_field_destroy(r);

    /* without values nothing comes from other tokens */
    const param_array *qkv = weights_find(e.w, "blocks.0.attn.qkv.weight");
    memset(e.params + qkv->offset + qkv->count / 3 * 2, 0, qkv->count / 3 * sizeof *e.params);
    good(receptive_field_create(context, &e.config, e.w, e.params, 0, &r, &error));
    assert_true(receptive_field_add(r, e.image));
    assert_int_equal(receptive_field_radius(r, 1), 0);
    receptive_field_destroy(r);
    example_free(&e);
}

/* boxes: number of blocks, first row and column, sides; ends with sides of 0 */
static void check_centres(const char *name, const char *settings, const int boxes[][3])
{
    example e = example_of(name, settings);
    for (int i = 0; boxes[i][2]; i++) {
        receptive_field *r;
        good(receptive_field_create(context, &e.config, e.w, e.params, boxes[i][0], &r, &error));
        const pixel_box box = receptive_field_centre(r);
        assert_int_equal(box.row, boxes[i][1]);
        assert_int_equal(box.col, boxes[i][1]);
        assert_int_equal(box.rows, boxes[i][2]);
        assert_int_equal(box.cols, boxes[i][2]);
        receptive_field_destroy(r);
    }
    example_free(&e);
}

/* 28 pixels are 14, 7 and 3 tokens of a ConvNeXt, and 14, 7 and 4 of a Swin, which pads. */
static void test_centre_token_of_odd_maps(void **state)
{
    (void)state;
    static const int convnext[][3] = {{1, 14, 2}, {2, 14, 2}, {3, 12, 4},
                                      {5, 8, 8},  {0, 8, 8},  {0}};
    static const int swin[][3] = {{1, 14, 2}, {3, 12, 4}, {0, 16, 8}, {0}};
    /* 12 pixels are 6, 3 and 2 tokens; the last token has only pixels 8 to 11. */
    static const int edge[][3] = {{0, 8, 4}, {0}};
    check_centres("convnext-mini", "image=28 mixer=conv", convnext);
    check_centres("swin-mini", "image=28 mixer=none", swin);
    check_centres("swin-mini", "image=12 mixer=none", edge);
}

static void test_bad_requests_are_refused(void **state)
{
    (void)state;
    example e = example_of("vit-mini", "image=16 dim=16 heads=2 depth=2");
    receptive_field *r;
    assert_int_equal(receptive_field_create(context, &e.config, e.w, e.params, 3, &r, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_string_equal(error.line, "there is no block 3: the model has 2");
    assert_null(r);
    for (size_t i = 0; i < e.w->total; i++) e.params[i] = 3e38F;
    good(receptive_field_create(context, &e.config, e.w, e.params, 0, &r, &error));
    assert_false(receptive_field_add(r, e.image));
    receptive_field_destroy(r);
    example_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_field_equals_finite_differences),
        cmocka_unit_test(test_each_image_has_equal_weight),
        cmocka_unit_test(test_radius_of_centre_patch_is_zero),
        cmocka_unit_test(test_centre_token_of_odd_maps),
        cmocka_unit_test(test_bad_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, start, end);
}
