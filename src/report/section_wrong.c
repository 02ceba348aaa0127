/* Wrong: the images with the highest loss, with the predicted and the true class. */
#include "report/section.h"

static int has_images(const report_run *run) { return run->evaluation.wrong_count > 0; }

static int has(const report *r)
{
    for (int i = 0; i < r->run_count; i++)
        if (has_images(&r->runs[i])) return 1;
    return 0;
}

/* The run that stands for a group: its first with such images; -1: none. */
static int shown_run(const report *r, int group)
{
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].group == group && has_images(&r->runs[i])) return i;
    return -1;
}

static void put_words(html *h, const report_run *run, const wrong_image *w)
{
    if (w->predicted < 0) {
        html_printf(h, "<span class=\"predicted\">%d of %d attributes wrong</span>", w->truth,
                    run->data.classes);
        return;
    }
    html_put(h, "<span class=\"predicted\">predicted <b>");
    html_text(h, run->data.names[w->predicted]);
    html_printf(h, "</b> %.0f&nbsp;%%</span><span class=\"truth\">true <b>", 100 * w->probability);
    html_text(h, run->data.names[w->truth]);
    html_printf(h, "</b> %.1f&nbsp;%%</span>", 100 * w->of_truth);
}

static void put_image(html *h, const report_run *run, const wrong_image *w)
{
    const int is_test = run->evaluation.split == DATASET_TEST;
    html_printf(h, "<figure class=\"wrong\"><img alt=\"%s image", is_test ? "Test" : "Validation");
    if (w->predicted >= 0) {
        html_put(h, " of ");
        html_text(h, run->data.names[w->truth]);
        html_put(h, ", predicted as ");
        html_text(h, run->data.names[w->predicted]);
    }
    html_put(h, "\" src=\"");
    html_png(h, (size_t)w->rows, (size_t)w->cols, run->settings.model.channels, w->pixels);
    html_put(h, "\"><figcaption>");
    put_words(h, run, w);
    html_printf(h, "<span class=\"dim\">loss %.2f", w->loss);
    if (run->evaluation.known_index) html_printf(h, ", no. %zu", w->number);
    html_put(h, "</span></figcaption></figure>\n");
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    (void)error;
    pick_begin(h, "wrong", "Run");
    for (int g = 0; g < r->group_count; g++)
        if (shown_run(r, g) >= 0) pick_option(h, g, r->runs[shown_run(r, g)].name);
    pick_options_end(h);
    for (int g = 0; g < r->group_count; g++) {
        const int index = shown_run(r, g);
        if (index < 0) continue;
        const report_run *run = &r->runs[index];
        pick_panel(h, "wrong", g, run->name);
        html_put(h, "<div class=\"images\">\n");
        for (int i = 0; i < run->evaluation.wrong_count; i++)
            put_image(h, run, &run->evaluation.wrong[i]);
        html_put(h, "</div></div>\n");
    }
    html_printf(h,
                "<p class=\"note\">Of each setup one run: the wrong %s images with the highest "
                "loss, as the model saw them, with the probabilities of the predicted and of the "
                "true class. Numbers count these images from 0.</p>\n",
                evaluated_images(r));
    return SSM2D_OK;
}

const section section_wrong = {"wrong", "Most wrong images", has, write};
