#include "models/receptive_field.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

struct receptive_field {
    ssm2d_context *context;
    model_config config;
    graph *g;
    tensor *images, *tokens;
    int blocks;           /* before the tokens */
    real *params, *grads; /* of the graph: its first array is the image, the rest the model */
    double *last;         /* [rows][cols]: the shares of the pixels of the image added last */
    double *sum;          /* [rows][cols]: shares summed over images */
    rng random;
};

enum { IMAGES = 0 };

static size_t pixels_of(const receptive_field *r)
{
    return (size_t)r->config.image[0] * (size_t)r->config.image[1];
}

/* The image is declared as a parameter, because inputs have no gradient. */
static ssm2d_status build(receptive_field *r, int blocks, ssm2d_error *error)
{
    const model_config *c = &r->config;
    const model_family *family = c->model->family;
    const int depth = family->depth ? family->depth(c) : 0;
    const param_spec images = {
        .rank = 4, .shape = {1, (size_t)c->channels, (size_t)c->image[0], (size_t)c->image[1]}};
    char grid[GRID_TEXT];
    ssm2d_status status = graph_create(r->context, 1, &r->g, error);
    if (status) return status;
    if (!family->tokens)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "models of the family %s do not output tokens",
                    family->name);
    if (blocks > depth)
        return fail(error, SSM2D_ERROR_ARGUMENT, "there is no block %d: the model has %d", blocks,
                    depth);
    r->g->random = 0; /* no stochastic depth */
    r->images = graph_param(r->g, &images, "images");
    r->blocks = blocks ? blocks : depth;
    r->tokens = family->tokens(r->g, c, r->images, r->blocks);
    if (r->g->status) return fail(error, r->g->status, "%s", r->g->error.line);
    if (r->tokens->grid.shape.axes != 2)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "a receptive field needs tokens on a grid of two axes, not \"%s\"",
                    grid_text(r->tokens->grid.shape, grid));
    return graph_finish(r->g, r->tokens, error);
}

ssm2d_status receptive_field_create(ssm2d_context *context, const model_config *config,
                                    const weights *w, const float *params, int blocks,
                                    receptive_field **out, ssm2d_error *error)
{
    receptive_field *r = mem_alloc(context, sizeof *r);
    *out = NULL;
    if (!r) return fail_memory(error, "receptive field");
    *r = (receptive_field){.context = context, .config = *config, .random = rng_seed(0)};
    ssm2d_status status = build(r, blocks, error);
    if (!status) {
        const size_t count = r->g->param_count;
        r->params = mem_alloc(context, count * sizeof *r->params);
        r->grads = mem_alloc(context, count * sizeof *r->grads);
        r->last = mem_alloc(context, 2 * pixels_of(r) * sizeof *r->last);
        if (!r->params || !r->grads || !r->last) status = fail_memory(error, "receptive field");
    }
    if (!status) status = weights_copy(w, params, r->g, IMAGES + 1, r->params, error);
    if (status) {
        receptive_field_destroy(r);
        return status;
    }
    memset(r->last, 0, 2 * pixels_of(r) * sizeof *r->last);
    r->sum = r->last + pixels_of(r);
    graph_bind(r->g, r->params, r->grads);
    *out = r;
    return SSM2D_OK;
}

void receptive_field_destroy(receptive_field *r)
{
    if (!r) return;
    graph_destroy(r->g);
    mem_free(r->context, r->params);
    mem_free(r->context, r->grads);
    mem_free(r->context, r->last);
    mem_free(r->context, r);
}

/* Sets the gradient of the output: random signs at the centre token, zeros elsewhere. */
static void choose_output(receptive_field *r)
{
    const tensor *t = r->tokens;
    const size_t dim = t->shape[2];
    const int rows = grid_rows(t->grid.shape), cols = grid_cols(t->grid.shape),
              centre = t->grid.first + rows / 2 * cols + cols / 2;
    memset(t->grad, 0, t->count * sizeof *t->grad);
    for (size_t i = 0; i < dim; i++)
        t->grad[(size_t)centre * dim + i] = rng_next(&r->random) >> 63 ? 1 : -1;
}

int receptive_field_add(receptive_field *r, const float *image)
{
    const tensor *x = r->images;
    const size_t pixels = pixels_of(r);
    for (size_t i = 0; i < x->count; i++) x->data[i] = image[i];
    memset(r->grads, 0, r->g->param_count * sizeof *r->grads);
    r->g->step++;
    graph_forward(r->g);
    choose_output(r);
    graph_backward(r->g);
    for (size_t i = 0; i < x->count; i++)
        if (!isfinite(x->grad[i])) return 0;
    double all = 0;
    memset(r->last, 0, pixels * sizeof *r->last);
    for (size_t i = 0; i < x->count; i++)
        r->last[i % pixels] += (double)x->grad[i] * (double)x->grad[i];
    for (size_t i = 0; i < pixels; i++) all += r->last[i];
    for (size_t i = 0; i < pixels && all > 0; i++) {
        r->last[i] /= all;
        r->sum[i] += r->last[i];
    }
    return 1;
}

void receptive_field_get(const receptive_field *r, double *field)
{
    double largest = 0;
    for (size_t i = 0; i < pixels_of(r); i++) largest = fmax(largest, r->sum[i]);
    for (size_t i = 0; i < pixels_of(r); i++)
        field[i] = largest > 0 ? sqrt(r->sum[i] / largest) : 0;
}

/* The distance of a pixel from the pixels of a token that spans [first, first + side). */
static int distance(int pixel, int first, int side)
{
    return pixel < first ? first - pixel : max_int(0, pixel - (first + side - 1));
}

pixel_box receptive_field_centre(const receptive_field *r)
{
    const ssm2d_grid grid = r->tokens->grid.shape;
    const int rows = grid_rows(grid), cols = grid_cols(grid);
    const model_family *family = r->config.model->family;
    const int side = family->token_side ? family->token_side(&r->config, r->blocks) : 0;
    const int down = side ? side : r->config.image[0] / rows,
              across = side ? side : r->config.image[1] / cols;
    const int row = rows / 2 * down, col = cols / 2 * across;
    /* the last token of a padded map extends past the edge of the image */
    return (pixel_box){row, col, min_int(down, r->config.image[0] - row),
                       min_int(across, r->config.image[1] - col)};
}

int receptive_field_radius(const receptive_field *r, double share)
{
    const int rows = r->config.image[0], cols = r->config.image[1];
    const pixel_box c = receptive_field_centre(r);
    const double rounding = 1e-9; /* the sum of the shares is not exactly 1 */
    double all = 0, inside = 0;
    for (size_t i = 0; i < pixels_of(r); i++) all += r->last[i];
    for (int radius = 0;; radius++) {
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                if (max_int(distance(i, c.row, c.rows), distance(j, c.col, c.cols)) == radius)
                    inside += r->last[row_major(i, cols, j)];
        if (inside >= share * all * (1 - rounding) || radius >= max_int(rows, cols)) return radius;
    }
}
