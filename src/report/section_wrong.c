/* Wrong: the images with the highest loss, with the predicted and the true class. */
#include "report/section.h"

/* The run that represents a group: its first one with such images; -1: none. */
static int shown_run(const report *r, int group)
{
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].group == group && r->runs[i].evaluation.wrong_count) return i;
    return -1;
}

static void put_words(html *h, const report_run *run, const wrong_image *w)
{
    const task_mistake *m = &w->what;
    if (m->predicted < 0) {
        html_printf(h, "<span class=\"predicted\">%d of %d %s wrong</span>", m->truth,
                    run->data.outputs, run->task->many);
        return;
    }
    html_put(h, "<span class=\"predicted\">predicted <b>");
    html_text(h, run->data.names[m->predicted]);
    html_printf(h, "</b> %.0f&nbsp;%%</span><span class=\"truth\">true <b>", 100 * m->probability);
    html_text(h, run->data.names[m->truth]);
    html_printf(h, "</b> %.1f&nbsp;%%</span>", 100 * m->of_truth);
}

static void put_image(html *h, const report_run *run, const wrong_image *w)
{
    const int is_test = run->evaluation.split == DATASET_TEST;
    html_printf(h, "<figure class=\"wrong\"><img alt=\"%s image", is_test ? "Test" : "Validation");
    if (w->what.predicted >= 0) {
        html_put(h, " of ");
        html_text(h, run->data.names[w->what.truth]);
        html_put(h, ", predicted as ");
        html_text(h, run->data.names[w->what.predicted]);
    }
    html_put(h, "\" src=\"");
    html_png(h, (size_t)w->rows, (size_t)w->cols, run->settings.model.channels, w->pixels);
    html_put(h, "\"><figcaption>");
    put_words(h, run, w);
    html_printf(h, "<span class=\"dim\">loss %.2f, no. %zu</span>", w->loss, w->index);
    if (w->file) {
        html_put(h, "<span class=\"dim file\">");
        html_name(h, w->file);
        html_put(h, "</span>");
    }
    html_put(h, "</figcaption></figure>\n");
}

static const char *panel(const report *r, int group)
{
    return shown_run(r, group) < 0 ? NULL : r->groups[group].label;
}

static ssm2d_status put_group(const report *r, html *h, int group, ssm2d_error *error)
{
    const report_run *run = &r->runs[shown_run(r, group)];
    (void)error;
    html_put(h, "<p class=\"run\">Run <b>");
    html_name(h, run->name);
    html_put(h, "</b>, with the weights of its last epoch</p>\n<div class=\"images\">\n");
    for (int i = 0; i < run->evaluation.wrong_count; i++)
        put_image(h, run, &run->evaluation.wrong[i]);
    html_put(h, "</div>");
    return SSM2D_OK;
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    const ssm2d_status status = put_panels(r, h, &section_wrong, "Setup", put_group, error);
    html_printf(h,
                "<p class=\"note\">One run of each setup: the misclassified %s images with the "
                "highest loss, as the model sees them, with the probabilities of the predicted and "
                "the true class, the image’s index among these images, from 0, and its file.</p>\n",
                evaluated_images(r));
    return status;
}

const section section_wrong = {"wrong", "Most wrong images", NULL, write, panel, .for_tasks = 1};
