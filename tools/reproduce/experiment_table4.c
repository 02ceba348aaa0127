/* Table 4 - Mega on ImageNet. */
#include "experiment.h"

#include <stddef.h>

/* clang-format off */
#define PAPER(top1, top5, count) .paper = {top1, top5}, .paper_parameters = count
#define MEGA(of, own) \
    RUN_ROW("MEGA-ablate", of, "none", own, .plain = 1, PAPER("66.97", "88.17", "5.91M")), \
    RUN_ROW("EMA", of, "ema", own, PAPER("69.73", "89.76", "6.21M")), \
    RUN_ROW("2D-SSM-r", of, "ssm2d", own, PAPER("70.11", "90.19", "5.96M"))

static const experiment_row full_rows[] = {MEGA("mega-t", NULL), {0}};
static const experiment_row small_rows[] = {MEGA("mega-mini", NULL), {0}};
static const experiment_row tiny_rows[] = {MEGA("mega-mini", TINY_MEGA), {0}};
/* clang-format on */

static const experiment_column full_columns[] = {
    {.label = "Top 1", .data = "imagenet"},
    {.label = "Top 5", .data = "imagenet", .measure = MEASURE_TOP5},
    {0}};
static const experiment_column small_columns[] = {
    {.label = "Top 1", .data = "imagenet", .settings = "image=32"},
    {.label = "Top 5", .data = "imagenet", .settings = "image=32", .measure = MEASURE_TOP5},
    {0}};

#define AS_MEGA_T .stands_for = {"mega-mini", "mega-t"}

const experiment experiment_table4 = {
    .name = "table4",
    .title = "Table 4: Mega on ImageNet",
    .times = 1,
    .parameters = 1,
    .forms = {
        [SCALE_FULL] =
            {.recipe = "deit", .published = 1, .columns = full_columns, .rows = full_rows},
        [SCALE_SMALL] = {.differs =
                             "mega-mini, at most 20,000 training images of 32 x 32, 15 epochs with "
                             "flips and crops as the only augmentation",
                         SMALL_FORM,
                         .images = 20000,
                         AS_MEGA_T,
                         .columns = small_columns,
                         .rows = small_rows},
        [SCALE_TINY] = {
            .differs = "a Mega of two blocks and 32 channels, at most 2,000 training images of "
                       "32 x 32, 2 epochs without augmentation",
            TINY_FORM,
            AS_MEGA_T,
            .columns = small_columns,
            .rows = tiny_rows}}};
