#include "bench_images.h"

#include "core/rng.h"
#include "core/status.h"
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

/* Sine waves of many lengths, an edge, and grain: about as hard to decode as a photograph. */
typedef struct picture {
    double across[WAVES], down[WAVES], phase[WAVES], amplitude[WAVES];
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
        p.amplitude[i] = 45 * pow(0.8, i);
    }
    p.edge = rng_uniform(&r, -0.5, 0.5);
    return p;
}

static void picture_row(picture *p, size_t y, size_t cols, uint8_t *rgb)
{
    for (size_t x = 0; x < cols; x++) {
        double v = 120 + ((double)x * p->edge > (double)y - 0.5 * (double)cols ? 25 : -25);
        for (int i = 0; i < WAVES; i++)
            v += p->amplitude[i]
                 * sin(p->across[i] * (double)x + p->down[i] * (double)y + p->phase[i]);
        const double grain = rng_uniform(&p->grain, -14, 14);
        for (int c = 0; c < 3; c++)
            rgb[3 * x + (size_t)c] = (uint8_t)fmin(fmax(v + grain + 15 * (c - 1), 0), 255);
    }
}

enum { FOLDER_PATH = BENCH_FOLDER + 32 };

/* ---- CIFAR-100 ------------------------------------------------------------------------------- */

enum { CIFAR_IMAGES = 4096, CIFAR_SIDE = 32, CIFAR_CLASSES = 100 };

/* A record is two labels, of which the second is the class, and three planes. */
static ssm2d_status write_cifar(const ssm2d_context *context, const char *path, ssm2d_error *error)
{
    enum { PLANE = CIFAR_SIDE * CIFAR_SIDE, LABELS = 2 };
    uint8_t record[LABELS + 3 * PLANE] = {0}, row[3 * CIFAR_SIDE];
    atomic_file file;
    ssm2d_status status = atomic_open(context, path, &file, error);
    if (status) return status;
    for (int i = 0; i < CIFAR_IMAGES && !status; i++) {
        picture p = make_picture((uint64_t)i);
        record[LABELS - 1] = (uint8_t)(i % CIFAR_CLASSES);
        for (size_t y = 0; y < CIFAR_SIDE; y++) {
            picture_row(&p, y, CIFAR_SIDE, row);
            for (size_t k = 0; k < sizeof row; k++)
                record[LABELS + k % 3 * PLANE + y * CIFAR_SIDE + k / 3] = row[k];
        }
        status = atomic_write(&file, record, sizeof record, error);
    }
    return atomic_end(&file, status, error);
}

/* ---- JPEG files ------------------------------------------------------------------------------ */

static ssm2d_status write_jpeg(const ssm2d_context *context, const char *path, uint64_t seed,
                               ssm2d_error *error)
{
    const image_info info = {BENCH_JPEG_ROWS, BENCH_JPEG_COLS, 3, 8};
    const image_write_options how = {.format = "JPEG", .quality = 90};
    uint8_t row[3 * BENCH_JPEG_COLS];
    picture p = make_picture(seed);
    image_writer *writer;
    ssm2d_status status = image_create(context, path, &info, &how, &writer, error);
    if (status) return status;
    for (size_t y = 0; y < info.rows && !status; y++) {
        picture_row(&p, y, info.cols, row);
        status = image_write_row(writer, row, error);
    }
    if (!status) return image_finish(writer, error);
    image_abandon(writer);
    return status;
}

ssm2d_status bench_images_make(const ssm2d_context *context, char folder[BENCH_FOLDER],
                               ssm2d_error *error)
{
    char path[FOLDER_PATH];
    const char *base = getenv("TMPDIR");
    errno = ENAMETOOLONG;
    if (snprintf(folder, BENCH_FOLDER, "%s/ssm2d-bench-XXXXXX", base ? base : "/tmp")
            >= BENCH_FOLDER
        || !mkdtemp(folder)) {
        *folder = 0;
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot create a folder for images: %s",
                    text_path(base ? base : "/tmp"), strerror(errno));
    }
    snprintf(path, sizeof path, "%s/cifar", folder);
    ssm2d_status status = folder_make(path, error);
    snprintf(path, sizeof path, "%s/cifar/train.bin", folder);
    if (!status) status = write_cifar(context, path, error);
    snprintf(path, sizeof path, "%s/jpeg/train/photo", folder);
    if (!status) status = folder_make(path, error);
    for (int i = 0; i < BENCH_JPEGS && !status; i++) {
        snprintf(path, sizeof path, "%s/jpeg/train/photo/%02d.jpg", folder, i);
        status = write_jpeg(context, path, (uint64_t)i, error);
    }
    return status;
}

void bench_images_remove(const char *folder)
{
    char path[FOLDER_PATH];
    if (!*folder) return;
    for (int i = 0; i < BENCH_JPEGS; i++) {
        snprintf(path, sizeof path, "%s/jpeg/train/photo/%02d.jpg", folder, i);
        unlink(path);
    }
    static const char *const below[] = {"/jpeg/train/photo", "/jpeg/train", "/jpeg",
                                        "/cifar/train.bin",  "/cifar",      ""};
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s%s", folder, below[i]);
        remove(path);
    }
}
