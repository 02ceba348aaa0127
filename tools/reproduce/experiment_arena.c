/* The arena - every mixer in the same models under the same recipe: as it is, and in a model whose
 * MLPs are widened until all have as many parameters. */
#include "experiment.h"

#include <stddef.h>

#define ROW(name, kind, own)                                                                       \
    {                                                                                              \
        .label = name, .mixer = kind, .settings = own                                              \
    }
#define MATCHED(name, kind, own)                                                                   \
    {                                                                                              \
        .label = name " (matched)", .mixer = kind, .settings = own, .matched = 1                   \
    }

/* clang-format off */
#define EVERY(ROW) \
    ROW("3x3 convolution", "conv", "mixer.kernel=3"), \
    ROW("7x7 convolution", "conv", NULL), \
    ROW("EMA", "ema", NULL), \
    ROW("S4ND", "s4nd", NULL), \
    ROW("2-D SSM real", "ssm2d", NULL), \
    ROW("2-D SSM complex", "ssm2d", "mixer.values=polar"), \
    ROW("SS2D", "ss2d", NULL), \
    ROW("Mamba2D", "mamba2d", NULL), \
    ROW("2DMamba", "scan2d", NULL), \
    ROW("Chimera", "chimera", NULL), \
    ROW("Roesser", "roesser", NULL), \
    ROW("2-D SSM selective", "ssm2d_selective", NULL)
/* clang-format on */

static const experiment_row rows[] = {{.label = "none", .mixer = "none", .plain = 1},
                                      EVERY(ROW),
                                      MATCHED("none", "none", NULL),
                                      EVERY(MATCHED),
                                      {0}};

#define NO_POS "pos_embed=false"
static const experiment_column full_columns[] = {
    {.label = "vit", .data = "images", .model = "vit"},
    {.label = "vit w/o PE", .data = "images", .model = "vit", .settings = NO_POS},
    {.label = "swin", .data = "images", .model = "swin"},
    {0}};
static const experiment_column small_columns[] = {
    {.label = "vit-mini", .data = "images", .model = "vit-mini"},
    {.label = "vit-mini w/o PE", .data = "images", .model = "vit-mini", .settings = NO_POS},
    {.label = "swin-mini", .data = "images", .model = "swin-mini"},
    {0}};
static const experiment_column tiny_columns[] = {
    {.label = "vit-mini", .data = "images", .model = "vit-mini", .settings = TINY_VIT},
    {.label = "swin-mini", .data = "images", .model = "swin-mini", .settings = TINY_SWIN},
    {0}};

const experiment experiment_arena = {
    .name = "arena",
    .ours = 1,
    .usual = SCALE_SMALL,
    .title = "The arena: every mixer in the same models under the same recipe",
    .note = "The paper has no such table. Settings of mixers are the defaults of ssm2d train. In "
            "rows that say `matched` the MLPs of every block are widened until the model has as "
            "many parameters as the largest one of its column.",
    .picture = PICTURE_SCATTER,
    .times = 1,
    .parameters = 1,
    .memory = 1,
    .forms = {
        [SCALE_FULL] = {.recipe = "small", .columns = full_columns, .rows = rows},
        [SCALE_SMALL] = {.differs = "models for two cores, at most 20,000 training images, 15 "
                                    "epochs with flips and crops as the only augmentation",
                         SMALL_FORM,
                         .images = 20000,
                         .columns = small_columns,
                         .rows = rows},
        [SCALE_TINY] = {.differs = "models of two blocks and at most 32 channels, at most 2,000 "
                                   "training images, 2 epochs without augmentation",
                        TINY_FORM,
                        .columns = tiny_columns,
                        .rows = rows}}};
