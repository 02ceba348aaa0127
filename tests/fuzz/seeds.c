/* seeds - makes small good files for the fuzz targets to start from: seeds FOLDER */
#include "io/file.h"
#include "io/image.h"
#include "io/npy.h"
#include "io/safetensors.h"

#include <jpeglib.h>
#include <spng.h>
#include <stdlib.h>
#include <string.h>

static ssm2d_context *context;
static ssm2d_error error;
static const char *base;

static void check(int bad)
{
    if (!bad) return;
    fprintf(stderr, "seeds: %s\n", error.line);
    exit(1);
}

static const char *name(const char *kind, int number)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", base, kind);
    check(folder_make(path, &error) != SSM2D_OK);
    snprintf(path, sizeof path, "%s/%s/%d", base, kind, number);
    return path;
}

static void seed_npy(void)
{
    static const size_t shape[] = {2, 3, 1, 1, 1, 1, 1, 1};
    static const double data[6] = {1, 2, 3};
    for (npy_type type = NPY_FLOAT32; type <= NPY_UINT8; type++)
        check(npy_write(context, name("npy", (int)type), type, type == NPY_UINT8 ? 8 : 2, shape,
                        data, &error)
              != SSM2D_OK);
}

static void seed_json(void)
{
    static const char *const texts[] = {
        "{\"kind\": \"ssm2d\", \"name\": \"a\", \"batch\": 2, \"norm\": \"paper\", \"trunc\": [3, "
        "4], \"complex\": true,"
        " \"complex_form\": \"polar\", \"n_ssm\": 2, \"L1\": 5, \"L2\": 3, \"arrays\": {\"A\": [4, "
        "8, 4]}, \"normalize\": "
        "false}",
        "{\"channels\": 12, \"d_state\": 3, \"n_ssm\": 5, \"directions\": 4, \"pair\": "
        "\"columns\", \"average\": true,"
        " \"values\": \"cartesian\", \"share_directions\": true, \"c_per_channel\": true, "
        "\"skip\": false,"
        " \"layer_norm\": true, \"trunc_rows\": 6, \"trunc_cols\": 7}",
        "[null, -1.5e3, \"\\u00e9\\n\", {}, [[]]]",
    };
    for (int i = 0; i < 3; i++) {
        atomic_file file;
        check(atomic_open(context, name("json", i), &file, &error) != SSM2D_OK);
        check(atomic_write(&file, texts[i], strlen(texts[i]), &error) != SSM2D_OK);
        check(atomic_commit(&file, &error) != SSM2D_OK);
    }
}

static void seed_safetensors(void)
{
    static const double data[6] = {1, 2, 3};
    static const safetensors_note notes[] = {{"format", "pt"}, {"step", "12\n"}};
    safetensors_item items[SAFETENSORS_BOOL + 1];
    char names[SAFETENSORS_BOOL + 1][16];
    for (int i = 0; i <= SAFETENSORS_BOOL; i++) {
        snprintf(names[i], sizeof names[i], "a.%d.weight", i);
        items[i] =
            (safetensors_item){names[i], (safetensors_type)i, i % 4, {2, 3, (size_t)(i % 3)}, data};
    }
    for (int i = 0; i <= SAFETENSORS_BOOL + 1; i++)
        check(safetensors_write(context, name("safetensors", i), (size_t)i, items, i % 3, notes,
                                &error)
              != SSM2D_OK);
}

static void seed_png(int number, int color, int depth, int samples, int interlaced)
{
    uint8_t pixels[7 * 9 * 8] = {0};
    size_t row_bytes = (size_t)(9 * samples * depth + 7) / 8;
    struct spng_ihdr header = {9, 7, (uint8_t)depth, (uint8_t)color, 0, 0, (uint8_t)interlaced};
    struct spng_plte palette = {.n_entries = 2, .entries = {{1, 2, 3, 0}, {250, 150, 50, 0}}};
    struct spng_trns trns = {.n_type3_entries = 1, .type3_alpha = {100}};
    for (size_t i = 0; i < 7 * row_bytes; i++)
        pixels[i] = (uint8_t)(color == SPNG_COLOR_TYPE_INDEXED ? i % 2 : i * 37);
    spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
    FILE *f = fopen(name("image", number), "wb");
    int bad = !f || !png || spng_set_png_file(png, f) || spng_set_ihdr(png, &header);
    if (!bad && color == SPNG_COLOR_TYPE_INDEXED) bad = spng_set_plte(png, &palette);
    if (!bad && samples % 2) bad = spng_set_trns(png, &trns);
    check(bad || spng_encode_image(png, pixels, 7 * row_bytes, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE));
    spng_ctx_free(png);
    fclose(f);
}

static void seed_jpeg(int number, int channels, int progressive)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *f = fopen(name("image", number), "wb");
    check(!f);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, f);
    jpeg.image_height = 17;
    jpeg.image_width = 9;
    jpeg.input_components = channels;
    jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    if (progressive) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int r = 0; r < 17; r++) {
        uint8_t row[9 * 4];
        JSAMPROW rows[] = {row};
        for (int i = 0; i < 9 * channels; i++) row[i] = (uint8_t)(r * 12 + i);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(f);
}

int main(int count, char **arguments)
{
    static const int kinds[][3] = {{0, 1, 1}, {0, 8, 1}, {0, 16, 1}, {2, 8, 3}, {2, 16, 3},
                                   {3, 4, 1}, {3, 8, 1}, {4, 8, 2},  {6, 8, 4}, {6, 16, 4}};
    if (count != 2) {
        fprintf(stderr, "usage: seeds FOLDER\n");
        return 2;
    }
    base = arguments[1];
    check(ssm2d_context_create(NULL, &context, &error) != SSM2D_OK);
    seed_npy();
    seed_json();
    seed_safetensors();
    int number = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int interlaced = 0; interlaced < 2; interlaced++)
            seed_png(number++, kinds[i][0], kinds[i][1], kinds[i][2], interlaced);
    for (int channels = 1; channels <= 4; channels++)
        for (int progressive = 0; channels != 2 && progressive < 2; progressive++)
            seed_jpeg(number++, channels, progressive);
    ssm2d_context_destroy(context);
    return 0;
}
