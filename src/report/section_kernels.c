/* Kernels: the learned kernels of the mixers of each block. */
#include "report/section.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"

#include <math.h>

enum { MAX_SHOWN = 8 }; /* channels of a block */

static const char *panel(const report *r, int group)
{
    const report_run *run = group_run(r, group);
    return run->known && mixer_has_kernels(&run->settings.model.mixer) ? run->name : NULL;
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
    const int rows = 2 * grid_rows(b->grid.shape) - 1, cols = 2 * grid_cols(b->grid.shape) - 1;
    const int shown = min_int(MAX_SHOWN, mixer_kernels(mixed, b->channels));
    const size_t cells = (size_t)rows * (size_t)cols;
    double *kernels = mem_alloc(r->context, (size_t)shown * cells * sizeof *kernels);
    if (!kernels) return fail_memory(error, "kernels of a block");
    const ssm2d_status status =
        mixer_kernel(r->context, mixed, b->channels, grid_rows(b->grid.shape),
                     grid_cols(b->grid.shape), m->params + b->offset, shown, kernels, error);
    if (!status) {
        html_printf(h, "<div class=\"block\"><h4>Block %d</h4><div class=\"maps\">\n", block + 1);
        for (int k = 0; k < shown; k++)
            put_kernel(h, kernels + (size_t)k * cells, rows, cols, block + 1, k);
        html_put(h, "</div></div>\n");
    }
    mem_free(r->context, kernels);
    return status;
}

static ssm2d_status put_run(const report *r, html *h, int group, ssm2d_error *error)
{
    const report_run *run = group_run(r, group);
    run_model m;
    ssm2d_error why;
    ssm2d_status status = run_model_open(r->context, run->folder, RUN_MODEL, NULL, &m, &why);
    if (!status) {
        for (int i = 0; i < m.weights->blocks && !status; i++)
            status = put_block(r, h, &m, i, &why);
        run_model_close(&m);
    }
    return put_failure(h, run, status, &why, error);
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    const ssm2d_status status = put_panels(r, h, &section_kernels, "Run", put_run, error);
    html_put(h,
             "<p class=\"note\">One run of each setup: the weight of the input at each offset "
             "from the output’s position, which is in the middle; all directions together, "
             "without D. Red is positive, blue negative; each picture has its own scale, and its "
             "maximum below it.</p>\n");
    return status;
}

const section section_kernels = {"kernels", "Kernels", NULL, write, panel};
