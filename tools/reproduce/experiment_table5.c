/* Table 5 - with and without position embedding, real and complex. */
#include "experiment.h"

#include <stddef.h>

#define NO_POS "pos_embed=false"

/* Swin has an absolute position embedding and a relative bias of attention, and the paper does not
 * say which of them it leaves out. mega-lra has the relative bias alone. */
#define NO_BIAS "relative_bias=false"

static const experiment_row full_rows[] = {
    {.label = "Baseline",
     .mixer = "none",
     .plain = 1,
     .paper = {"61.29", "58.97", NULL, NULL, "73.26", "64.09", "88.43", "87.99", "90.44", "75.21"},
     .paper_delta = "-6.79"},
    {.label = "+Ours (R)",
     .mixer = "ssm2d",
     .paper = {"65.77", "65.44", NULL, NULL, "74.07", "74.89", "89.76", "89.63", "91.31", "90.68"},
     .paper_delta = "-0.07"},
    {.label = "+Ours (C)",
     .mixer = "ssm2d",
     .settings = COMPLEX_SYSTEMS,
     .paper = {"3.28", "2.16", NULL, NULL, "73.91", "74.67", "89.84", "89.83", "90.46", "90.79"},
     .paper_delta = "-0.01"},
    {0}};

/* clang-format off */
#define SWIN_COLUMNS(data_of, of) \
    {.label = "Tiny-INet (Swin)", .data = data_of, .model = of}, \
    {.label = "Tiny-INet w/o PE: relative bias only", .data = data_of, .model = of, \
     .settings = NO_POS, .with = 1}, \
    {.label = "Tiny-INet w/o PE: absolute only", .data = data_of, .model = of, \
     .settings = NO_BIAS}, \
    {.label = "Tiny-INet w/o PE: neither", .data = data_of, .model = of, \
     .settings = NO_POS " " NO_BIAS}
/* clang-format on */

static const experiment_column full_columns[] = {
    SWIN_COLUMNS("tiny-imagenet", "swin"),
    {.label = "CIFAR100 (ViT)", .data = "cifar100", .model = "vit", .settings = PAPER_POS},
    {.label = "CIFAR100 w/o PE", .data = "cifar100", .model = "vit", .settings = NO_POS, .with = 5},
    {.label = "CelebA (DeiT-T)", .data = "celeba", .model = "deit-t", .recipe = "celeba"},
    {.label = "CelebA w/o PE",
     .data = "celeba",
     .model = "deit-t",
     .recipe = "celeba",
     .settings = NO_POS,
     .with = 7},
    {.label = "CIFAR10 (Mega-ISO)",
     .data = "lra-image",
     .model = "mega-lra",
     .plain_mixer = "ema",
     .recipe = "lra"},
    {.label = "CIFAR10 w/o PE",
     .data = "lra-image",
     .model = "mega-lra",
     .plain_mixer = "ema",
     .recipe = "lra",
     .settings = NO_BIAS,
     .with = 9},
    {0}};
static const experiment_column medium_columns[] = {
    SWIN_COLUMNS("tiny-imagenet", "swin"),
    {.label = "CIFAR100 (ViT)", .data = "cifar100", .model = "vit", .settings = PAPER_POS},
    {.label = "CIFAR100 w/o PE", .data = "cifar100", .model = "vit", .settings = NO_POS, .with = 5},
    {0}};

/* A model without and with mixers. The paper's numbers are those of its model on other data. */
/* clang-format off */
#define VIT_ROWS(name, own) \
    RUN_ROW(name "Baseline", "vit-mini", "none", own, .columns = 2, .plain = 1, \
            .paper = {"73.26", "64.09"}), \
    RUN_ROW(name "+EMA", "vit-mini", "ema", own, .columns = 2), \
    RUN_ROW(name "+S4ND", "vit-mini", "s4nd", own, .columns = 2), \
    RUN_ROW(name "+Ours (R)", "vit-mini", "ssm2d", own, .columns = 2, \
            .paper = {"74.07", "74.89"}), \
    RUN_ROW(name "+Ours (C)", "vit-mini", "ssm2d", own " " COMPLEX_SYSTEMS, .columns = 2, \
            .paper = {"73.91", "74.67"})
