/* Topics of `ssm2d theory` on the rank of kernels: Pascal's triangle, ranks by the side of the
 * grid, and S4ND as a special case of the layer. */
#include "core/arith.h"
#include "draw/curves.h"
#include "draw/heatmap.h"
#include "theory.h"

#include <math.h>
#include <stdio.h>

/* The system of the paper's proof: K[i,j] = K[i,j-1] + K[i-1,j-1], upper triangular. */
static const theory_system pascal = {{1, 1, 1, 0}, {1, 0}, {1, 0}};

static void print_kernel(const double *kernel, int side)
{
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < side; j++) printf(" %7.4g", kernel[row_major(i, side, j)]);
        printf("\n");
    }
}

static heat_panel kernel_panel(const double *kernel, int side)
{
    return (heat_panel){.values = kernel,
                        .rows = side,
                        .cols = side,
                        .map = COLOUR_DIVERGING,
                        .shows_values = 1,
                        .row_label = "row i",
                        .col_label = "column j"};
}

/* Kernels that are compared: Pascal's triangle, the layer and S4ND drawn at random. */
enum { COMPARED = 3 };
static const char *const compared_names[COMPARED] = {
    "2-D SSM, Pascal's triangle", "2-D SSM, drawn at random", "S4ND, initial values"};

static ssm2d_status compared_kernels(ssm2d_context *context, uint64_t seed, int side,
                                     double kernels[COMPARED][THEORY_CELLS], ssm2d_error *error)
{
    ssm2d_status status = theory_kernel(context, &pascal, SSM2D_NORM_NONE, side, kernels[0], error);
    if (!status)
        status = theory_kernel_drawn(context, seed, SSM2D_NORM_RELAXED, side, kernels[1], error);
    if (!status) status = theory_s4nd_drawn(context, seed, side, kernels[2], error);
    return status;
}

/* ---- Pascal's triangle ----------------------------------------------------------------------- */

static ssm2d_status print_pascal(ssm2d_context *context, const theory_view *view,
                                 ssm2d_error *error)
{
    double kernel[THEORY_CELLS], below = 0, diagonal = 0;
    const int side = view->side;
    const ssm2d_status status =
        theory_kernel(context, &pascal, SSM2D_NORM_NONE, side, kernel, error);
    if (status) return status;
    printf("A1 = A2 = A3 = 1, A4 = 0, B1 = 1, B2 = 0, C1 = 1, C2 = 0, norm none: K[i,j] =\n\n");
    print_kernel(kernel, side);
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < i; j++) below = fmax(below, fabs(kernel[row_major(i, side, j)]));
        diagonal = fmax(diagonal, fabs(kernel[row_major(i, side, i)] - 1));
    }
    printf("\nlargest element below the diagonal            %g\n", below);
    printf("largest difference of the diagonal from 1     %g\n", diagonal);
    printf("so the determinant is 1 and the rank is full  %d of %d\n", theory_rank(kernel, side),
           side);
    return SSM2D_OK;
}

static ssm2d_status draw_pascal(ssm2d_context *context, const theory_view *view, const char *path,
                                ssm2d_error *error)
{
    double kernels[COMPARED][THEORY_CELLS];
    heat_panel panels[COMPARED];
    const char *row_titles[1] = {""};
    char note[256];
    const ssm2d_status status = compared_kernels(context, view->seed, view->side, kernels, error);
    if (status) return status;
    for (int k = 0; k < COMPARED; k++) panels[k] = kernel_panel(kernels[k], view->side);
    snprintf(note, sizeof note,
             "As a matrix the first kernel has rank %d, the second %d and the third %d. K[0,0] is "
             "at the top left.",
             theory_rank(kernels[0], view->side), theory_rank(kernels[1], view->side),
             theory_rank(kernels[2], view->side));
    const heat_figure figure = {.title = theory_pascal.title,
                                .note = note,
                                .grid_rows = 1,
                                .grid_cols = COMPARED,
                                .panels = panels,
                                .row_titles = row_titles,
                                .col_titles = compared_names};
    return heatmap_draw(context, path, &figure, error);
}

const theory_topic theory_pascal = {"pascal",
                                    "The layer can express kernels of full rank: Pascal's triangle",
                                    5, print_pascal, draw_pascal};

/* ---- ranks ----------------------------------------------------------------------------------- */

static ssm2d_status print_ranks(ssm2d_context *context, const theory_view *view, ssm2d_error *error)
{
    double kernels[COMPARED][THEORY_CELLS], values[THEORY_SIDE];
    ssm2d_status status = SSM2D_OK;
    printf("Rank of the kernel as a matrix: singular values above side * 2.2e-16 times the "
           "largest.\nNext to it the second singular value relative to the first.\n\n");
    printf("%-5s", "side");
    for (int k = 0; k < COMPARED; k++) printf("  %-26s", compared_names[k]);
    printf("\n");
    for (int side = 2; side <= view->side && !status; side++) {
        /* all small sides, then even ones, and the last */
        if (side > 8 && side % 4 && side != view->side) continue;
        status = compared_kernels(context, view->seed, side, kernels, error);
        if (status) break;
        printf("%-5d", side);
        for (int k = 0; k < COMPARED; k++) {
            theory_singular_values(kernels[k], side, values);
            printf("  %-4d %-21.1e", theory_rank(kernels[k], side), values[1] / values[0]);
        }
        printf("\n");
    }
    return status;
}

