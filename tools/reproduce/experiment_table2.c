/* Table 2 - DeiT and Swin-T on CelebA: the mean accuracy over 40 attributes. */
#include "experiment.h"

#include <stddef.h>

/* A backbone without and with the layer, with the paper's accuracies and parameter counts. */
/* clang-format off */
#define PAPER(accuracy, count) .paper = {accuracy}, .paper_parameters = count
#define BACKBONE(name, of, own, plain_paper, real_paper, complex_paper) \
    RUN_ROW(name, of, "none", own, .plain = 1, plain_paper), \
    RUN_ROW(name " w. SSM-r", of, "ssm2d", own, real_paper), \
    RUN_ROW(name " w. SSM-c", of, "ssm2d", own " " COMPLEX_SYSTEMS, complex_paper)
#define DEIT_T(of, own) \
    BACKBONE("DeiT-T", of, own, PAPER("88.43", "5.532M"), \
             PAPER("89.76", "5.537M"), PAPER("89.84", "5.541M"))
#define DEIT_S(of, own) \
    BACKBONE("DeiT-S", of, own, PAPER("89.66", "21.681M"), \
             PAPER("90.24", "21.688M"), PAPER("90.38", "21.691M"))
#define DEIT_B(of, own) \
    BACKBONE("DeiT-B", of, own, PAPER("90.13", "85.829M"), \
             PAPER("90.45", "85.841M"), PAPER("90.73", "85.845M"))
#define SWIN_T(of, own) \
    BACKBONE("Swin-T", of, own, PAPER("91.48", "27.550M"), \
             PAPER("91.68", "27.556M"), PAPER("91.78", "27.558M"))

static const experiment_row full_rows[] = {
    DEIT_T("deit-t", ""), DEIT_S("deit-s", ""), DEIT_B("deit-b", ""), SWIN_T("swin-t", ""), {0}};
static const experiment_row small_rows[] = {
    DEIT_T("deit-t", "patch=8 depth=4 dim=48"),
    DEIT_S("deit-t", "patch=8 depth=4 dim=96"),
    DEIT_B("deit-t", "patch=8 depth=4 dim=192"),
    SWIN_T("swin-mini", "patch=4"), {0}};
static const experiment_row tiny_rows[] = {
    DEIT_T("deit-t", "patch=8 depth=2 dim=16 heads=2"),
    DEIT_S("deit-t", "patch=8 depth=2 dim=32 heads=2"),
    DEIT_B("deit-t", "patch=8 depth=2 dim=64 heads=4"),
    SWIN_T("swin-mini", TINY_SWIN), {0}};
/* clang-format on */

static const experiment_column full_columns[] = {{.label = "Top 1", .data = "celeba"}, {0}};
static const experiment_column small_columns[] = {
    {.label = "Top 1", .data = "celeba", .settings = "image=64"}, {0}};
static const experiment_column tiny_columns[] = {
    {.label = "Top 1", .data = "celeba", .settings = "image=32"}, {0}};

#define AS_SWIN_T .stands_for = {"swin-mini", "swin-t"}

const experiment experiment_table2 = {
    .name = "table2",
    .title = "Table 2: DeiT and Swin-T on CelebA, mean accuracy over 40 attributes",
    .parameters = 1,
    .forms = {
        [SCALE_FULL] =
            {.recipe = "celeba", .published = 1, .columns = full_columns, .rows = full_rows},
        [SCALE_SMALL] =
            {.differs = "DeiT of 4 blocks with 48, 96 and 192 channels and swin-mini, "
                        "at most 20,000 training images of 64 x 64, 5 epochs with flips as the "
                        "only augmentation",
             .recipe = "quick",
             .settings = "flip=true",
             .epochs = 5,
             .images = 20000,
             AS_SWIN_T,
             .columns = small_columns,
             .rows = small_rows},
        [SCALE_TINY] = {.differs =
                            "models of two blocks and at most 64 channels, at most 2,000 training "
                            "images of 32 x 32, 2 epochs without augmentation",
                        TINY_FORM,
                        AS_SWIN_T,
                        .columns = tiny_columns,
                        .rows = tiny_rows}}};
