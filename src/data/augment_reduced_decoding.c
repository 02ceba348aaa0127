/* augment_reduced_decoding - decodes JPEG files for training at 1/2, 1/4 or 1/8 of their size, if
 * the result is at least as large as the model's input. This saves most of the time for large
 * photographs, and changes pixels slightly. */
#include "data/augmentation.h"

typedef struct reduced_options {
    int reduced_decoding;
} reduced_options;

static const ssm2d_field fields[] = {
    {"reduced_decoding",
     "decodes JPEG files for training at 1/2, 1/4 or 1/8 of their size, if that is large enough",
     SSM2D_KIND_FLAG, offsetof(reduced_options, reduced_decoding), 0, 1, "false", NULL, NULL},
    {0}};

static void allow_reduced(const void *options, rng *r, const decode_sizes *sizes,
                          resize_region *region)
{
    (void)options;
    (void)r;
    (void)sizes;
    region->may_reduce = 1;
}

const augmentation augmentation_reduced_decoding = {
    .name = "reduced_decoding",
    .help = "decodes large JPEG files faster",
    .fields = fields,
    .options_size = sizeof(reduced_options),
    .purpose = RNG_REDUCED_DECODING,
    .when = AUGMENT_TRAINING,
    .stage = AUGMENT_DECODE,
    .run.decode = allow_reduced,
};
