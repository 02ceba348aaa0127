#include "kernels.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data/dataset.h"
#include "draw/heatmap.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { TITLE = 48, DEFAULT_SHOWN = 8 };

/* The kernels of one mixer of a model, for the first `shown` channels. */
typedef struct block_kernels {
    const param_block *block;
    int rows, cols; /* of a causal kernel */
    double *fields; /* [shown][2*rows-1][2*cols-1] */
} block_kernels;

static size_t field_size(const block_kernels *b)
{
    return (2 * (size_t)b->rows - 1) * (2 * (size_t)b->cols - 1);
}

static ssm2d_status compute(ssm2d_context *context, const run_model *m, int shown, block_kernels *b,
                            ssm2d_error *error)
{
    b->fields = mem_alloc(context, (size_t)shown * field_size(b) * sizeof *b->fields);
    if (!b->fields) return fail_memory(error, "kernels");
    return mixer_kernel(context, &m->settings.model.mixer, b->block->channels, b->rows, b->cols,
                        m->params + b->block->offset, shown, b->fields, error);
}

static ssm2d_status draw(ssm2d_context *context, const kernels_run *what, const run_model *m,
                         const block_kernels *blocks, int shown, ssm2d_error *error)
{
    const int depth = m->weights->blocks, panels = depth * shown;
    struct space {
        char row[TITLE], col[TITLE];
    } *text = mem_alloc(context, (size_t)panels * sizeof *text);
    heat_panel *panel = mem_alloc(context, (size_t)panels * sizeof *panel);
    const char **titles = mem_alloc(context, 2 * (size_t)panels * sizeof *titles);
    char title[256], data[128], note[512];
    ssm2d_status status = text && panel && titles ? SSM2D_OK : fail_memory(error, "picture");
    for (int i = 0; i < panels && !status; i++) {
        const block_kernels *b = &blocks[i / shown];
        panel[i] = (heat_panel){.values = b->fields + (size_t)(i % shown) * field_size(b),
                                .rows = 2 * b->rows - 1,
                                .cols = 2 * b->cols - 1,
                                .row_first = 1 - b->rows,
                                .col_first = 1 - b->cols,
                                .map = COLOUR_DIVERGING,
                                .row_label = "row offset",
                                .col_label = "column offset"};
        snprintf(text[i].row, TITLE, "block %d", i + 1);
        snprintf(text[i].col, TITLE, "channel %d", i);
        titles[i] = text[i].row;
        titles[panels + i] = text[i].col;
    }
    const int is_named = !run_names_data(what->folder, m->settings.options.data, NULL);
    dataset_title(m->settings.options.data, data, sizeof data);
    snprintf(title, sizeof title, "Kernels learned by %s%s%s", m->settings.model.model->name,
             is_named ? " on " : "", is_named ? data : "");
    snprintf(note, sizeof note,
             "Weight of the input at each offset from the output's position, all directions "
             "together, without D. Colours: %s.",
             what->shared_scale ? "one scale for all" : "each panel on its own scale");
    heat_figure figure = {.title = what->no_title ? NULL : title,
                          .note = what->no_title ? NULL : note,
                          .grid_rows = depth,
                          .grid_cols = shown,
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

/* The number of channels to show: the requested one, or as many as have different kernels; at most
 * as many as the smallest block has. */
static int channels_shown(const kernels_run *what, const run_model *m)
{
    const mixer_config *mixed = &m->settings.model.mixer;
    int shown = what->channels ? what->channels : DEFAULT_SHOWN;
    for (int i = 0; i < m->weights->blocks; i++) {
        const int channels = m->weights->block[i].channels;
        shown = min_int(shown, what->channels ? channels : mixer_kernels(mixed, channels));
    }
    return shown;
}

ssm2d_status kernels_run_draw(ssm2d_context *context, const kernels_run *what, ssm2d_error *error)
{
    run_model m;
    block_kernels *blocks = NULL;
    ssm2d_status status = run_model_open(context, what->folder, what->weights, NULL, &m, error);
    if (status) return status;
    if (!mixer_has_kernels(&m.settings.model.mixer)) {
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: the model has no kernels to draw: its mixer is %s",
                      text_path(what->folder), m.settings.model.mixer.kind->name);
        goto done;
    }
    blocks = mem_alloc(context, (size_t)m.weights->blocks * sizeof *blocks);
    if (!blocks) {
        status = fail_memory(error, "kernels of %d blocks", m.weights->blocks);
        goto done;
    }
    const int shown = channels_shown(what, &m);
    for (int i = 0; i < m.weights->blocks && !status; i++) {
        const param_block *b = &m.weights->block[i];
        blocks[i] = (block_kernels){.block = b,
                                    .rows = what->rows ? what->rows : grid_rows(b->grid.shape),
                                    .cols = what->cols ? what->cols : grid_cols(b->grid.shape)};
        status = compute(context, &m, shown, &blocks[i], error);
    }
    if (!status) status = draw(context, what, &m, blocks, shown, error);
done:
    for (int i = 0; blocks && i < m.weights->blocks; i++) mem_free(context, blocks[i].fields);
    mem_free(context, blocks);
    run_model_close(&m);
    return status;
}
