/* The effect of the training set size, a figure that the paper captions as a second Figure 3. */
#include "experiment.h"

#include <stddef.h>

static const experiment_column columns[] = {{.label = "10 %", .part = 0.1},
                                            {.label = "25 %", .part = 0.25},
                                            {.label = "50 %", .part = 0.5},
                                            {.label = "100 %", .part = 1},
                                            {0}};

/* A model on data without and with the layer; `where` is what labels say of the data. */
/* clang-format off */
#define PAIR(name, where, of, on, own, plain_mixer) \
    RUN_ROW(name where, of, plain_mixer, own, .data = on, .plain = 1), \
    RUN_ROW(name " w/ SSM-r" where, of, "ssm2d", own, .data = on)

static const experiment_row full_rows[] = {
    PAIR("ViT", ", CIFAR-100", "vit", "cifar100", PAPER_POS, "none"),
    PAIR("Mega", ", CIFAR-100", "mega", "cifar100", NULL, "ema"),
    PAIR("Swin", ", Tiny-ImageNet", "swin", "tiny-imagenet", NULL, "none"), {0}};
static const experiment_row small_rows[] = {
    PAIR("ViT", "", "vit-mini", "cifar10", PAPER_POS, "none"),
    PAIR("Mega", "", "mega-mini", "cifar10", NULL, "ema"),
    PAIR("Swin", "", "swin-mini", "cifar10", NULL, "none"), {0}};
static const experiment_row tiny_rows[] = {
    PAIR("ViT", "", "vit-mini", "cifar10", TINY_VIT " " PAPER_POS, "none"), {0}};
/* clang-format on */

const experiment experiment_training_size = {
    .name = "training-size",
    .figure = "figure4",
    .earlier = "figure3",
    .title = "The effect of the training set size",
    .note = "The paper captions this Figure 3, as it does its kernels; by LaTeX's counter it is "
            "Figure 4. Earlier versions of ssm2d called it figure3. The paper shows it as a "
            "picture without numbers, and does not name the sizes; all runs have the same number "
            "of epochs.",
    .picture = PICTURE_CURVES,
    .forms = {
        [SCALE_FULL] = {.recipe = "small", .published = 1, .columns = columns, .rows = full_rows},
        [SCALE_MEDIUM] = {.differs = MEDIUM_DIFFERS,
                          MEDIUM_FORM,
                          .published = 1,
                          .columns = columns,
                          .rows = full_rows},
        [SCALE_SMALL] = {.differs = "vit-mini, mega-mini and swin-mini, at most 20,000 training "
                                    "images of CIFAR-10 (100 %), 15 epochs with flips and crops as "
                                    "the only augmentation",
                         SMALL_FORM,
                         .images = 20000,
                         .columns = columns,
                         .rows = small_rows},
        [SCALE_TINY] = {.differs = "a ViT of two blocks and 32 channels, at most 2,000 training "
                                   "images (100 %), 2 epochs without augmentation",
                        TINY_FORM,
                        .columns = columns,
                        .rows = tiny_rows}}};
