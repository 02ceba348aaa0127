/* Figures 2 and 3 - lattice paths, and kernels before and after the relaxation; there is nothing to
 * train. */
#include "experiment.h"

#include <stddef.h>

static const experiment_column columns[] = {{0}};
static const experiment_row rows[] = {{0}};

#define FORM                                                                                       \
    {                                                                                              \
        .columns = columns, .rows = rows                                                           \
    }

const experiment experiment_lattice_paths = {
    .name = "lattice-paths",
    .figure = "figure2",
    .title = "Figure 2: lattice paths",
    .note = "The paper shows four paths to (4,4); here they lie over the share of all paths that "
            "visit a cell. ssm2d theory paths prints the numbers.",
    .picture = PICTURE_PATHS,
    .forms = {FORM, FORM, FORM, FORM}};

const experiment experiment_kernels = {
    .name = "kernels",
    .figure = "figure3",
    .earlier = "figure2",
    .title = "Figure 3: kernels before and after the relaxation",
    .note = "The paper does not print the parameters of its kernels; these are drawn at random, as "
            "by ssm2d kernels --figure3. Earlier versions of ssm2d called this figure2.",
    .picture = PICTURE_KERNELS,
    .forms = {FORM, FORM, FORM, FORM}};
