/* Augmentation: against a plain reference with the same random draws, the frequency of each
 * operation, and that the result depends on (seed, epoch, image) only. */
#include "data_helpers.h"

#include "data/augment.h"

enum { ROWS = 5, COLS = 6, MAX_SIZE = ROWS * COLS * 3 };

static const normalisation norm = {{.1f, .2f, .3f}, {.5f, .25f, 2}};

static void set(augment_options *o, const char *name, const char *text)
{
    if (augment_options_set(o, name, text, &error)) fail_msg("%s", error.line);
}

static augment_options options_with(int flip, int padding)
{
    augment_options o = augment_options_default();
    char text[16];
    snprintf(text, sizeof text, "%d", padding);
    set(&o, "flip", flip ? "true" : "false");
    set(&o, "crop_padding", text);
    return o;
}

static augment_setup setup_for(const augment_options *o, uint64_t seed, int channels)
{
    return (augment_setup){.options = o,
                           .when = AUGMENT_TRAINING,
                           .seed = seed,
                           .norm = norm,
                           .rows = ROWS,
                           .cols = COLS,
                           .channels = channels};
}

static augment *create(uint64_t seed, int flip, int padding, int channels)
{
    augment *a;
    const augment_options o = options_with(flip, padding);
    const augment_setup setup = setup_for(&o, seed, channels);
    if (augment_create(context, &setup, &a, &error)) fail_msg("%s", error.line);
    return a;
}

static void fill(augment *a, int channels, unsigned image)
{
    for (int i = 0; i < ROWS * COLS * channels; i++)
        augment_pixels(a)[i] = (uint8_t)(1 + ((unsigned)i * 7 + image * 13) % 255);
}

static float value(int pixel, int c) { return ((float)pixel / 255 - norm.mean[c]) / norm.std[c]; }

/* The expected result for an image: drawn here as keyed_rng.h says. */
typedef struct fate {
    int flipped, down, across;
} fate;

static fate fate_of(int flip, int padding, uint64_t seed, uint64_t epoch, uint64_t image)
{
    fate f = {0, 0, 0};
    rng r = keyed_rng(seed, RNG_FLIP, epoch, image);
    if (flip) f.flipped = (rng_next(&r) >> 63) == 0;
    r = keyed_rng(seed, RNG_CROP, epoch, image);
    uint64_t n = 2 * (uint64_t)padding + 1;
    if (padding) {
        f.down = (int)((unsigned __int128)rng_next(&r) * n >> 64) - padding;
        f.across = (int)((unsigned __int128)rng_next(&r) * n >> 64) - padding;
    }
    return f;
}

static void agrees_with_a_plain_reference(void **state)
{
    (void)state;
    static const int paddings[] = {0, 1, 4, 9}; /* the last is larger than the image */
    for (int channels = 1; channels <= 3; channels += 2)
        for (int flip = 0; flip < 2; flip++)
            for (int p = 0; p < 4; p++) {
                augment *a = create(42, flip, paddings[p], channels);
                for (unsigned image = 0; image < 200; image++) {
                    float out[MAX_SIZE];
                    uint8_t in[MAX_SIZE];
                    fill(a, channels, image);
                    memcpy(in, augment_pixels(a), (size_t)(ROWS * COLS * channels));
                    augment_begin(a, 3, image);
                    augment_end(a, out);
                    fate f = fate_of(flip, paddings[p], 42, 3, image);
                    for (int c = 0; c < channels; c++)
                        for (int y = 0; y < ROWS; y++)
                            for (int x = 0; x < COLS; x++) {
                                int from_y = y + f.down, from_x = x + f.across, pixel = 0;
                                int inside =
                                    from_y >= 0 && from_y < ROWS && from_x >= 0 && from_x < COLS;
                                if (f.flipped) from_x = COLS - 1 - from_x;
                                if (inside) pixel = in[(from_y * COLS + from_x) * channels + c];
                                assert_true(out[(c * ROWS + y) * COLS + x] == value(pixel, c));
                            }
                }
                augment_destroy(a);
            }
}

static void evaluation_only_normalises(void **state)
{
    (void)state;
    float out[MAX_SIZE];
    augment *a;
    const augment_options o = options_with(1, 4);
    augment_setup setup = setup_for(&o, 1, 3);
    setup.when = AUGMENT_EVALUATION;
    if (augment_create(context, &setup, &a, &error)) fail_msg("%s", error.line);
    for (unsigned image = 0; image < 20; image++) {
        fill(a, 3, image);
        augment_begin(a, 0, image);
        augment_end(a, out);
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < ROWS * COLS; i++)
                assert_true(out[c * ROWS * COLS + i] == value(augment_pixels(a)[3 * i + c], c));
    }
    augment_destroy(a);
}

/* Chi-square with bounds that a fair draw exceeds once in ten thousand; the seed is fixed, so that
 * the test is not flaky. */
static void draws_are_uniform(void **state)
{
    (void)state;
    enum { N = 81 * 200 };
    int flips = 0, places[81] = {0};
    for (int i = 0; i < N; i++) {
        fate f = fate_of(1, 4, 7, (uint64_t)i / 1000, (uint64_t)i % 1000);
        flips += f.flipped;
        places[(f.down + 4) * 9 + f.across + 4]++;
    }
    double chi = 0;
    for (int i = 0; i < 81; i++) chi += (places[i] - 200.0) * (places[i] - 200.0) / 200;
    assert_true(chi < 134);
    assert_true(abs(flips - N / 2) < 248); /* 3.9 standard deviations */
}

static void run(augment *a, uint64_t epoch, unsigned image, float *out)
{
    fill(a, 3, image);
    augment_begin(a, epoch, image);
    augment_end(a, out);
}

