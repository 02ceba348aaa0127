#include "report/section.h"

#include <math.h>
#include <string.h>

enum { COLOURS = 8, DASHES = 4 };

void group_style(int group, int *hue, int *dash)
{
    *hue = group % COLOURS;
    *dash = group / COLOURS % DASHES;
}

/* The runs of a single group have colours. Those of several have the colour of their group, and
 * dashes to tell them apart, unless the groups need the dashes for themselves. */
void run_style(const report *r, int run, int *hue, int *dash)
{
    int rank = 0;
    for (int i = 0; i < run; i++) rank += r->runs[i].group == r->runs[run].group;
    group_style(r->group_count > 1 ? r->runs[run].group : rank, hue, dash);
    if (r->group_count > 1 && r->group_count <= COLOURS) *dash = rank % DASHES;
}

static void put_swatch(html *h, int hue, int dash)
{
    html_printf(h,
                "<svg class=\"swatch\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><line x1=\"1\" "
                "y1=\"5\" x2=\"25\" y2=\"5\" class=\"line s%d d%d\"/></svg>",
                hue, dash);
}

void put_run_swatch(html *h, const report *r, int run)
{
    int hue, dash;
    run_style(r, run, &hue, &dash);
    put_swatch(h, hue, dash);
}

void put_group_swatch(html *h, const report *r, int group)
{
    int hue, dash;
    group_style(group, &hue, &dash);
    if (r->group_count > 1) put_swatch(h, hue, dash);
}

void put_percent(html *h, double share)
{
    if (isnan(share))
        html_put(h, "–");
    else
        html_printf(h, "%.2f", 100 * share);
}

void put_spread(html *h, spread s, double scale, int digits)
{
    if (!s.n) {
        html_put(h, "–");
        return;
    }
    html_printf(h, "%.*f", digits, scale * s.mean);
    if (!isnan(s.deviation))
        html_printf(h, "<span class=\"pm\"> ± %.*f</span>", digits, scale * s.deviation);
}

void put_missing(html *h, const char *subject, const char *why)
{
    html_put(h, "<p class=\"missing\"><strong>Missing</strong> ");
    if (subject) {
        html_text(h, subject);
        html_put(h, ": ");
    }
    html_text(h, why);
    html_put(h, "</p>\n");
}

void pick_begin(html *h, const char *id, const char *label)
{
    html_printf(h, "<p class=\"pick\"><label>%s <select data-pick=\"%s\">", label, id);
}

void pick_option(html *h, int index, const char *text)
{
    html_printf(h, "<option value=\"%d\">", index);
    html_text(h, text);
    html_put(h, "</option>");
}

void pick_options_end(html *h) { html_put(h, "</select></label></p>\n"); }

void pick_panel(html *h, const char *id, int index, const char *title)
{
    html_printf(h, "<div data-panel=\"%s\" data-index=\"%d\">\n<h3>", id, index);
    html_text(h, title);
    html_put(h, "</h3>\n");
}

int group_evaluated(const report *r, int group, label_kind labels)
{
    for (int i = 0; i < r->run_count; i++) {
        const report_run *run = &r->runs[i];
        if ((group < 0 || run->group == group) && run->evaluation.done
            && run->evaluation.detail.labels == labels)
            return 1;
    }
    return 0;
}

const char *evaluated_images(const report *r)
{
    int test = 0, other = 0;
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].evaluation.done)
            *(r->runs[i].evaluation.split == DATASET_TEST ? &test : &other) = 1;
    return !other ? "test" : test ? "test or validation" : "validation";
}

void put_not_evaluated(html *h, const report *r)
{
    if (r->options->no_data) {
        put_missing(h, NULL, "what needs the test images was left out by --no-data");
        return;
    }
    for (int i = 0; i < r->run_count; i++)
        if (!r->runs[i].evaluation.done)
            put_missing(h, r->runs[i].name, r->runs[i].evaluation.why.line);
}
