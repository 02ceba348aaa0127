#include "report/section.h"

#include "core/status.h"

#include <math.h>
#include <stdio.h>
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

void put_row_head(html *h, const char *text)
{
    html_put(h, "<tr><th scope=\"row\">");
    html_text(h, text);
    html_put(h, "</th>");
}

void put_metric(html *h, const report *r, double value)
{
    const task_metric *m = report_metric(r);
    if (isnan(value))
        html_put(h, "–");
    else
        html_printf(h, "%.*f", m->digits, m->scale * value);
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

void put_metric_cell(html *h, const report *r, double value)
{
    html_put(h, "<td>");
    put_metric(h, r, value);
    html_put(h, "</td>");
}

void put_spread_cell(html *h, spread s, double scale, int digits)
{
    html_put(h, "<td>");
    put_spread(h, s, scale, digits);
    html_put(h, "</td>");
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

ssm2d_status put_panels(const report *r, html *h, const section *s, const char *label,
                        ssm2d_status (*put)(const report *r, html *h, int group,
                                            ssm2d_error *error),
                        ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    html_printf(h, "<p class=\"pick\"><label>%s <select data-pick=\"%s\">", label, s->id);
    for (int g = 0; g < r->group_count; g++) {
        if (!s->panel(r, g)) continue;
        html_printf(h, "<option value=\"%d\">", g);
        html_text(h, s->panel(r, g));
        html_put(h, "</option>");
    }
    html_put(h, "</select></label></p>\n");
    for (int g = 0; g < r->group_count && !status; g++) {
        if (!s->panel(r, g)) continue;
        html_printf(h, "<div data-panel=\"%s\" data-index=\"%d\">\n<h3>", s->id, g);
        html_text(h, s->panel(r, g));
        html_put(h, "</h3>\n");
        status = put(r, h, g, error);
        html_put(h, "</div>\n");
    }
    return status;
}

ssm2d_status put_failure(html *h, const report_run *run, ssm2d_status status,
                         const ssm2d_error *why, ssm2d_error *error)
{
    if (status == SSM2D_ERROR_MEMORY) return fail(error, status, "%s", why->line);
    if (status) put_missing(h, run->name, why->line);
    return SSM2D_OK;
}

int any_known(const report *r)
{
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].known) return 1;
    return 0;
}

const task_metric *report_metric(const report *r)
{
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].known) return &r->runs[i].task->metrics[0];
    return &task_at(0)->metrics[0];
}

const char *report_unit(const report *r, char text[REPORT_UNIT])
{
    const char *unit = report_metric(r)->unit;
    snprintf(text, REPORT_UNIT, "%s%s", *unit ? ", " : "", unit);
    return text;
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
