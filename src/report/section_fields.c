/* Fields: the effective receptive field of each setup. */
#include "report/section.h"

#include "train/run_receptive_field.h"

enum { IMAGES = 32, DECADES = 4 };

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

/* The frame of the centre token, in percent of the image's sides. */
static void put_centre(html *h, const run_receptive_field *f)
{
    const pixel_box *c = &f->centre;
    html_printf(h,
                "<span class=\"centre\" style=\"left:%.3f%%;top:%.3f%%;width:%.3f%%;"
                "height:%.3f%%\"></span>",
                100.0 * c->col / f->cols, 100.0 * c->row / f->rows, 100.0 * c->cols / f->cols,
                100.0 * c->rows / f->rows);
}

static void put_field(html *h, const report *r, int group, const run_receptive_field *f)
{
    char half[QUARTILES_TEXT], most[QUARTILES_TEXT], all[QUARTILES_TEXT];
    html_printf(h,
                "<figure><div class=\"field\"><img alt=\"Effective receptive field on %d by %d "
                "pixels\" src=\"",
                f->rows, f->cols);
    html_heat(h, (size_t)f->rows, (size_t)f->cols, f->values, COLOUR_SEQUENTIAL, 1, DECADES);
    html_put(h, "\">");
    put_centre(h, f);
    html_put(h, "</div><figcaption><b>");
    html_text(h, r->groups[group].label);
    html_printf(h,
                "</b><span class=\"dim\">half within %s px, 90 %% within %s, 99 %% within %s"
                "</span></figcaption></figure>\n",
                quartiles_text(f->radius[0], f->images, half),
                quartiles_text(f->radius[1], f->images, most),
                quartiles_text(f->radius[2], f->images, all));
}

static ssm2d_status put_group(const report *r, html *h, int group, ssm2d_error *error)
{
    const report_run *run = group_run(r, group);
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
    return put_failure(h, run, status, &why, error);
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
    html_printf(
        h,
        "</div>\n<p class=\"note\">Root mean square of the derivatives of the centre "
        "token’s output with respect to each pixel, over at most %d %s images of one run of "
        "each setup, with the squares of each image normalised to sum 1; logarithmic, %d "
        "decades below the maximum. The frame is the centre token. A radius is the distance "
        "from it that contains this share of an image’s squares: median and quartiles over "
        "the images.</p>\n",
        IMAGES, evaluated_images(r), DECADES);
    return status;
}

const section section_fields = {"fields", "Receptive fields", any_known, write};