static void draws_depend_on_seed_epoch_and_image_only(void **state)
{
    (void)state;
    augment *a = create(1, 1, 4, 3), *b = create(1, 1, 4, 3), *c = create(2, 1, 4, 3);
    float forward[50][MAX_SIZE], out[MAX_SIZE];
    for (unsigned i = 0; i < 50; i++) run(a, 2, i, forward[i]);
    int other_seed = 0, other_epoch = 0;
    for (unsigned i = 50; i-- > 0;) {
        run(b, 2, i, out);
        assert_memory_equal(out, forward[i], sizeof out);
        run(c, 2, i, out);
        other_seed += memcmp(out, forward[i], sizeof out) != 0;
        run(b, 3, i, out);
        other_epoch += memcmp(out, forward[i], sizeof out) != 0;
    }
    assert_true(other_seed > 40 && other_epoch > 40);
    augment_destroy(a);
    augment_destroy(b);
    augment_destroy(c);
}

/* The drawn values themselves, so that a run can be repeated with a later version. */
static void draws_have_stored_values(void **state)
{
    (void)state;
    rng r = keyed_rng(0, RNG_ORDER, 0, 0), other = keyed_rng(1, RNG_CROP, 2, 3);
    assert_true(rng_next(&r) == 0xf19264ec81b77bd5u);
    assert_true(rng_next(&other) == 0xbfd9d47de1c91fadu);
}

/* Names, purposes of random draws and fields are unique, and there is space for all options. */
static void table_of_augmentations_is_consistent(void **state)
{
    (void)state;
    const augmentation *a, *b;
    size_t bytes = 0;
    const augment_options o = augment_options_default();
    for (int i = 0; (a = augmentation_at(i)); i++) {
        assert_true(strlen(a->name) > 1 && strlen(a->help) > 5);
        assert_true(a->when && a->stage < AUGMENT_STAGES && a->run.pixels);
        assert_true(a->stage != AUGMENT_BATCH || a->when == AUGMENT_TRAINING);
        assert_true(a->purpose != RNG_ORDER);
        assert_false(augmentation_is_on(a, augment_options_at(&o, i)));
        bytes += (a->options_size + 15) / 16 * 16;
        assert_ptr_equal(augment_options_at(&o, i + 1), o.bytes + bytes);
        for (int k = 0; k < i && (b = augmentation_at(k)); k++) {
            assert_string_not_equal(a->name, b->name);
            assert_true(a->purpose != b->purpose);
            for (const ssm2d_field *f = a->fields; f->name; f++)
                assert_null(field_find(b->fields, f->name));
        }
    }
    assert_true(bytes <= MAX_AUGMENT_OPTIONS);
    assert_null(augmentation_at(-1));
}

static void options_are_described(void **state)
{
    (void)state;
    field_group groups[MAX_AUGMENTATIONS + 1] = {{0}};
    assert_true(augment_options_groups(0, groups) >= 2);
    assert_string_equal(groups[0].fields[0].name, "flip");
    assert_string_equal(groups[1].fields[0].name, "crop_padding");
    augment_options o = augment_options_default();
    char text[16];
    assert_string_equal(field_print(&groups[0].fields[0], o.bytes + groups[0].offset, text, 16),
                        "false");
    assert_string_equal(field_print(&groups[1].fields[0], o.bytes + groups[1].offset, text, 16),
                        "0");
    assert_int_equal(augment_options_check(&o, &error), SSM2D_OK);
    assert_int_equal(augment_options_set(&o, "crop_padding", "-1", &error), SSM2D_ERROR_ARGUMENT);
    assert_line("crop_padding=-1: use a whole number from 0 to 1024");
    assert_int_equal(augment_options_set(&o, "crop", "1", &error), SSM2D_ERROR_ARGUMENT);
    assert_line("there is no augmentation setting crop");
    memset(o.bytes + groups[1].offset, 0xff, sizeof(int));
    assert_int_equal(augment_options_check(&o, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("crop_padding=-1: use a whole number from 0 to 1024");
}

static void invalid_setups_are_refused(void **state)
{
    (void)state;
    augment *a;
    augment_options o = augment_options_default(), bad = o;
    memset(bad.bytes, 0xff, sizeof bad.bytes);
    const augment_setup good = setup_for(&o, 0, 3);
    augment_setup s = good;
#define REFUSED(line)                                                                              \
    assert_int_equal(augment_create(context, &s, &a, &error), SSM2D_ERROR_ARGUMENT);               \
    assert_null(a);                                                                                \
    assert_line(line);                                                                             \
    s = good
    s.options = &bad;
    REFUSED("flip=-1: use true or false");
    s.norm.std[0] = 0;
    REFUSED("normalisation of channel 0: mean=0.1, std=0: ");
    s.channels = 2;
    REFUSED("images of 5 x 6 x 2");
    s.rows = 0;
    REFUSED("images of 0 x 6 x 3");
}

static ssm2d_status create_once(void)
{
    augment *a;
    const augment_options o = options_with(1, 4);
    const augment_setup setup = setup_for(&o, 0, 1);
    ssm2d_status status = augment_create(context, &setup, &a, &error);
    augment_destroy(a);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    assert_int_equal(io_fail_everywhere(create_once), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(agrees_with_a_plain_reference),
        TEST(evaluation_only_normalises),
        TEST(draws_are_uniform),
        TEST(draws_depend_on_seed_epoch_and_image_only),
        TEST(draws_have_stored_values),
        TEST(table_of_augmentations_is_consistent),
        TEST(options_are_described),
        TEST(invalid_setups_are_refused),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("augment", tests, io_setup, data_end);
}
