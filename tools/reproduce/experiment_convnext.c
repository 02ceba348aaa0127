/* ConvNeXt - its own convolution, the layer in its place, S4ND, and no mixer at all, on CIFAR-100
 * and Tiny-ImageNet. The settings are those of the authors' code of 2024, which belongs to a later
 * version of the paper; the version of June 2023 has no such rows. */
#include "experiment.h"

#include <stddef.h>

/* What differs from the model's own settings of the layer, which are the authors' for CIFAR-100
 * with real systems (4 directions, kernels cut to 9 x 9). */
#define COMPLEX       "mixer.values=cartesian mixer.directions=2"
#define TINY_CONVNEXT "patch=4 dim=[16,32] depth=[1,1]"
#define CUT(T)        "mixer.trunc_rows=" #T " mixer.trunc_cols=" #T

/* clang-format off */
#define FULL_ROWS(on, of_data, real, complex) \
    {.label = "ConvNeXt, " on, .data = of_data, .mixer = "conv", .plain = 1}, \
    {.label = "ConvNeXt w/o mixer, " on, .data = of_data, .mixer = "none"}, \
    {.label = "ConvNeXt w/ S4ND, " on, .data = of_data, .mixer = "s4nd"}, \
    {.label = "ConvNeXt w/ SSM-r, " on, .data = of_data, .mixer = "ssm2d", .settings = real}, \
    {.label = "ConvNeXt w/ SSM-c, " on, .data = of_data, .mixer = "ssm2d", .settings = complex}
#define ROWS(own, complex) \
    {.label = "ConvNeXt", .mixer = "conv", .settings = own, .plain = 1}, \
    {.label = "ConvNeXt w/o mixer", .mixer = "none", .settings = own}, \
    {.label = "ConvNeXt w/ S4ND", .mixer = "s4nd", .settings = own}, \
    {.label = "ConvNeXt w/ SSM-r", .mixer = "ssm2d", .settings = own}, \
    {.label = "ConvNeXt w/ SSM-c", .mixer = "ssm2d", .settings = complex}
/* clang-format on */

static const experiment_row full_rows[] = {
    FULL_ROWS("C100", "cifar100", NULL, COMPLEX),
    FULL_ROWS("T-IN", "tiny-imagenet", "mixer.directions=2 " CUT(13), COMPLEX " " CUT(7)),
    {0}};
static const experiment_row small_rows[] = {ROWS(NULL, COMPLEX), {0}};
static const experiment_row tiny_rows[] = {ROWS(TINY_CONVNEXT, TINY_CONVNEXT " " COMPLEX), {0}};

static const experiment_column full_columns[] = {{.label = "accuracy", .model = "convnext-small"},
                                                 {0}};
static const experiment_column small_columns[] = {
    {.label = "C100", .data = "cifar100", .model = "convnext-mini"},
    {.label = "T-IN", .data = "tiny-imagenet", .model = "convnext-mini", .settings = "image=32"},
    {0}};

const experiment experiment_convnext = {
    .name = "convnext",
    .title = "ConvNeXt on CIFAR-100 and Tiny-ImageNet",
    .ours = 1,
    .note = "The paper's version of June 2023 has no such table; models, settings and recipe are "
            "those of the authors' code of 2024. Where that counts parameters of the layer it "
            "includes D, which is not used: 1,920 more than here.",
    .times = 1,
    .parameters = 1,
    .forms = {
        [SCALE_FULL] = {.recipe = "small", .columns = full_columns, .rows = full_rows},
        [SCALE_MEDIUM] =
            {.differs = MEDIUM_DIFFERS, MEDIUM_FORM, .columns = full_columns, .rows = full_rows},
        [SCALE_SMALL] = {.differs =
                             "convnext-mini, at most 10,000 training images of 32 x 32, 15 epochs "
                             "with flips and crops as the only augmentation",
                         SMALL_FORM,
                         .images = 10000,
                         .columns = small_columns,
                         .rows = small_rows},
        [SCALE_TINY] = {.differs = "a ConvNeXt of two blocks and at most 32 channels, at most "
                                   "2,000 training images, 2 epochs without augmentation",
                        TINY_FORM,
                        .columns = small_columns,
                        .rows = tiny_rows}}};
