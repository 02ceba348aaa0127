/* Classes: recall of each class for all setups; with binary labels a table of the attributes. */
#include "report/section.h"
#include "tasks/label_tables.h"

#include "core/context.h"
#include "core/status.h"

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
        if (r->runs[i].group != group || !e->done || class >= e->detail.shape.outputs) continue;
        const label_counts c = label_counts_of(e->detail.counts, e->detail.shape.outputs);
        sum.all += e->result.images;
        sum.images += c.images[class];
        sum.predicted += c.predicted[class];
        sum.hits += c.hits[class];
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

/* The first evaluated run of a group, whose class names are used. */
static const report_run *shown_run(const report *r, int group)
{
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].group == group && r->runs[i].evaluation.done
            && task_has_section(r->runs[i].task, section_classes.id))
            return &r->runs[i];
    return NULL;
}

/* Whether two runs have the same classes. */
static int same_classes(const report_run *a, const report_run *b)
{
    if (a->task != b->task || a->data.outputs != b->data.outputs) return 0;
    for (int c = 0; c < a->data.outputs; c++)
        if (strcmp(a->data.names[c], b->data.names[c])) return 0;
    return 1;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* One table of the groups g with the same classes as `first`: those with same[g]. */
static void put_classes(html *h, const report *r, int first, const int *same)
{
    const report_run *shown = shown_run(r, first);
    html_put(h, "<div class=\"scroll tall\"><table class=\"classes sortable\"><caption>Images of "
                "each class that are right, % (recall)<span class=\"screen\">; press a heading to "
                "sort</span></caption><thead>"
                "<tr><th scope=\"col\">class</th><th scope=\"col\">images</th>");
    for (int g = first; g < r->group_count; g++) {
        if (!same[g]) continue;
        html_put(h, "<th scope=\"col\">");
        html_text(h, r->groups[g].label);
        html_put(h, "</th>");
    }
    html_put(h, "</tr></thead><tbody>\n");
    for (int c = 0; c < shown->data.outputs; c++) {
        put_row_head(h, shown->data.names[c]);
        html_printf(
            h, "<td>%zu</td>",
            label_counts_of(shown->evaluation.detail.counts, shown->data.outputs).images[c]);
        for (int g = first; g < r->group_count; g++) {
            if (!same[g]) continue;
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
    for (int c = 0; c < shown->data.outputs; c++) {
        const counts n = counts_of(r, group, c);
        put_row_head(h, shown->data.names[c]);
        html_printf(h, "<td>%.2f</td>", 100 * (double)n.images / (double)n.all);
        put_rate(h, n.all - (n.images + n.predicted - 2 * n.hits), n.all);
        put_rate(h, n.hits, n.images);
        put_rate(h, n.hits, n.predicted);
        html_put(h, "</tr>\n");
    }
    html_put(h, "</tbody></table></div>\n");
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    const size_t groups = (size_t)r->group_count;
    int *same = mem_alloc(r->context, 2 * (groups + 1) * sizeof *same), *seen = same + groups;
    if (!same) return fail_memory(error, "%zu setups", groups);
    for (int g = 0; g < r->group_count; g++) {
        const report_run *shown = shown_run(r, g);
        if (!shown || seen[g]) continue;
        if (!shown->task->pair) { /* every label is a decision of its own */
            put_attributes(h, r, g);
            continue;
        }
        for (int k = g; k < r->group_count; k++) {
            same[k] = shown_run(r, k) && same_classes(shown_run(r, k), shown);
            seen[k] |= same[k];
        }
        put_classes(h, r, g, same);
    }
    mem_free(r->context, same);
    put_not_evaluated(h, r);
    return SSM2D_OK;
}

const section section_classes = {"classes", "Classes", NULL, write, .for_tasks = 1};
