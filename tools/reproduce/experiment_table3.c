/* Table 3 - CIFAR-10 in grey, the image task of the Long Range Arena. */
#include "experiment.h"

#include <stddef.h>

/* clang-format off */
#define MEGA(of, own) \
    RUN_ROW("Mega Ablate", of, "none", own, .plain = 1, .paper = {"81.00"}), \
    RUN_ROW("Mega", of, "ema", own, .paper = {"90.44"}), \
    RUN_ROW("Mega 2-D SSM", of, "ssm2d", own, .paper = {"91.31"})

static const experiment_row full_rows[] = {
    {.label = "Transformer", .paper = {"42.94"}}, {.label = "S4-v1", .paper = {"87.26"}},
    {.label = "S4-v2", .paper = {"88.65"}}, {.label = "CCNN-1D", .paper = {"88.90"}},
    {.label = "CCNN-2D", .paper = {"91.12"}}, {.label = "S4ND", .paper = {"89.90"}},
    {.label = "Hyena", .paper = {"91.20"}},
    MEGA("mega-lra", NULL), {0}};
static const experiment_row medium_rows[] = {
    MEGA("mega-lra", "dim=80 depth=4 z=48 v=160 ffn=160"), {0}};
static const experiment_row small_rows[] = {MEGA("mega-mini", "channels=1"), {0}};
static const experiment_row tiny_rows[] = {MEGA("mega-mini", "channels=1 " TINY_MEGA), {0}};
/* clang-format on */

static const experiment_column columns[] = {{.label = "Image - LRA", .data = "lra-image"}, {0}};

#define AS_MEGA_LRA .stands_for = {"mega-mini", "mega-lra"}

const experiment experiment_table3 = {
    .name = "table3",
    .title = "Table 3: CIFAR-10 in grey, of the Long Range Arena",
    .times = 1,
    .parameters = 1,
    .forms = {
        [SCALE_FULL] = {.note =
                            "Rows without a result of ours are other authors' models, as the paper "
                            "cites them.",
                        .recipe = "lra",
                        .published = 1,
                        .columns = columns,
                        .rows = full_rows},
        [SCALE_MEDIUM] = {.differs = "half the width and depth of the paper's Mega on pixels, 10 "
                                     "epochs instead of 200",
                          .recipe = "lra",
                          .published = 1,
                          .epochs = 10,
                          .columns = columns,
                          .rows = medium_rows},
        [SCALE_SMALL] = {.differs =
                             "mega-mini on patches of 4 x 4 pixels instead of single "
                             "pixels, LayerNorm, at most 10,000 training images, 15 epochs without "
                             "augmentation",
                         .recipe = "quick",
                         .epochs = 15,
                         .images = 10000,
                         AS_MEGA_LRA,
                         .columns = columns,
                         .rows = small_rows},
        [SCALE_TINY] = {.differs =
                            "a Mega of two blocks and 32 channels on patches of 4 x 4 "
                            "pixels, at most 2,000 training images, 2 epochs without augmentation",
                        TINY_FORM,
                        AS_MEGA_LRA,
                        .columns = columns,
                        .rows = tiny_rows}}};
