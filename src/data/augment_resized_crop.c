/* augment_resized_crop - trains on random rectangles of an image, resized to the model's size, as
 * torchvision's RandomResizedCrop.
 *
 * Up to ten attempts: the area is uniform from the fraction `resized_crop` of the image to 1, the
 * ratio of columns to rows log-uniform from 1 / resized_crop_ratio to resized_crop_ratio, and the
 * position of the first rectangle that fits uniform. If none fits, the largest centred rectangle
 * with an allowed ratio is used. */
#include "data/augmentation.h"

#include <math.h>

enum { TRIES = 10 };

typedef struct resized_crop_options {
    double resized_crop, resized_crop_ratio;
} resized_crop_options;

static const ssm2d_field fields[] = {
    {"resized_crop",
     "trains on random rectangles of at least this fraction of an image's area; 0: on all of it",
     SSM2D_KIND_REAL, offsetof(resized_crop_options, resized_crop), 0, 1, "0", NULL, NULL},
    {"resized_crop_ratio", "largest ratio of the longer to the shorter side of such a rectangle",
     SSM2D_KIND_REAL, offsetof(resized_crop_options, resized_crop_ratio), 1, 100,
     "1.3333333333333333", NULL, NULL},
    {0}};

static size_t rounded(double side) { return (size_t)fmax(1, nearbyint(side)); }

/* Resets the region to the whole image, stretched to the model's size; keeps the filter. */
static void begin_region(const decode_sizes *s, resize_region *region)
{
    const resize_filter filter = region->filter;
    *region = (resize_region){.rows = s->source_rows,
                              .cols = s->source_cols,
                              .resized_rows = s->rows,
                              .resized_cols = s->cols,
                              .filter = filter};
}

static void choose_centre(double ratio, const decode_sizes *s, resize_region *region)
{
    const double rows = (double)s->source_rows, cols = (double)s->source_cols;
    if (cols / rows < 1 / ratio)
        region->rows = rounded(cols * ratio);
    else if (cols / rows > ratio)
        region->cols = rounded(rows * ratio);
    region->top = (s->source_rows - region->rows) / 2;
    region->left = (s->source_cols - region->cols) / 2;
}

static void resized_crop(const void *options, rng *r, const decode_sizes *s, resize_region *region)
{
    const resized_crop_options *o = options;
    const double area = (double)s->source_rows * (double)s->source_cols;
    const double log_ratio = log(o->resized_crop_ratio);
    begin_region(s, region);
    for (int i = 0; i < TRIES; i++) {
        const double part = area * rng_uniform(r, o->resized_crop, 1);
        const double ratio = exp(rng_uniform(r, -log_ratio, log_ratio));
        const size_t rows = (size_t)nearbyint(sqrt(part / ratio));
        const size_t cols = (size_t)nearbyint(sqrt(part * ratio));
        if (rows < 1 || rows > s->source_rows || cols < 1 || cols > s->source_cols) continue;
        region->rows = rows;
        region->cols = cols;
        region->top = (size_t)rng_below(r, s->source_rows - rows + 1);
        region->left = (size_t)rng_below(r, s->source_cols - cols + 1);
        return;
    }
    choose_centre(o->resized_crop_ratio, s, region);
}

const augmentation augmentation_resized_crop = {
    .name = "resized_crop",
    .help = "trains on random rectangles of images",
    .fields = fields,
    .options_size = sizeof(resized_crop_options),
    .purpose = RNG_RESIZED_CROP,
    .when = AUGMENT_TRAINING,
    .stage = AUGMENT_DECODE,
    .run.decode = resized_crop,
};
