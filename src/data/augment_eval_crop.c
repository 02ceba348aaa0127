/* augment_eval_crop - resizes an image, keeping its aspect ratio, so that the model's size is the
 * fraction `eval_crop` of the shorter side, and crops the centre: torchvision's Resize and
 * CenterCrop (0.875 and a model of 224 pixels resize to 256). It is used in training too, so that a
 * model sees the aspect ratios that it is evaluated on, unless resized_crop chooses the region. */
#include "core/status.h"
#include "data/augmentation.h"

#include <math.h>

typedef struct eval_crop_options {
    double eval_crop;
} eval_crop_options;

static const ssm2d_field fields[] = {
    {"eval_crop",
     "centre crop: this fraction of the shorter side, keeping the aspect ratio, in evaluation, and "
     "in training without resized_crop; 0: the whole image, stretched to the model's size, as in "
     "runs of earlier versions; a new run that does not set it has 0.875 for models of 128 pixels "
     "or more, and 1 for smaller ones",
     SSM2D_KIND_REAL, offsetof(eval_crop_options, eval_crop), 0, 1, "0", NULL, NULL},
    {0}};

static const double min_crop = 0.1; /* smaller values would resize to huge images */

static ssm2d_status check(const void *options, ssm2d_error *error)
{
    const double crop = ((const eval_crop_options *)options)->eval_crop;
    if (!(crop > 0) || crop >= min_crop) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "eval_crop=%g: use 0, or a number from %g to 1", crop,
                min_crop);
}

/* The side to resize to, so that `side` is the fraction `crop` of it. */
static size_t with_margin(size_t side, double crop) { return (size_t)((double)side / crop + 1e-6); }

/* The other side, in the source's aspect ratio, but at least as large as the window. */
static size_t in_proportion(size_t exact, size_t source, size_t source_other, size_t window)
{
    const double other = (double)exact * (double)source_other / (double)source;
    const size_t side = (size_t)fmin(other, MAX_IMAGE_SIDE);
    return side < window ? window : side;
}

/* Half the margin; halves are rounded to even, as Python's round does. */
static size_t middle(size_t resized, size_t window)
{
    return (size_t)nearbyint((double)(resized - window) / 2);
}

static void eval_crop(const void *options, rng *r, const decode_sizes *s, resize_region *region)
{
    const double crop = ((const eval_crop_options *)options)->eval_crop;
    (void)r;
    size_t rows = with_margin(s->rows, crop), cols = with_margin(s->cols, crop);
    /* the axis along which the source is shorter, relative to the model's size, is exact */
    if (s->source_rows * cols <= s->source_cols * rows)
        cols = in_proportion(rows, s->source_rows, s->source_cols, s->cols);
    else
        rows = in_proportion(cols, s->source_cols, s->source_rows, s->rows);
    region->resized_rows = rows;
    region->resized_cols = cols;
    region->window_top = middle(rows, s->rows);
    region->window_left = middle(cols, s->cols);
}

const augmentation augmentation_eval_crop = {
    .name = "eval_crop",
    .help = "crops the centre of images",
    .fields = fields,
    .options_size = sizeof(eval_crop_options),
    .purpose = RNG_EVAL_CROP,
    .when = AUGMENT_TRAINING | AUGMENT_EVALUATION,
    .check = check,
    .stage = AUGMENT_DECODE,
    .run.decode = eval_crop,
};