#define SWIN_ROWS \
    RUN_ROW("Swin Baseline", "swin-mini", "none", NULL, .plain = 1, .paper = {"61.29", "58.97"}), \
    RUN_ROW("Swin +EMA", "swin-mini", "ema", NULL, .plain = 0), \
    RUN_ROW("Swin +S4ND", "swin-mini", "s4nd", NULL, .plain = 0), \
    RUN_ROW("Swin +Ours (R)", "swin-mini", "ssm2d", NULL, .paper = {"65.77", "65.44"}), \
    RUN_ROW("Swin +Ours (C)", "swin-mini", "ssm2d", COMPLEX_SYSTEMS, .paper = {"3.28", "2.16"})
#define MEGA_ROWS \
    RUN_ROW("Mega Baseline", "mega-mini", "ema", NULL, .plain = 1), \
    RUN_ROW("Mega ablate", "mega-mini", "none", NULL, .plain = 0), \
    RUN_ROW("Mega +S4ND", "mega-mini", "s4nd", NULL, .plain = 0), \
    RUN_ROW("Mega +Ours (R)", "mega-mini", "ssm2d", NULL, .plain = 0), \
    RUN_ROW("Mega +Ours (C)", "mega-mini", "ssm2d", COMPLEX_SYSTEMS, .plain = 0)

static const experiment_row small_rows[] = {VIT_ROWS("ViT ", PAPER_POS), SWIN_ROWS, MEGA_ROWS, {0}};
static const experiment_row tiny_rows[] = {VIT_ROWS("", TINY_VIT " " PAPER_POS), {0}};
/* clang-format on */

static const experiment_column small_columns[] = {
    {.label = "with PE", .data = "cifar10"},
    {.label = "w/o PE", .data = "cifar10", .settings = NO_POS, .with = 1},
    {.label = "w/o relative bias", .data = "cifar10", .settings = NO_BIAS},
    {.label = "neither", .data = "cifar10", .settings = NO_POS " " NO_BIAS},
    {0}};
static const experiment_column tiny_columns[] = {
    {.label = "with PE", .data = "cifar10"},
    {.label = "w/o PE", .data = "cifar10", .settings = NO_POS, .with = 1},
    {0}};

const experiment experiment_table5 = {
    .name = "table5",
    .title = "Table 5: with and without position embedding, real (R) and complex (C)",
    .note =
        "delta is the accuracy without the (absolute) position embedding minus that with it; of "
        "several models the mean. Swin also has a relative bias of attention, and the paper does "
        "not tell which of the two its column w/o PE leaves out: there is a column for each, and "
        "the paper's numbers stand beside the first. Two of the paper's numbers differ in its "
        "Table 1: Swin with complex systems on Tiny-ImageNet (3.28 here, 12.76 there) and ViT on "
        "CIFAR-100 (73.26 and 73.81).",
    .times = 1,
    .deltas = 1,
    .forms = {
        [SCALE_FULL] =
            {.recipe = "small", .published = 1, .columns = full_columns, .rows = full_rows},
        [SCALE_MEDIUM] = {.differs = MEDIUM_DIFFERS "; Swin and ViT alone",
                          MEDIUM_FORM,
                          .published = 1,
                          .columns = medium_columns,
                          .rows = full_rows},
        [SCALE_SMALL] =
            {.differs = "vit-mini, swin-mini and mega-mini, at most 20,000 training images of "
                        "CIFAR-10, 15 epochs with flips and crops as the only augmentation; the "
                        "paper's numbers are those of ViT on CIFAR-100 and Swin on Tiny-ImageNet",
             .note = "mega-mini has patches, a position embedding and a relative bias, unlike the "
                     "paper's Mega-ISO, so that the paper has no numbers for it.",
             SMALL_FORM,
             .images = 20000,
             .columns = small_columns,
             .rows = small_rows},
        [SCALE_TINY] = {.differs =
                            "a ViT of two blocks and 32 channels, at most 2,000 training images, 2 "
                            "epochs without augmentation; the paper's numbers are those of "
                            "ViT on CIFAR-100",
                        TINY_FORM,
                        .columns = tiny_columns,
                        .rows = tiny_rows}}};
