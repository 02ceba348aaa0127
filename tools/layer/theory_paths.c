/* Topics of `ssm2d theory` on lattice paths: how many there are, the paper's Figure 2, and what the
 * normalisations do with them. */
#include "core/arith.h"
#include "draw/curves.h"
#include "draw/heatmap.h"
#include "theory.h"

#include <math.h>
#include <stdio.h>

/* Every step has the coefficient 1, and so does every path: K[i,j] counts them. */
static const theory_system counting = {{1, 1, 1, 1}, {1, 0}, {1, 1}};

/* The share of the paths from (0,0) to (row,col) that visit each cell. */
static void shares_of(const double *count, int side, int row, int col, double *shares)
{
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++)
            shares[row_major(i, side, j)] = i > row || j > col
                                                ? 0
                                                : count[row_major(i, side, j)]
                                                      * count[row_major(row - i, side, col - j)]
                                                      / count[row_major(row, side, col)];
}

/* ---- paths ----------------------------------------------------------------------------------- */

static ssm2d_status print_paths(ssm2d_context *context, const theory_view *view, ssm2d_error *error)
{
    double count[THEORY_CELLS], shares[THEORY_CELLS], worst = 0;
    const int side = view->side, last = side - 1;
    const ssm2d_status status =
        theory_kernel(context, &counting, SSM2D_NORM_NONE, side, count, error);
    if (status) return status;
    printf("Number of paths from (0,0) to (i,j): K[i,j] with A1 = A2 = A3 = A4 = B1 = C1 = C2 = 1, "
           "B2 = 0\n\n");
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < side; j++) printf(" %7.4g", count[row_major(i, side, j)]);
        printf("\n");
    }
    printf("\nShare of the %.10g paths to (%d,%d) that visit each cell, %%\n\n",
           count[row_major(last, side, last)], last, last);
    shares_of(count, side, last, last, shares);
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < side; j++) printf(" %7.2f", 100 * shares[row_major(i, side, j)]);
        printf("\n");
    }
    for (int step = 0; step <= 2 * last; step++) {
        double sum = 0;
        for (int i = max_int(0, step - last); i <= min_int(step, last); i++)
            sum += shares[row_major(i, side, step - i)];
        worst = fmax(worst, fabs(sum - 1));
    }
    printf("\nEvery path visits one cell per step: shares of a step sum to 1, to within %.1e.\n"
           "The paper says that a kernel element belongs to a single path; it is the sum over all "
           "paths.\n",
           worst);
    return SSM2D_OK;
}

enum { TARGETS = 3, EXAMPLES = 4, CORNERS = 5 };

/* The paths of the paper's figure, on a grid of any side, shifted so that all of them are
 * visible. */
static void example_paths(int last, double rows[EXAMPLES][CORNERS], double cols[EXAMPLES][CORNERS],
                          heat_line lines[EXAMPLES])
{
    const double n = last, m = last / 2, one = last > 1, beside = last > 0 ? n - 1 : 0;
    const double corners[EXAMPLES][CORNERS][2] = {
        {{0, 0}, {n, 0}, {n, 0}, {n, n}, {n, n}},
        {{0, 0}, {0, n}, {0, n}, {n, n}, {n, n}},
        {{0, 0}, {m, 0}, {m, beside}, {n, beside}, {n, n}},
        {{0, 0}, {0, m}, {one, m}, {one, n}, {n, n}}};
    static const double apart[EXAMPLES] = {-0.18, 0.18, -0.06, 0.06};
    for (int k = 0; k < EXAMPLES; k++) {
        for (int i = 0; i < CORNERS; i++) {
            rows[k][i] = corners[k][i][0] - apart[k];
            cols[k][i] = corners[k][i][1] + apart[k];
        }
        lines[k] = (heat_line){rows[k], cols[k], CORNERS, (colour){1, 1, 1}};
    }
}

static ssm2d_status draw_paths(ssm2d_context *context, const theory_view *view, const char *path,
                               ssm2d_error *error)
{
    double count[THEORY_CELLS], shares[TARGETS][THEORY_CELLS], rows[EXAMPLES][CORNERS],
        cols[EXAMPLES][CORNERS];
    const int side = view->side, last = side - 1;
    const int targets[TARGETS][2] = {{last, last}, {last / 2, last}, {last, last / 4}};
    heat_line lines[EXAMPLES];
    heat_panel panels[TARGETS + 2];
    char titles[TARGETS + 2][48];
    const char *col_titles[TARGETS + 2], *row_titles[1] = {""};
    const ssm2d_status status =
        theory_kernel(context, &counting, SSM2D_NORM_NONE, side, count, error);
    if (status) return status;
    example_paths(last, rows, cols, lines);
    for (int k = 0; k < TARGETS + 2; k++) {
        const int *to = targets[max_int(k - 2, 0)];
        const double *values = k == 1 ? count : shares[max_int(k - 2, 0)];
        if (k != 1) shares_of(count, side, to[0], to[1], shares[max_int(k - 2, 0)]);
        panels[k] = (heat_panel){.values = values,
                                 .rows = side,
                                 .cols = side,
                                 .from_below = 1,
                                 .map = COLOUR_SEQUENTIAL,
                                 .shows_values = k > 0,
                                 .row_label = "row i",
                                 .col_label = "column j"};
        col_titles[k] = titles[k];
        snprintf(titles[k], sizeof titles[k], "%s (%d,%d)", k ? "share, to" : "paths to", to[0],
                 to[1]);
    }
    snprintf(titles[1], sizeof titles[1], "number of paths");
    panels[0].lines = lines;
    panels[0].line_count = EXAMPLES;
    const heat_figure figure = {
        .title = theory_paths.title,
        .note = "Left: four of the paths, over the share of all paths that visit a cell. Then the "
                "number of paths from (0,0) to each cell, and the shares of three targets. (0,0) "
                "is at the bottom left.",
        .grid_rows = 1,
        .grid_cols = TARGETS + 2,
        .panels = panels,
        .row_titles = row_titles,
        .col_titles = col_titles};
    return heatmap_draw(context, path, &figure, error);
}

