/* augment_eval_crop - takes the middle of an image: it is resized, keeping its aspect ratio, so
 * that the model's size is `eval_crop` of the shorter side, and cut. As torchvision's Resize and
 * CenterCrop: 0.875 with a model of 224 resizes to 256. In training as well, so that a model sees
 * the shapes that it is evaluated on, unless resized_crop chooses another part of the image. */
#include "core/status.h"
#include "data/augmentation.h"

#include <math.h>

typedef struct eval_crop_options {
    double eval_crop;
} eval_crop_options;

static const ssm2d_field fields[] = {
    {"eval_crop",
     "takes the middle of an image, this part of its shorter side, at its own aspect ratio, in "
     "evaluation, and in training without resized_crop; 0: all of it, squashed into the model's "
     "size, as in runs of earlier versions; a new run that does not give it has 0.875 for models "
     "of 128 pixels or more, and 1 for smaller ones",
     SSM2D_KIND_REAL, offsetof(eval_crop_options, eval_crop), 0, 1, "0", NULL, NULL},
    {0}};

static const double min_crop = 0.1; /* of less the sides that are resized to would be huge */

static int is_on(const void *options)
{
    return ((const eval_crop_options *)options)->eval_crop > 0;
}

static ssm2d_status check(const void *options, ssm2d_error *error)
{
    const double crop = ((const eval_crop_options *)options)->eval_crop;
    if (!(crop > 0) || crop >= min_crop) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "eval_crop=%g: use 0, or a number from %g to 1", crop,
                min_crop);
}

/* The side that is resized to `crop` times fewer pixels is exact; the other follows, at least as
 * large as the window. */
static size_t with_margin(size_t side, double crop) { return (size_t)((double)side / crop + 1e-6); }

static size_t in_proportion(size_t exact, size_t source, size_t source_other, size_t window)
{
    const double other = (double)exact * (double)source_other / (double)source;
    const size_t side = (size_t)fmin(other, MAX_IMAGE_SIDE);
    return side < window ? window : side;
}

/* As Python's round of a number of halves: to the even one. */
static size_t middle(size_t resized, size_t window)
{
    return (size_t)nearbyint((double)(resized - window) / 2);
}

static void eval_crop(const void *options, rng *r, const decode_sizes *s, resize_region *region)
{
    const double crop = ((const eval_crop_options *)options)->eval_crop;
    (void)r;
    size_t rows = with_margin(s->rows, crop), cols = with_margin(s->cols, crop);
    /* the axis along which the source is shorter, measured by what is wanted of it */
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
    .help = "takes the middle of images",
    .fields = fields,
    .options_size = sizeof(eval_crop_options),
    .purpose = RNG_EVAL_CROP,
    .when = AUGMENT_TRAINING | AUGMENT_EVALUATION,
    .is_on = is_on,
    .check = check,
    .stage = AUGMENT_DECODE,
    .run.decode = eval_crop,
};
