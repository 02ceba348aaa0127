/* Reads the runs, evaluates them, and writes the sections of the page. */
#include "report/report.h"

#include "core/status.h"
#include "io/text.h"
#include "report/section.h"

#include <stdio.h>
#include <string.h>

static const section *const sections[] = {
    &section_results, &section_curves, &section_confusion, &section_classes,  &section_wrong,
    &section_kernels, &section_fields, &section_operators, &section_settings, &section_environment,
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* ---- page ------------------------------------------------------------------------------------ */

static void put_title(html *h, const report *r)
{
    if (r->run_count == 1)
        html_text(h, r->runs[0].name);
    else
        html_printf(h, "%d runs", r->run_count);
}

static void put_head(html *h, const report *r)
{
    html_put(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    put_title(h, r);
    html_put(h, " – ssm2d report</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
    html_put(h, asset_css);
    html_put(h, "</style>\n</head>\n<body>\n");
}

static int is_shown(const section *s, const report *r)
{
    int named = !s->for_tasks;
    for (int i = 0; i < r->run_count && !named; i++)
        named = !r->runs[i].known || task_has_section(r->runs[i].task, s->id);
    if (!named) return 0;
    if (s->has) return s->has(r);
    int panels = !s->panel;
    for (int g = 0; g < r->group_count && !panels; g++) panels = s->panel(r, g) != NULL;
    return panels;
}

static void put_header(html *h, const report *r)
{
    const report_run *first = NULL;
    for (int i = 0; i < r->run_count && !first; i++)
        if (r->runs[i].known) first = &r->runs[i];
    html_put(h, "<header class=\"top\">\n<div><p class=\"brand\">ssm2d report</p>\n<h1>");
    put_title(h, r);
    html_put(h, "</h1>\n<p class=\"lead\">");
    if (first && !report_key_differs(r, "data")) {
        html_put(h, "on ");
        html_text(h, first->settings.options.data);
    }
    html_put(h, "</p></div>\n<button id=\"theme\" type=\"button\" hidden>Dark</button>\n</header>\n"
                "<nav aria-label=\"Sections\"><ul>\n");
    for (int i = 0; i < SECTIONS; i++)
        if (is_shown(sections[i], r))
            html_printf(h, "<li><a href=\"#%s\">%s</a></li>\n", sections[i]->id,
                        sections[i]->title);
    html_put(h, "</ul></nav>\n<main>\n");
}

static ssm2d_status put_page(html *h, const report *r, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    put_head(h, r);
    put_header(h, r);
    for (int i = 0; i < SECTIONS && !status; i++) {
        const section *s = sections[i];
        if (!is_shown(s, r)) continue;
        html_printf(
            h, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
            s->id, s->id, s->id, s->title);
        status = s->write(r, h, error);
        html_put(h, "</section>\n");
    }
    html_printf(
        h, "</main>\n<footer>Made by ssm2d %s. One file, without network.</footer>\n<script>\n",
        ssm2d_version());
    html_put(h, asset_js);
    html_put(h, asset_curves_js);
    html_put(h, "</script>\n</body>\n</html>\n");
    return status;
}

ssm2d_status report_write(ssm2d_context *context, const char *const *folders, int count,
                          const char *output, const report_options *options, ssm2d_error *error)
{
    report r;
    html h;
    ssm2d_status status = report_open(context, folders, count, &r, error);
    r.options = options;
    if (!status) {
        /* before the work, so that a missing folder is reported at once */
        status = html_open(context, output, &h, error);
        for (int i = 0; i < r.run_count && !status; i++) {
            status = report_evaluate(&r, &r.runs[i], error);
            if (status) html_abandon(&h);
        }
        if (!status) {
            status = put_page(&h, &r, error);
            if (status)
                html_abandon(&h);
            else
                status = html_finish(&h, error);
        }
    }
    report_close(&r);
    return status;
}
