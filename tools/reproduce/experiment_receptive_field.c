/* Effective receptive fields of the ViTs of Table 1, which they share their runs with. */
#include "experiment.h"

#include <stddef.h>

/* clang-format off */
#define ROWS(of, own, complex) \
    RUN_ROW("ViT", of, "none", own, .plain = 1), \
    RUN_ROW("ViT w/ S4ND", of, "s4nd", own, .plain = 0), \
    RUN_ROW("ViT w/ SSM-r", of, "ssm2d", own, .plain = 0), \
    RUN_ROW("ViT w/ SSM-c", of, "ssm2d", complex, .plain = 0)
#define SMALL(own) ROWS("vit-mini", own, own " " COMPLEX_SYSTEMS)
/* clang-format on */

static const experiment_row full_rows[] = {ROWS("vit", PAPER_POS, COMPLEX_SYSTEMS " " PAPER_POS),
                                           {0}};
static const experiment_row small_rows[] = {SMALL(PAPER_POS), {0}};
static const experiment_row tiny_rows[] = {SMALL(TINY_VIT " " PAPER_POS), {0}};

static const experiment_column full_columns[] = {{.label = "C100", .data = "cifar100"}, {0}};
static const experiment_column small_columns[] = {{.label = "C10", .data = "cifar10"}, {0}};

const experiment experiment_receptive_field = {
    .name = "receptive-field",
    .title = "Effective receptive fields of ViT with and without the layer",
    .note = "The paper has no numbers for them. The picture is of the runs with seed 0; accuracies "
            "are of all seeds.",
    .picture = PICTURE_RECEPTIVE_FIELDS,
    .parameters = 1,
    .forms = {
        [SCALE_FULL] =
            {.recipe = "small", .published = 1, .columns = full_columns, .rows = full_rows},
        [SCALE_MEDIUM] = {.differs = MEDIUM_DIFFERS,
                          MEDIUM_FORM,
                          .published = 1,
                          .columns = full_columns,
                          .rows = full_rows},
        [SCALE_SMALL] = {.differs =
                             "vit-mini, at most 20,000 training images of CIFAR-10, 15 epochs with "
                             "flips and crops as the only augmentation",
                         SMALL_FORM,
                         .images = 20000,
                         .columns = small_columns,
                         .rows = small_rows},
        [SCALE_TINY] = {.differs =
                            "a ViT of two blocks and 32 channels, at most 2,000 training images, 2 "
                            "epochs without augmentation",
                        TINY_FORM,
                        .columns = small_columns,
                        .rows = tiny_rows}}};