const theory_topic theory_paths = {"paths", "A kernel element is a sum over lattice paths", 5,
                                   print_paths, draw_paths};

ssm2d_status theory_paths_draw(ssm2d_context *context, const char *path, ssm2d_error *error)
{
    const theory_view view = {theory_paths.side, 0};
    return draw_paths(context, &view, path, error);
}

/* ---- relaxation ------------------------------------------------------------------------------ */

enum { NORMS = 4 };
static const ssm2d_norm norms[NORMS] = {SSM2D_NORM_NONE, SSM2D_NORM_HALF, SSM2D_NORM_RELAXED,
                                        SSM2D_NORM_PAPER};
static const char *const norm_names[NORMS] = {"none", "half", "relaxed", "paper"};

/* All coefficients 1: what is left is the normalisation. */
static ssm2d_status norm_kernels(ssm2d_context *context, int side,
                                 double kernels[NORMS][THEORY_CELLS], ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (int k = 0; k < NORMS && !status; k++)
        status = theory_kernel(context, &counting, norms[k], side, kernels[k], error);
    return status;
}

static ssm2d_status print_relaxation(ssm2d_context *context, const theory_view *view,
                                     ssm2d_error *error)
{
    double kernels[NORMS][THEORY_CELLS];
    const int side = view->side;
    const ssm2d_status status = norm_kernels(context, side, kernels, error);
    if (status) return status;
    printf("K with A1 = A2 = A3 = A4 = B1 = C1 = C2 = 1, B2 = 0: on the border K[0,j], and on the "
           "diagonal K[j,j]\n\n%-4s",
           "j");
    for (int k = 0; k < NORMS; k++) printf("  border %-8s", norm_names[k]);
    for (int k = 0; k < NORMS; k++) printf("  diagonal %-8s", norm_names[k]);
    printf("\n");
    for (int j = 0; j < side; j++) {
        printf("%-4d", j);
        for (int k = 0; k < NORMS; k++) printf("  %-15.4g", kernels[k][j]);
        for (int k = 0; k < NORMS; k++) printf("  %-17.4g", kernels[k][row_major(j, side, j)]);
        printf("\n");
    }
    printf("\nhalf divides every step by two: the border, which one path leads to, falls as 2^-j, "
           "the diagonal\nas 1/sqrt(pi j). relaxed does not divide on the border; paper doubles it "
           "besides.\n");
    return SSM2D_OK;
}

static ssm2d_status draw_relaxation(ssm2d_context *context, const theory_view *view,
                                    const char *path, ssm2d_error *error)
{
    static const char *const labels[2] = {"border, K[0,j]", "diagonal, K[j,j]"};
    double kernels[NORMS][THEORY_CELLS], x[THEORY_SIDE], y[2][NORMS][THEORY_SIDE];
    curve curves[2][NORMS];
    curve_panel panels[2];
    const int side = view->side;
    const ssm2d_status status = norm_kernels(context, side, kernels, error);
    if (status) return status;
    for (int j = 0; j < side; j++) x[j] = j;
    for (int p = 0; p < 2; p++) {
        for (int k = 1; k < NORMS; k++) { /* without a norm the diagonal is far above the rest */
            for (int j = 0; j < side; j++)
                y[p][k][j] = kernels[k][p ? row_major(j, side, j) : (size_t)j];
            curves[p][k - 1] = (curve){.name = norm_names[k],
                                       .x = x,
                                       .y = y[p][k],
                                       .count = side,
                                       .colour = colour_of_line(k - 1),
                                       .dash = k - 1,
                                       .dots = 1};
        }
        panels[p] = (curve_panel){
            .y_label = labels[p], .curves = curves[p], .count = NORMS - 1, .is_log = 1};
    }
    const curve_figure figure = {.title = theory_relaxation.title,
                                 .note = "All coefficients are 1, so that K is the number of "
                                         "paths, normalised.",
                                 .x_label = "j",
                                 .panels = panels,
                                 .count = 2,
                                 .x_low = 0,
                                 .x_high = side - 1,
                                 .shared_legend = 1};
    return curves_draw(context, path, &figure, error);
}

const theory_topic theory_relaxation = {"relaxation",
                                        "Dividing every step by two favours the diagonal; the "
                                        "relaxation does not divide on the border",
                                        16, print_relaxation, draw_relaxation};
