/* Kernels: what the mixers of each block have learned. */
#include "report/section.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"

#include <math.h>

enum { MAX_SHOWN = 8 }; /* channels of a block */

static const mixer *kind_of(const report_run *run) { return run->settings.model.mixer.kind; }

/* The run that stands for a group; NULL: its model has no kernels. */
static const report_run *shown_run(const report *r, int group)
{
    const report_run *run = &r->runs[r->groups[group].first];
    return run->known && kind_of(run)->kernel ? run : NULL;
}

static int has(const report *r)
{
    for (int g = 0; g < r->group_count; g++)
        if (shown_run(r, g)) return 1;
    return 0;
}

static void put_kernel(html *h, const double *kernel, int rows, int cols, int block, int channel)
{
    double high = 0;
    for (int i = 0; i < rows * cols; i++)
        if (isfinite(kernel[i])) high = fmax(high, fabs(kernel[i]));
    html_printf(h,
                "<figure><img alt=\"Kernel of channel %d in block %d, %d by %d offsets, largest "
                "magnitude %.3g\" src=\"",
                channel, block, rows, cols, high);
    html_heat(h, (size_t)rows, (size_t)cols, kernel, COLOUR_DIVERGING, high, 0);
    html_printf(
        h, "\"><figcaption>channel %d<span class=\"dim\">± %.2g</span></figcaption></figure>\n",
        channel, high);
}

static ssm2d_status put_block(const report *r, html *h, const run_model *m, int block,
                              ssm2d_error *error)
{
    const param_block *b = &m->weights->block[block];
    const mixer_config *mixed = &m->settings.model.mixer;
    const int rows = 2 * b->grid.rows - 1, cols = 2 * b->grid.cols - 1;
    const int shown = min_int(MAX_SHOWN, mixed->kind->kernels(mixed->own, b->channels));
    const size_t cells = (size_t)rows * (size_t)cols;
    double *kernels = mem_alloc(r->context, (size_t)shown * cells * sizeof *kernels);
    if (!kernels) return fail(error, SSM2D_ERROR_MEMORY, "no memory for the kernels of a block");
    const ssm2d_status status =
        mixed->kind->kernel(r->context, mixed->own, b->channels, b->grid.rows, b->grid.cols,
                            m->params + b->offset, shown, kernels, error);
    if (!status) {
        html_printf(h, "<div class=\"block\"><h4>Block %d</h4><div class=\"maps\">\n", block + 1);
        for (int k = 0; k < shown; k++)
            put_kernel(h, kernels + (size_t)k * cells, rows, cols, block + 1, k);
        html_put(h, "</div></div>\n");
    }
    mem_free(r->context, kernels);
    return status;
}

static ssm2d_status put_run(const report *r, html *h, const report_run *run, ssm2d_error *error)
{
    run_model m;
    ssm2d_error why;
    ssm2d_status status = run_model_open(r->context, run->folder, RUN_MODEL, NULL, &m, &why);
    if (!status) {
        for (int i = 0; i < m.weights->blocks && !status; i++)
            status = put_block(r, h, &m, i, &why);
        run_model_close(&m);
    }
    if (status == SSM2D_ERROR_MEMORY) return fail(error, status, "%s", why.line);
    if (status) put_missing(h, run->name, why.line);
    return SSM2D_OK;
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    pick_begin(h, "kernels", "Run");
    for (int g = 0; g < r->group_count; g++)
        if (shown_run(r, g)) pick_option(h, g, shown_run(r, g)->name);
    pick_options_end(h);
    for (int g = 0; g < r->group_count && !status; g++) {
        const report_run *run = shown_run(r, g);
        if (!run) continue;
        pick_panel(h, "kernels", g, run->name);
        status = put_run(r, h, run, error);
        html_put(h, "</div>\n");
    }
    html_put(h, "<p class=\"note\">Of each setup one run: the weight of the input at each offset "
                "from the output’s position, which is in the middle; all directions together, "
                "without D. Red is positive, blue negative; each picture has its own scale, whose "
                "end stands below it.</p>\n");
    return status;
}

const section section_kernels = {"kernels", "Kernels", has, write};
