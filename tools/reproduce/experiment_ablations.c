/* Ablations - the layer with one setting changed at a time, in ViT, and what it is compared with in
 * other places and with other initial values; not in the paper. Rows without a change are runs of
 * Table 5, but at scale full, where the layer is ours here and the published one there. */
#include "experiment.h"

#include <stddef.h>

/* own: settings of the model, followed by a space unless there are none */
#define CHANGED(name, kind, own, changed)                                                          \
    {                                                                                              \
        .label = name, .mixer = kind, .settings = own "mixer." changed                             \
    }
#define WITH(name, own, changed) CHANGED(name, "ssm2d", own, changed)
#define ROWS(own)                                                                                  \
    {.label = "no mixer", .mixer = "none", .settings = own, .plain = 1},                           \
        {.label = "the layer", .mixer = "ssm2d", .settings = own},                                 \
        WITH("complex", own, "values=polar"), WITH("one direction", own, "directions=1"),          \
        WITH("two directions", own, "directions=2"), WITH("n_ssm 1", own, "n_ssm=1"),              \
        WITH("n_ssm 8", own, "n_ssm=8"), WITH("d_state 4", own, "d_state=4"),                      \
        WITH("d_state 32", own, "d_state=32"), WITH("assign authors", own, "assign=authors"),      \
        WITH("init authors", own, "init=authors"), WITH("norm none", own, "norm=none"),            \
        WITH("norm paper", own, "norm=paper"), WITH("directions averaged", own, "average=true"),   \
        WITH("LayerNorm", own, "layer_norm=true"), WITH("place attn", own, "place=attn"),          \
        WITH("place ffn", own, "place=ffn"),                                                       \
        WITH("complex, place attn", own, "values=polar mixer.place=attn"),                         \
        {.label = "S4ND", .mixer = "s4nd", .settings = own},                                       \
        CHANGED("S4ND, place attn", "s4nd", own, "place=attn"),                                    \
        CHANGED("S4ND, init authors", "s4nd", own, "init=authors"),                                \
        CHANGED("S4ND, init authors, place attn", "s4nd", own, "init=authors mixer.place=attn"),   \
        {.label = "EMA", .mixer = "ema", .settings = own},                                         \
        CHANGED("EMA, place block", "ema", own, "place=block"),                                    \
        {.label = "no mixer, decay of matrices alone",                                             \
         .mixer = "none",                                                                          \
         .settings = own "decay_of=matrices"},                                                     \
    {                                                                                              \
        .label = "the layer, decay of matrices alone", .mixer = "ssm2d",                           \
        .settings = own "decay_of=matrices"                                                        \
    }

static const experiment_row rows[] = {ROWS(""), {0}};
static const experiment_row tiny_rows[] = {ROWS(TINY_VIT " "), {0}};

#define NO_POS "pos_embed=false"
static const experiment_column full_columns[] = {
    {.label = "with PE", .data = "cifar100", .model = "vit"},
    {.label = "w/o PE", .data = "cifar100", .model = "vit", .settings = NO_POS},
    {0}};
static const experiment_column small_columns[] = {
    {.label = "with PE", .data = "cifar10", .model = "vit-mini"},
    {.label = "w/o PE", .data = "cifar10", .model = "vit-mini", .settings = NO_POS},
    {0}};

const experiment experiment_ablations = {
    .name = "ablations",
    .ours = 1,
    .title = "Ablations: the layer in ViT with one setting changed at a time",
    .note = "The paper has no such table. The layer is as in ssm2d train --model vit: 4 directions "
            "with 2 systems each, state dimension 16, assign distinct, init identity, norm "
            "relaxed, place block.",
    .times = 1,
    .parameters = 1,
    .forms = {
        [SCALE_FULL] = {.recipe = "small", .columns = full_columns, .rows = rows},
        [SCALE_MEDIUM] =
            {.differs = MEDIUM_DIFFERS, MEDIUM_FORM, .columns = full_columns, .rows = rows},
        [SCALE_SMALL] = {.differs =
                             "vit-mini, at most 20,000 training images of CIFAR-10, 15 epochs "
                             "with flips and crops as the only augmentation",
                         SMALL_FORM,
                         .images = 20000,
                         .columns = small_columns,
                         .rows = rows},
        [SCALE_TINY] = {.differs = "a ViT of two blocks and 32 channels, at most 2,000 training "
                                   "images, 2 epochs without augmentation",
                        TINY_FORM,
                        .columns = small_columns,
                        .rows = tiny_rows}}};
