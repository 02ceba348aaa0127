/* Classes: how many images of each class are right, setup beside setup; with binary labels a table
 * of the attributes. */
#include "report/section.h"

#include <string.h>

/* Counts of one class or attribute over the evaluated runs of a group. */
typedef struct counts {
    size_t all, images, predicted, hits;
} counts;

static counts counts_of(const report *r, int group, int class)
{
    counts sum = {0};
    for (int i = 0; i < r->run_count; i++) {
        const report_evaluation *e = &r->runs[i].evaluation;
        if (r->runs[i].group != group || !e->done || class >= e->detail.classes) continue;
        sum.all += e->result.images;
        sum.images += e->detail.images[class];
        sum.predicted += e->detail.predicted[class];
        sum.hits += e->detail.hits[class];
    }
    return sum;
}

static void put_rate(html *h, size_t count, size_t of)
{
    const double share = of ? (double)count / (double)of : 0;
    if (of)
        html_printf(h, "<td class=\"bar\" style=\"--p:%.3f\">%.2f</td>", share, 100 * share);
    else
        html_put(h, "<td>–</td>");
}

/* The first evaluated run of a group, whose names of classes count. */
static const report_run *shown_run(const report *r, int group)
{
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].group == group && r->runs[i].evaluation.done) return &r->runs[i];
    return NULL;
}

/* Whether two runs have the same classes. */
static int same_classes(const report_run *a, const report_run *b)
{
    if (a->data.labels != b->data.labels || a->data.classes != b->data.classes) return 0;
    for (int c = 0; c < a->data.classes; c++)
        if (strcmp(a->data.names[c], b->data.names[c])) return 0;
    return 1;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* One table of all groups that have the same classes as `first`, which no group before had. */
static void put_classes(html *h, const report *r, int first)
{
    const report_run *shown = shown_run(r, first);
    html_put(h, "<div class=\"scroll tall\"><table class=\"classes sortable\"><caption>Images of "
                "each class that are right, % (recall)<span class=\"screen\">; press a heading to "
                "sort</span></caption><thead>"
                "<tr><th scope=\"col\">class</th><th scope=\"col\">images</th>");
    for (int g = first; g < r->group_count; g++) {
        if (!shown_run(r, g) || !same_classes(shown, shown_run(r, g))) continue;
        html_put(h, "<th scope=\"col\">");
        html_text(h, r->groups[g].label);
        html_put(h, "</th>");
    }
    html_put(h, "</tr></thead><tbody>\n");
    for (int c = 0; c < shown->data.classes; c++) {
        html_put(h, "<tr><th scope=\"row\">");
        html_text(h, shown->data.names[c]);
        html_printf(h, "</th><td>%zu</td>", shown->evaluation.detail.images[c]);
        for (int g = first; g < r->group_count; g++) {
            if (!shown_run(r, g) || !same_classes(shown, shown_run(r, g))) continue;
            const counts n = counts_of(r, g, c);
            put_rate(h, n.hits, n.images);
        }
        html_put(h, "</tr>\n");
    }
    html_put(h, "</tbody></table></div>\n");
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void put_attributes(html *h, const report *r, int group)
{
    const report_run *shown = shown_run(r, group);
    html_put(h, "<h3>");
    html_text(h, r->groups[group].label);
    html_put(h, "</h3>\n<div class=\"scroll tall\"><table class=\"attributes sortable\"><caption>"
                "Attributes: images that have it, decisions that are right, %</caption><thead><tr>"
                "<th scope=\"col\">attribute</th><th scope=\"col\">have it, %</th>"
                "<th scope=\"col\">accuracy, %</th><th scope=\"col\">recall, %</th>"
                "<th scope=\"col\">precision, %</th></tr></thead><tbody>\n");
    for (int c = 0; c < shown->data.classes; c++) {
        const counts n = counts_of(r, group, c);
        html_put(h, "<tr><th scope=\"row\">");
        html_text(h, shown->data.names[c]);
        html_printf(h, "</th><td>%.2f</td>", 100 * (double)n.images / (double)n.all);
        put_rate(h, n.all - (n.images + n.predicted - 2 * n.hits), n.all);
        put_rate(h, n.hits, n.images);
        put_rate(h, n.hits, n.predicted);
        html_put(h, "</tr>\n");
    }
    html_put(h, "</tbody></table></div>\n");
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    (void)error;
    for (int g = 0; g < r->group_count; g++) {
        const report_run *shown = shown_run(r, g);
        int seen = 0;
        if (!shown) continue;
        if (shown->data.labels == LABEL_BINARY) {
            put_attributes(h, r, g);
            continue;
        }
        for (int k = 0; k < g && !seen; k++)
            seen = shown_run(r, k) && same_classes(shown_run(r, k), shown);
        if (!seen) put_classes(h, r, g);
    }
    put_not_evaluated(h, r);
    return SSM2D_OK;
}

const section section_classes = {"classes", "Classes", NULL, write};
