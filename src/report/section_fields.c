/* Fields: the effective receptive field of each setup. */
#include "report/section.h"

#include "core/status.h"
#include "train/run_receptive_field.h"

enum { IMAGES = 32, DECADES = 4 };

static int has(const report *r)
{
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].known) return 1;
    return 0;
}

typedef struct job {
    const report *r;
    const report_run *run;
} job;

static void show_progress(void *user, size_t done, size_t of)
{
    const job *j = user;
    const report_hooks *hooks = &j->r->options->hooks;
    if (hooks->progress) hooks->progress(hooks->user, "receptive field", j->run->name, done, of);
}

static void put_field(html *h, const report *r, int group, const run_receptive_field *f)
{
    html_printf(h,
                "<figure><img alt=\"Effective receptive field on %d by %d pixels\" "
                "src=\"",
                f->rows, f->cols);
    html_heat(h, (size_t)f->rows, (size_t)f->cols, f->values, COLOUR_SEQUENTIAL, 1, DECADES);
    html_put(h, "\"><figcaption><b>");
    html_text(h, r->groups[group].label);
    html_printf(h,
                "</b><span class=\"dim\">half within %d px, 90 %% within %d, 99 %% within %d</span>"
                "</figcaption></figure>\n",
                f->radius[0], f->radius[1], f->radius[2]);
}

static ssm2d_status put_group(const report *r, html *h, int group, ssm2d_error *error)
{
    const report_run *run = &r->runs[r->groups[group].first];
    job j = {r, run};
    run_model m;
    run_receptive_field f = {0};
    ssm2d_error why;
    if (!run->known) return SSM2D_OK;
    ssm2d_status status = run_model_open(r->context, run->folder, RUN_MODEL, NULL, &m, &why);
    if (!status) {
        const run_receptive_field_request request = {.folder = run->folder,
                                                     .m = &m,
                                                     .images = "test",
                                                     .count = IMAGES,
                                                     .user = &j,
                                                     .progress = show_progress};
        status = run_receptive_field_compute(r->context, &request, &f, &why);
        if (!status) put_field(h, r, group, &f);
        run_receptive_field_destroy(r->context, &f);
        run_model_close(&m);
    }
    if (status == SSM2D_ERROR_MEMORY) return fail(error, status, "%s", why.line);
    if (status) put_missing(h, run->name, why.line);
    return SSM2D_OK;
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    if (r->options->no_data) {
        put_missing(h, NULL, "receptive fields need images, and were left out by --no-data");
        return SSM2D_OK;
    }
    html_put(h, "<div class=\"fields\">\n");
    for (int g = 0; g < r->group_count && !status; g++) status = put_group(r, h, g, error);
    html_printf(h,
                "</div>\n<p class=\"note\">Root mean square of the derivatives of the centre "
                "token’s output by each pixel, over at most %d %s images of one run of each "
                "setup; logarithmic, %d decades below the largest. The radii are those of the "
                "square about the centre that holds this part of the squares.</p>\n",
                IMAGES, evaluated_images(r), DECADES);
    return status;
}

const section section_fields = {"fields", "Receptive fields", has, write};