static ssm2d_status draw_ranks(ssm2d_context *context, const theory_view *view, const char *path,
                               ssm2d_error *error)
{
    double kernels[COMPARED][THEORY_CELLS], values[COMPARED][THEORY_SIDE], x[THEORY_SIDE];
    curve curves[COMPARED];
    const int side = view->side;
    const ssm2d_status status = compared_kernels(context, view->seed, side, kernels, error);
    if (status) return status;
    for (int i = 0; i < side; i++) x[i] = i + 1;
    for (int k = 0; k < COMPARED; k++) {
        theory_singular_values(kernels[k], side, values[k]);
        const double first = values[k][0];
        /* rounding errors are drawn at the bottom */
        for (int i = 0; i < side; i++) values[k][i] = fmax(values[k][i] / first, 1e-18);
        curves[k] = (curve){.name = compared_names[k],
                            .x = x,
                            .y = values[k],
                            .count = side,
                            .colour = colour_of_line(k),
                            .dots = 1};
    }
    const curve_panel panel = {.y_label = "singular value, relative to the first",
                               .curves = curves,
                               .count = COMPARED,
                               .is_log = 1};
    char title[96];
    snprintf(title, sizeof title, "Singular values of kernels of %d x %d cells", side, side);
    const curve_figure figure = {.title = title,
                                 .note = "Values below 1e-15 are rounding errors: S4ND has one "
                                         "singular value, and so rank 1.",
                                 .x_label = "index of the singular value",
                                 .panels = &panel,
                                 .count = 1,
                                 .x_low = 1,
                                 .x_high = side,
                                 .shared_legend = 1};
    return curves_draw(context, path, &figure, error);
}

const theory_topic theory_ranks = {"ranks", "The rank grows with the grid; that of S4ND is 1", 16,
                                   print_ranks, draw_ranks};

/* ---- S4ND as a special case ------------------------------------------------------------------ */

/* The decay of S4ND's kernel along rows and columns. */
static const double decay_rows = 0.8, decay_cols = 0.6;

enum { FORMS = 3 };

/* The kernel of S4ND, that of the layer with A3 = B1 = 0 and C1 = C2*A1/A2, and that of the layer
 * with the paper's coefficients. */
static ssm2d_status special_kernels(ssm2d_context *context, int side,
                                    double kernels[FORMS][THEORY_CELLS], ssm2d_error *error)
{
    const double a2 = 0.5;
    const theory_system exact = {{decay_cols, a2, 0, decay_rows}, {0, 1}, {decay_cols / a2, 1}};
    const theory_system printed = {{decay_cols, 0, 0, decay_rows}, {1, 1}, {0.5, 0.5}};
    ssm2d_status status = theory_s4nd(context, decay_rows, decay_cols, side, kernels[0], error);
    if (!status) status = theory_kernel(context, &exact, SSM2D_NORM_NONE, side, kernels[1], error);
    if (!status)
        status = theory_kernel(context, &printed, SSM2D_NORM_NONE, side, kernels[2], error);
    return status;
}

static const char *const form_names[FORMS] = {"S4ND", "A3 = B1 = 0, C1 = C2 A1/A2",
                                              "A2 = A3 = 0 (paper)"};

static ssm2d_status print_special(ssm2d_context *context, const theory_view *view,
                                  ssm2d_error *error)
{
    double kernels[FORMS][THEORY_CELLS];
    const ssm2d_status status = special_kernels(context, view->side, kernels, error);
    if (status) return status;
    printf("S4ND with one state per axis is the outer product of %g^i and %g^j. The layer with "
           "norm none\nand zero initial states, A4 = %g and A1 = %g,\nthe last row with B1 = B2 = "
           "1 and C1 = C2 = 1/2:\n\n",
           decay_rows, decay_cols, decay_rows, decay_cols);
    printf("%-28s  rank  largest difference from S4ND\n", "coefficients");
    for (int k = 0; k < FORMS; k++)
        printf("%-28s  %4d  %.1e\n", form_names[k], theory_rank(kernels[k], view->side),
               theory_difference(kernels[0], kernels[k], view->side));
    printf(
        "\nThe paper sets A2 = A3 = 0 and initialises the states by the kernels of S4ND. With zero "
        "initial\nstates, as everywhere else in it, only the first row and column of that kernel "
        "are left.\n");
    return SSM2D_OK;
}

static ssm2d_status draw_special(ssm2d_context *context, const theory_view *view, const char *path,
                                 ssm2d_error *error)
{
    double kernels[FORMS][THEORY_CELLS], differences[FORMS][THEORY_CELLS];
    heat_panel panels[2 * FORMS];
    static const char *const row_titles[2] = {"kernel", "minus S4ND"};
    const ssm2d_status status = special_kernels(context, view->side, kernels, error);
    if (status) return status;
    for (int k = 0; k < FORMS; k++) {
        for (int i = 0; i < view->side * view->side; i++)
            differences[k][i] = kernels[k][i] - kernels[0][i];
        panels[k] = kernel_panel(kernels[k], view->side);
        panels[FORMS + k] = kernel_panel(differences[k], view->side);
        panels[FORMS + k].shows_values = k == FORMS - 1;
    }
    const heat_figure figure = {.title = theory_special_case.title,
                                .note = "Zero initial states. Each panel has its own colour scale: "
                                        "the differences of the second column are rounding errors.",
                                .grid_rows = 2,
                                .grid_cols = FORMS,
                                .panels = panels,
                                .row_titles = row_titles,
                                .col_titles = form_names};
    return heatmap_draw(context, path, &figure, error);
}

const theory_topic theory_special_case = {"s4nd", "S4ND is a special case of the layer", 5,
                                          print_special, draw_special};
