#include "bench_images.h"

#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"
#include "data/dataset_impl.h"
#include "data/samples.h"
#include "io/file.h"
#include "io/image.h"
#include "io/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a picture ------------------------------------------------------------------------------- */

enum { WAVES = 12 };

/* Waves of all lengths, an edge, and grain: to a JPEG encoder about as hard as a photograph. */
typedef struct picture {
    double across[WAVES], down[WAVES], phase[WAVES], height[WAVES];
    double edge;
    rng grain;
} picture;

static picture make_picture(uint64_t seed)
{
    picture p = {.grain = rng_seed(seed + 1000)};
    rng r = rng_seed(seed);
    for (int i = 0; i < WAVES; i++) {
        const double frequency = 0.01 * pow(1.5, i);
        const double angle = rng_uniform(&r, 0, 6.283185307179586);
        p.across[i] = frequency * cos(angle);
        p.down[i] = frequency * sin(angle);
        p.phase[i] = rng_uniform(&r, 0, 6.283185307179586);
        p.height[i] = 45 * pow(0.8, i);
    }
    p.edge = rng_uniform(&r, -0.5, 0.5);
    return p;
}

static void picture_row(picture *p, size_t y, size_t cols, uint8_t *rgb)
{
    for (size_t x = 0; x < cols; x++) {
        double v = 120 + ((double)x * p->edge > (double)y - 0.5 * (double)cols ? 25 : -25);
        for (int i = 0; i < WAVES; i++)
            v +=
                p->height[i] * sin(p->across[i] * (double)x + p->down[i] * (double)y + p->phase[i]);
        const double grain = rng_uniform(&p->grain, -14, 14);
        for (int c = 0; c < 3; c++)
            rgb[3 * x + (size_t)c] = (uint8_t)fmin(fmax(v + grain + 15 * (c - 1), 0), 255);
    }
}

/* ---- like CIFAR ------------------------------------------------------------------------------ */

enum { CIFAR_IMAGES = 4096, CIFAR_SIDE = 32, CIFAR_CLASSES = 100 };

const char bench_cifar_name[] = "bench-cifar";

static ssm2d_status open_cifar(dataset *d, const char *folder, dataset_split split,
                               ssm2d_error *error)
{
    enum { PLANE = CIFAR_SIDE * CIFAR_SIDE, SIZE = 3 * PLANE };
    samples *s;
    (void)folder;
    (void)split;
    ssm2d_status status = samples_create(d, &s, error);
    if (status) return status;
    s->blocks[0] = mem_alloc(d->context, CIFAR_IMAGES * SIZE);
    s->blocks[1] = mem_alloc(d->context, CIFAR_IMAGES);
    if (!s->blocks[0] || !s->blocks[1])
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for %d images", CIFAR_IMAGES);
    for (int i = 0; i < CIFAR_IMAGES; i++) {
        picture p = make_picture((uint64_t)i);
        uint8_t row[3 * CIFAR_SIDE], *to = s->blocks[0] + i * SIZE;
        s->blocks[1][i] = (uint8_t)(i % CIFAR_CLASSES);
        for (size_t y = 0; y < CIFAR_SIDE; y++) {
            picture_row(&p, y, CIFAR_SIDE, row);
            for (size_t k = 0; k < sizeof row; k++)
                to[k % 3 * PLANE + y * CIFAR_SIDE + k / 3] = row[k];
        }
    }
    s->pixels = s->blocks[0];
    s->pixels_stride = SIZE;
    s->label = s->blocks[1];
    s->label_stride = 1;
    d->info.count = CIFAR_IMAGES;
    d->info.channels = 3;
    d->info.rows = d->info.cols = CIFAR_SIDE;
    d->info.norm = (normalisation){{.5070f, .4865f, .4409f}, {.2673f, .2564f, .2762f}};
    return dataset_name_classes(d, CIFAR_CLASSES, NULL, error);
}

ssm2d_status bench_images_register(ssm2d_error *error)
{
    static const dataset_impl impl = {.name = bench_cifar_name,
                                      .help = "made by the tool",
                                      .contents = "",
                                      .default_folder = ".",
                                      .open = open_cifar,
                                      .fetch = samples_fetch,
                                      .label = samples_label,
                                      .close = samples_close};
    return dataset_register(&impl, error);
}

enum { FOLDER_PATH = BENCH_FOLDER + 32 };

/* ---- JPEG files ------------------------------------------------------------------------------ */

static ssm2d_status write_jpeg(const ssm2d_context *context, const char *path, uint64_t seed,
                               ssm2d_error *error)
{
    const image_info info = {BENCH_JPEG_ROWS, BENCH_JPEG_COLS, 3, 8};
    const image_write_options how = {.jpeg = 1, .quality = 90};
    uint8_t row[3 * BENCH_JPEG_COLS];
    picture p = make_picture(seed);
    image_writer *writer;
    ssm2d_status status = image_create_with(context, path, &info, &how, &writer, error);
    if (status) return status;
    for (size_t y = 0; y < info.rows && !status; y++) {
        picture_row(&p, y, info.cols, row);
        status = image_write_row(writer, row, error);
    }
    if (!status) return image_finish(writer, error);
    image_abandon(writer);
    return status;
}

ssm2d_status bench_jpegs_make(const ssm2d_context *context, char folder[BENCH_FOLDER],
                              ssm2d_error *error)
{
    char path[FOLDER_PATH];
    const char *base = getenv("TMPDIR");
    errno = ENAMETOOLONG;
    if (snprintf(folder, BENCH_FOLDER, "%s/ssm2d-bench-XXXXXX", base ? base : "/tmp")
            >= BENCH_FOLDER
        || !mkdtemp(folder)) {
        *folder = 0;
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: no folder for images can be made: %s",
                    text_path(base ? base : "/tmp"), strerror(errno));
    }
    snprintf(path, sizeof path, "%s/train/photo", folder);
    ssm2d_status status = folder_make(path, error);
    for (int i = 0; i < BENCH_JPEGS && !status; i++) {
        snprintf(path, sizeof path, "%s/train/photo/%02d.jpg", folder, i);
        status = write_jpeg(context, path, (uint64_t)i, error);
    }
    return status;
}

void bench_jpegs_remove(const char *folder)
{
    char path[FOLDER_PATH];
    if (!*folder) return;
    for (int i = 0; i < BENCH_JPEGS; i++) {
        snprintf(path, sizeof path, "%s/train/photo/%02d.jpg", folder, i);
        unlink(path);
    }
    static const char *const below[] = {"/train/photo", "/train", ""};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", folder, below[i]);
        rmdir(path);
    }
}
