/* augment_erasing - random erasing: fills a rectangle of a normalised image with the mean colour,
 * which is 0, or with normal noise. The area is uniform between bounds, the ratio of rows to
 * columns uniform or log-uniform from 0.3 to 1 / 0.3, the position uniform; a rectangle that is not
 * smaller than the image along both axes is drawn again. */
#include "data/augmentation.h"

#include <math.h>

enum { FILL_MEAN, FILL_PIXEL };
enum { RATIO_UNIFORM, RATIO_LOG_UNIFORM };
static const double min_ratio = 0.3, min_area = 0.02;

typedef struct erasing_options {
    double erasing, erasing_area;
    int erasing_fill, erasing_ratio, erasing_tries;
    double erasing_clip;
} erasing_options;

static const char *const fill_names[] = {"mean", "pixel", NULL};
static const char *const ratio_names[] = {"uniform", "log-uniform", NULL};

static const ssm2d_field fields[] = {
    {"erasing", "random erasing: probability that a rectangle of an image is erased",
     SSM2D_KIND_REAL, offsetof(erasing_options, erasing), 0, 1, "0", NULL, NULL},
    {"erasing_area", "largest erased fraction of the image; the smallest is 0.02", SSM2D_KIND_REAL,
     offsetof(erasing_options, erasing_area), 0.02, 1, "0.4", NULL, NULL},
    {"erasing_fill", "what the rectangle is filled with: mean colour, or noise per pixel",
     SSM2D_KIND_CHOICE, offsetof(erasing_options, erasing_fill), 0, 0, "mean", fill_names, NULL},
    {"erasing_ratio", "distribution of its aspect ratio, from 0.3 to 1/0.3", SSM2D_KIND_CHOICE,
     offsetof(erasing_options, erasing_ratio), 0, 0, "uniform", ratio_names, NULL},
    {"erasing_tries", "attempts to draw a rectangle that fits", SSM2D_KIND_INT,
     offsetof(erasing_options, erasing_tries), 1, 1000, "100", NULL, NULL},
    {"erasing_clip", "clip the noise to this many standard deviations; 0: no clipping",
     SSM2D_KIND_REAL, offsetof(erasing_options, erasing_clip), 0, 100, "0", NULL, NULL},
    {0}};

static double draw_ratio(int distribution, rng *r)
{
    if (distribution == RATIO_UNIFORM) return rng_uniform(r, min_ratio, 1 / min_ratio);
    return exp(rng_uniform(r, log(min_ratio), -log(min_ratio)));
}

static float noise(double clip, rng *r)
{
    const double x = rng_normal(r);
    return (float)(clip > 0 ? fmin(fmax(x, -clip), clip) : x);
}

static void fill_rectangle(const erasing_options *o, rng *r, const float_image *image, size_t top,
                           size_t left, size_t rows, size_t cols)
{
    for (size_t c = 0; c < (size_t)image->channels; c++)
        for (size_t y = 0; y < rows; y++) {
            float *row = image->pixels + (c * image->rows + top + y) * image->cols + left;
            for (size_t x = 0; x < cols; x++)
                row[x] = o->erasing_fill == FILL_MEAN ? 0 : noise(o->erasing_clip, r);
        }
}

static void erasing(const void *options, rng *r, float_image *image)
{
    const erasing_options *o = options;
    const double area = (double)image->rows * (double)image->cols;
    if (rng_uniform(r, 0, 1) >= o->erasing) return;
    for (int i = 0; i < o->erasing_tries; i++) {
        const double part = area * rng_uniform(r, min_area, o->erasing_area);
        const double ratio = draw_ratio(o->erasing_ratio, r);
        const size_t rows = (size_t)nearbyint(sqrt(part * ratio));
        const size_t cols = (size_t)nearbyint(sqrt(part / ratio));
        if (rows >= image->rows || cols >= image->cols) continue;
        const size_t top = (size_t)rng_below(r, image->rows - rows + 1);
        const size_t left = (size_t)rng_below(r, image->cols - cols + 1);
        fill_rectangle(o, r, image, top, left, rows, cols);
        return;
    }
}

const augmentation augmentation_erasing = {
    .name = "erasing",
    .help = "erases rectangles of images",
    .fields = fields,
    .options_size = sizeof(erasing_options),
    .purpose = RNG_ERASING,
    .when = AUGMENT_TRAINING,
    .stage = AUGMENT_FLOATS,
    .run.floats = erasing,
};
