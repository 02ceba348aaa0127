/* Figure 2 - kernels before and after the relaxation; there is nothing to train. */
#include "experiment.h"

#include <stddef.h>

static const experiment_column columns[] = {{0}};
static const experiment_row rows[] = {{0}};

#define FORM                                                                                       \
    {                                                                                              \
        .columns = columns, .rows = rows                                                           \
    }

const experiment experiment_figure2 = {
    .name = "figure2",
    .title = "Figure 2: kernels before and after the relaxation",
    .note = "The paper does not print the parameters of its kernels; these are drawn at random, as "
            "by ssm2d kernels --figure2.",
    .picture = PICTURE_KERNELS,
    .forms = {FORM, FORM, FORM}};
