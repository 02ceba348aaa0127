/* The operations of AutoAugment and RandAugment, and resizing: equal to Pillow's to the bit, by the
 * vectors of golden-pillow. */
#include "data_helpers.h"

#include "data/pixel_ops.h"

enum { MAX_IMAGES = 16, MAX_PIXELS = 1 << 14, MAX_LINE = 1 << 16 };

static const pixel_sampling all_bicubic = {
    AFFINE_BICUBIC, AFFINE_BICUBIC, AFFINE_BICUBIC, {124, 116, 104}};

typedef struct golden_image {
    char name[16];
    size_t rows, cols;
    int channels;
    uint8_t pixels[MAX_PIXELS];
} golden_image;

static golden_image images[MAX_IMAGES];
static int image_count;
static int tested[PIXEL_OPS + 1]; /* cases of each operation; the last is resizing */
static char line[MAX_LINE], digits[MAX_LINE];

static size_t from_hex(const char *text, uint8_t *out)
{
    size_t count = 0;
    for (unsigned byte; sscanf(text, "%2x", &byte) == 1; text += 2) out[count++] = (uint8_t)byte;
    return count;
}

static void read_image(void)
{
    golden_image *g = &images[image_count++];
    assert_true(image_count <= MAX_IMAGES);
    assert_int_equal(sscanf(line, "image %15s %zu %zu %d %65535s", g->name, &g->rows, &g->cols,
                            &g->channels, digits),
                     5);
    assert_true(g->rows * g->cols * (size_t)g->channels <= MAX_PIXELS);
    assert_int_equal(from_hex(digits, g->pixels), g->rows * g->cols * (size_t)g->channels);
}

static void choose(void *user, size_t rows, size_t cols, resize_region *region)
{
    (void)rows;
    (void)cols;
    region->filter = *(const resize_filter *)user;
}

static void apply_resize(const golden_image *g, size_t rows, size_t cols, resize_filter filter,
                         uint8_t *out)
{
    resize *r;
    assert_int_equal(resize_create(context, rows, cols, g->channels, &r, &error), SSM2D_OK);
    resize_choose_with(r, choose, &filter);
    assert_int_equal(resize_start(r, "x", g->rows, g->cols, g->channels, out, &error), SSM2D_OK);
    for (size_t y = 0; y < g->rows; y++)
        resize_row(r, g->pixels + y * g->cols * (size_t)g->channels);
    resize_destroy(r);
}

/* Into the first half of memory, which has space for two images. */
static void apply_op(const golden_image *g, const char *name, double value, const char *filter,
                     uint8_t *memory)
{
    int op = 0;
    while (op < PIXEL_OPS && strcmp(pixel_op_about((pixel_op)op)->name, name)) op++;
    if (op == PIXEL_OPS) fail_msg("there is no operation %s", name);
    tested[op]++;
    const size_t size = g->rows * g->cols * (size_t)g->channels;
    pixel_image image = {g->rows, g->cols, g->channels, memory, memory + MAX_PIXELS};
    memcpy(memory, g->pixels, size);
    pixel_op_apply((pixel_op)op, value,
                   strcmp(filter, "auto") ? &all_bicubic : &autoaugment_sampling, &image);
    if (image.pixels != memory) memcpy(memory, image.pixels, size);
}

static void run_case(void)
{
    char name[16], op[24], value[32], filter[16];
    size_t rows, cols;
    static uint8_t memory[2 * MAX_PIXELS], expected[MAX_PIXELS];
    assert_int_equal(sscanf(line, "case %15s %23s %31s %15s %zu %zu %65535s", name, op, value,
                            filter, &rows, &cols, digits),
                     7);
    const golden_image *g = images;
    while (g < images + image_count && strcmp(g->name, name)) g++;
    assert_true(g < images + image_count);
    const size_t size = rows * cols * (size_t)g->channels;
    assert_true(size <= MAX_PIXELS);
    if (!strncmp(op, "resize", 6)) {
        tested[PIXEL_OPS]++;
        apply_resize(g, rows, cols, op[6] ? RESIZE_BILINEAR : RESIZE_BICUBIC, memory);
    } else {
        assert_true(rows == g->rows && cols == g->cols);
        apply_op(g, op, strtod(value, NULL), filter, memory);
    }
    unsigned long sum;
    int same;
    if (sscanf(digits, "crc32:%lx", &sum) == 1) {
        same = crc32(0, memory, (unsigned)size) == sum;
    } else {
        assert_int_equal(from_hex(digits, expected), size);
        same = !memcmp(memory, expected, size);
    }
    if (!same) fail_msg("%s %s %s %s: not what Pillow gives", name, op, value, filter);
}

