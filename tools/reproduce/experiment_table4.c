/* Table 4 - Mega on ImageNet. */
#include "experiment.h"

#include <stddef.h>

#define MEGA(of, own)                                                                              \
    {.label = "MEGA-ablate",                                                                       \
     .model = of,                                                                                  \
     .mixer = "none",                                                                              \
     .settings = own,                                                                              \
     .plain = 1,                                                                                   \
     .paper = {"66.97", "88.17"},                                                                  \
     .paper_parameters = "5.91M"},                                                                 \
        {.label = "EMA",                                                                           \
         .model = of,                                                                              \
         .mixer = "ema",                                                                           \
         .settings = own,                                                                          \
         .paper = {"69.73", "89.76"},                                                              \
         .paper_parameters = "6.21M"},                                                             \
    {                                                                                              \
        .label = "2D-SSM-r", .model = of, .mixer = "ssm2d", .settings = own,                       \
        .paper = {"70.11", "90.19"}, .paper_parameters = "5.96M"                                   \
    }

static const experiment_row full_rows[] = {MEGA("mega-t", NULL), {0}};
static const experiment_row small_rows[] = {MEGA("mega-mini", NULL), {0}};
static const experiment_row tiny_rows[] = {MEGA("mega-mini", TINY_MEGA), {0}};

static const experiment_column full_columns[] = {
    {.label = "Top 1", .data = "imagenet"},
    {.label = "Top 5", .data = "imagenet", .measure = MEASURE_TOP5},
    {0}};
static const experiment_column small_columns[] = {
    {.label = "Top 1", .data = "imagenet", .settings = "image=32"},
    {.label = "Top 5", .data = "imagenet", .settings = "image=32", .measure = MEASURE_TOP5},
    {0}};

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
                         .columns = small_columns,
                         .rows = small_rows},
        [SCALE_TINY] = {
            .differs = "a Mega of two blocks and 32 channels, at most 2,000 training images of "
                       "32 x 32, 2 epochs without augmentation",
            TINY_FORM,
            .columns = small_columns,
            .rows = tiny_rows}}};
