#include "kernels_run.h"

#include "core/context.h"
#include "core/status.h"
#include "draw/heatmap.h"
#include "io/text.h"
#include "layer/config.h"

#include <stdio.h>
#include <string.h>

enum { TITLE = 32, STANDARD_SHOWN = 8 };

/* What the mixer of a model does to its tokens: channels, and the grid its kernels are for. */
typedef struct kernels_plan {
    ssm2d_config config;
    int rows, cols, shown;
    size_t cells, field; /* numbers in a causal kernel, and in one of all directions together */
} kernels_plan;

/* The mixer's parameters of a block as the layer takes them; NULL when there are none. */
static const float *block_params(const run_model *m, int block)
{
    char start[48];
    int length = snprintf(start, sizeof start, "blocks.%d.mixer.", block);
    for (int i = 0; i < m->weights->count; i++)
        if (!strncmp(m->weights->arrays[i].name, start, (size_t)length))
            return m->params + m->weights->arrays[i].offset;
    return NULL;
}

/* out[2*rows-1][2*cols-1]: what channel h gives for an input at each offset from the output's
 * place, without D. */
static void all_directions(const kernels_plan *p, const float *kernel, int h, double *out)
{
    const ssm2d_config *c = &p->config;
    const double scale = c->average ? 1.0 / c->directions : 1;
    for (int r = 0; r < c->directions; r++) {
        const flip f = config_flip(c, r);
        const float *one = kernel + (size_t)(r * c->channels + h) * p->cells;
        for (int i = 0; i < p->rows; i++)
            for (int j = 0; j < p->cols; j++) {
                int di = f.rows ? i : -i, dj = f.cols ? j : -j;
                out[(size_t)(di + p->rows - 1) * (2 * (size_t)p->cols - 1)
                    + (size_t)(dj + p->cols - 1)] += scale * (double)one[i * p->cols + j];
            }
    }
}

/* fields[depth][shown][..] */
static ssm2d_status compute(ssm2d_context *context, const run_model *m, const kernels_plan *p,
                            double *fields, ssm2d_error *error)
{
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    float *kernel = mem_alloc(context, (size_t)p->config.directions * (size_t)p->config.channels
                                           * p->cells * sizeof *kernel);
    options.rows = (size_t)p->rows;
    options.cols = (size_t)p->cols;
    options.inference = 1;
    ssm2d_status status =
        kernel ? SSM2D_OK : fail(error, SSM2D_ERROR_MEMORY, "no memory for kernels");
    if (!status) status = ssm2d_plan_create(context, &p->config, &options, &plan, error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, error);
    for (int b = 0; b < m->settings.model.depth && !status; b++) {
        ssm2d_kernel(plan, workspace, block_params(m, b), kernel);
        for (int h = 0; h < p->shown; h++)
            all_directions(p, kernel, h, fields + (size_t)(b * p->shown + h) * p->field);
    }
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    mem_free(context, kernel);
    return status;
}

static ssm2d_status draw(ssm2d_context *context, const kernels_run *what, const run_model *m,
                         const kernels_plan *p, const double *fields, ssm2d_error *error)
{
    const int depth = m->settings.model.depth, panels = depth * p->shown;
    struct space {
        char row[TITLE], col[TITLE];
    } *text = mem_alloc(context, (size_t)panels * sizeof *text);
    heat_panel *panel = mem_alloc(context, (size_t)panels * sizeof *panel);
    const char **titles = mem_alloc(context, 2 * (size_t)panels * sizeof *titles);
    char title[256], note[512];
    ssm2d_status status = text && panel && titles
                              ? SSM2D_OK
                              : fail(error, SSM2D_ERROR_MEMORY, "no memory for a picture");
    for (int i = 0; i < panels && !status; i++) {
        panel[i] = (heat_panel){.values = fields + (size_t)i * p->field,
                                .rows = 2 * p->rows - 1,
                                .cols = 2 * p->cols - 1,
                                .row_first = 1 - p->rows,
                                .col_first = 1 - p->cols,
                                .map = COLOUR_DIVERGING,
                                .row_label = "row offset",
                                .col_label = "column offset"};
        snprintf(text[i].row, TITLE, "block %d", i + 1);
        snprintf(text[i].col, TITLE, "channel %d", i);
        titles[i] = text[i].row;
        titles[panels + i] = text[i].col;
    }
    snprintf(title, sizeof title, "Kernels learned by %s on %.120s", m->settings.model.model->name,
             m->settings.options.data);
    snprintf(note, sizeof note,
             "Weight of the input at each offset from the output's place, all %d directions "
             "together, without D. Colours: %s.",
             p->config.directions,
             what->shared_scale ? "one scale for all" : "each panel on its own scale");
    heat_figure figure = {.title = title,
                          .note = note,
                          .grid_rows = depth,
                          .grid_cols = p->shown,
                          .panels = panel,
                          .row_titles = titles,
                          .col_titles = titles ? titles + panels : NULL,
                          .shared_scale = what->shared_scale};
    if (!status) status = heatmap_draw(context, what->output, &figure, error);
    mem_free(context, text);
    mem_free(context, panel);
    mem_free(context, titles);
    return status;
}

ssm2d_status kernels_run_draw(ssm2d_context *context, const kernels_run *what, ssm2d_error *error)
{
    run_model m;
    double *fields = NULL;
    ssm2d_status status = run_model_open(context, what->folder, what->weights, NULL, &m, error);
    if (status) return status;
    const model_config *c = &m.settings.model;
    kernels_plan p = {.config = c->mixer.layer};
    if (c->mixer.kind != &mixer_ssm2d) {
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: its model has no 2-D SSM: its mixer is %s",
                      text_path(what->folder), c->mixer.kind->name);
        goto done;
    }
    p.config.channels = model_mixer_channels(c);
    p.rows = what->rows ? what->rows : c->image[0] / c->patch;
    p.cols = what->cols ? what->cols : c->image[1] / c->patch;
    p.shown = what->channels;
    if (!p.shown)
        p.shown =
            config_systems(&p.config) < STANDARD_SHOWN ? config_systems(&p.config) : STANDARD_SHOWN;
    if (p.shown > p.config.channels) p.shown = p.config.channels;
    p.cells = (size_t)p.rows * (size_t)p.cols;
    p.field = (2 * (size_t)p.rows - 1) * (2 * (size_t)p.cols - 1);
    fields = mem_alloc(context, (size_t)c->depth * (size_t)p.shown * p.field * sizeof *fields);
    if (!fields) {
        status =
            fail(error, SSM2D_ERROR_MEMORY, "no memory for the kernels of %d blocks", c->depth);
        goto done;
    }
    status = compute(context, &m, &p, fields, error);
    if (!status) status = draw(context, what, &m, &p, fields, error);
done:
    mem_free(context, fields);
    run_model_close(context, &m);
    return status;
}