static void agree_with_pillow(void **state)
{
    (void)state;
    FILE *file = fopen(VECTORS, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, "image ", 6))
            read_image();
        else
            run_case();
    fclose(file);
    for (int op = 0; op <= PIXEL_OPS; op++)
        if (tested[op] < image_count) fail_msg("operation %d has %d cases", op, tested[op]);
}

/* An image made by the test in which pixels of all values are side by side. */
static pixel_image noise(uint8_t *memory, size_t rows, size_t cols, int channels, uint64_t seed)
{
    rng r = rng_seed(seed);
    const size_t size = rows * cols * (size_t)channels;
    for (size_t i = 0; i < size; i++) memory[i] = (uint8_t)rng_next(&r);
    return (pixel_image){rows, cols, channels, memory, memory + size};
}

/* Values at which an operation changes nothing. */
static void neutral_values_keep_the_image(void **state)
{
    (void)state;
    static const struct {
        pixel_op op;
        double value;
    } cases[] = {{OP_POSTERIZE, 8},   {OP_SOLARIZE, 256},  {OP_SOLARIZE_ADD, 0}, {OP_COLOR, 1},
                 {OP_CONTRAST, 1},    {OP_BRIGHTNESS, 1},  {OP_SHARPNESS, 1},    {OP_SHEAR_X, 0},
                 {OP_SHEAR_Y, 0},     {OP_TRANSLATE_X, 0}, {OP_TRANSLATE_Y, 0},  {OP_ROTATE, 0},
                 {OP_ROTATE, -360.0}, {OP_ROTATE, 720}};
    enum { SIZE = 11 * 8 * 3 };
    uint8_t memory[2 * SIZE], before[SIZE];
    for (int channels = 1; channels <= 3; channels += 2)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int k = 0; k < 2; k++) {
                const size_t size = SIZE / 3 * (size_t)channels;
                pixel_image image = noise(memory, 11, 8, channels, 5 + i);
                memcpy(before, memory, size);
                pixel_op_apply(cases[i].op, cases[i].value,
                               k ? &all_bicubic : &autoaugment_sampling, &image);
                if (memcmp(image.pixels, before, size))
                    fail_msg("%s %g", pixel_op_about(cases[i].op)->name, cases[i].value);
            }
}

/* A translation by whole pixels, and four quarters of a turn, move pixels and keep them. */
static void moves_by_whole_pixels_are_exact(void **state)
{
    (void)state;
    enum { SIDE = 16, SIZE = SIDE * SIDE * 3 };
    uint8_t memory[2 * SIZE], before[SIZE];
    for (int k = 0; k < 2; k++) {
        const pixel_sampling *s = k ? &all_bicubic : &autoaugment_sampling;
        pixel_image image = noise(memory, SIDE, SIDE, 3, 9);
        memcpy(before, memory, SIZE);
        pixel_op_apply(OP_TRANSLATE_X, 0.25, s, &image);
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                for (int c = 0; c < 3; c++)
                    assert_int_equal(image.pixels[(y * SIDE + x) * 3 + c],
                                     x + 4 < SIDE ? before[(y * SIDE + x + 4) * 3 + c]
                                                  : s->fill[c]);
        image = noise(memory, SIDE, SIDE, 3, 9);
        for (int turn = 0; turn < 4; turn++) {
            assert_true(!turn == !memcmp(image.pixels, before, SIZE));
            pixel_op_apply(OP_ROTATE, 90, s, &image);
        }
        assert_memory_equal(image.pixels, before, SIZE);
    }
}

/* Images whose coordinates do not fit into 16 bits are rotated in floating point: as by the
 * fixed-point path, except for pixels on the border between two. */
static void wide_images_rotate(void **state)
{
    (void)state;
    enum { ROWS = 3, COLS = 40000 };
    static uint8_t memory[2 * ROWS * COLS];
    pixel_image image = noise(memory, ROWS, COLS, 1, 3);
    memset(memory, 77, ROWS * COLS);
    pixel_op_apply(OP_ROTATE, 1e-4, &autoaugment_sampling, &image);
    int kept = 0;
    for (int i = 0; i < ROWS * COLS; i++) kept += image.pixels[i] == 77;
    assert_true(kept > ROWS * COLS * 95 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(agree_with_pillow), TEST(neutral_values_keep_the_image),
                                       TEST(moves_by_whole_pixels_are_exact),
                                       TEST(wide_images_rotate)};
    return cmocka_run_group_tests(tests, io_setup, data_end);
}
