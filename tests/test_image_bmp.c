/* BMP: its depths, palettes, masks and headers. The files are made by hand. */
#include "image_kind_helpers.h"

typedef struct bmp_kind {
    int bits, top_down, os2, masks, description;
} bmp_kind;

/* The expected pixel: colours of fewer bits are those that the test stores. */
static void bmp_colour(const bmp_kind *k, size_t r, size_t c, uint8_t out[3])
{
    if (k->bits <= 8) {
        const unsigned i = (unsigned)(r * COLS + c) % (1u << k->bits);
        out[0] = (uint8_t)(i * 3 + 1), out[1] = (uint8_t)(i * 5), out[2] = (uint8_t)(255 - i);
        return;
    }
    for (int s = 0; s < 3; s++) out[s] = sample(r, c, s);
    if (k->bits == 16) /* 5 bits each, rounded up again */
        for (int s = 0; s < 3; s++) out[s] = (uint8_t)(((out[s] >> 3) * 255 + 15) / 31);
}

static size_t make_bmp(uint8_t *file, const bmp_kind *k)
{
    const uint32_t description = k->os2 ? 12 : k->description ? (uint32_t)k->description : 40;
    const uint32_t palette = k->bits <= 8 ? (1u << k->bits) * (k->os2 ? 3 : 4) : 0;
    const uint32_t masks = k->masks && description == 40 ? 12 : 0;
    const uint32_t start = 14 + description + masks + palette + 2; /* a gap of two bytes */
    uint8_t *at = file;
    put(&at, 'B' | 'M' << 8, 2), put(&at, 0, 4), put(&at, 0, 4), put(&at, start, 4);
    put(&at, description, 4);
    if (k->os2) {
        put(&at, COLS, 2), put(&at, ROWS, 2), put(&at, 1, 2), put(&at, (uint32_t)k->bits, 2);
    } else {
        put(&at, COLS, 4), put(&at, k->top_down ? (uint32_t)-ROWS : ROWS, 4), put(&at, 1, 2);
        put(&at, (uint32_t)k->bits, 2), put(&at, k->masks ? 3 : 0, 4);
        for (int i = 0; i < 5; i++) put(&at, 0, 4);
    }
    if (k->masks) {
        put(&at, 0xff, 4), put(&at, 0xff00, 4), put(&at, 0xff0000, 4);
        if (description > 52) put(&at, 0xff000000, 4);
    }
    at = file + 14 + description + masks;
    for (unsigned i = 0; palette && i < 1u << k->bits; i++) {
        put(&at, 255 - i, 1), put(&at, i * 5, 1), put(&at, i * 3 + 1, 1);
        if (!k->os2) put(&at, 0, 1);
    }
    at += 2;
    for (size_t line = 0; line < ROWS; line++) {
        const size_t r = k->top_down ? line : ROWS - 1 - line;
        uint8_t row[64] = {0}, *to = row;
        for (size_t c = 0; c < COLS; c++) {
            const unsigned i = (unsigned)(r * COLS + c);
            const uint32_t red = sample(r, c, 0), green = sample(r, c, 1), blue = sample(r, c, 2);
            if (k->bits <= 8)
                row[c * (size_t)k->bits / 8] |=
                    (uint8_t)(i % (1u << k->bits) << (8 - k->bits - (int)(c * k->bits % 8)));
            else if (k->bits == 16)
                put(&to, red >> 3 << 10 | green >> 3 << 5 | blue >> 3, 2);
            else if (k->masks)
                put(&to, red | green << 8 | blue << 16 | 0xffu << 24, 4);
            else
                put(&to, blue | green << 8 | red << 16, k->bits / 8);
        }
        const size_t bytes = (COLS * (size_t)k->bits + 31) / 32 * 4;
        memcpy(at, row, bytes);
        at += bytes;
    }
    return (size_t)(at - file);
}

static void reads_bmps(void **state)
{
    (void)state;
    static const bmp_kind kinds[] = {{1},
                                     {4},
                                     {8},
                                     {16},
                                     {24},
                                     {32},
                                     {24, 1},
                                     {8, 0, 1},
                                     {24, 0, 1},
                                     {32, 0, 0, 1},
                                     {32, 0, 0, 1, 108},
                                     {32, 1, 0, 1, 124}};
    uint8_t file[4096];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        image_info info;
        memset(file, 0, sizeof file);
        const size_t size = make_bmp(file, &kinds[i]);
        uint8_t *pixels = read_good(io_put("a.bmp", file, size), &info);
        assert_int_equal(info.rows, ROWS);
        assert_int_equal(info.cols, COLS);
        assert_int_equal(info.channels, 3);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < COLS; c++) {
                uint8_t expected[3];
                bmp_colour(&kinds[i], r, c, expected);
                assert_memory_equal(pixels + (r * COLS + c) * 3, expected, 3);
            }
        free(pixels);
        for (size_t cut = 1; cut < size; cut += 3) {
            io_put("a.bmp", file, cut);
            assert_int_not_equal(
                read_with(io_path("a.bmp"), &(image_read_options){0}, &info, &pixels), SSM2D_OK);
            free(pixels);
        }
    }
}

static void refuses_bad_bmps(void **state)
{
    (void)state;
    uint8_t file[4096] = {0};
    const bmp_kind k = {24};
    const size_t size = make_bmp(file, &k);
    file[30] = 1; /* run lengths */
    refused(io_put("a.bmp", file, size), SSM2D_ERROR_UNSUPPORTED, "compression 1: save it as PNG");
    file[30] = 0;
    file[10] = 20; /* pixels within the header */
    refused(io_put("a.bmp", file, size), SSM2D_ERROR_ARGUMENT, "pixels at byte 20");
    make_bmp(file, &k);
    memset(file + 18, 0, 4);
    refused(io_put("a.bmp", file, size), SSM2D_ERROR_ARGUMENT, "is a damaged BMP of 5 x 0 pixels");
    make_bmp(file, &k);
    /* rows that the file does not have, and for which no memory is allocated */
    memset(file + 22, 0x7f, 4);
    image_info info;
    uint8_t *pixels;
    const image_read_options limit = {.max_pixels = 1000};
    assert_int_equal(read_with(io_put("a.bmp", file, size), &limit, &info, &pixels),
                     SSM2D_ERROR_UNSUPPORTED);
    assert_line("more than the 1000 that max-pixels allows");
    file[14] = 13;
    refused(io_put("a.bmp", file, size), SSM2D_ERROR_ARGUMENT, "unsupported BMP variant");
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    uint8_t file[4096] = {0};
    const bmp_kind k = {24};
    assert_true(allocations_to_read(io_put("a.bmp", file, make_bmp(file, &k))) >= 4);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_bmps),
        TEST(refuses_bad_bmps),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("image_bmp", tests, io_setup, io_teardown);
}
