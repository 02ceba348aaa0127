/* Confusion: true against predicted classes, of all evaluated runs of a setup together. */
#include "report/section.h"

#include "core/context.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

enum { MAX_TABLE = 25 };     /* classes whose counts are written out */
enum { MAX_PICTURE = 1000 }; /* classes up to which the matrix is drawn */
enum { PAIRS = 12 };         /* of classes that are confused most */

/* The counts of a setup. */
typedef struct sum {
    const run_data *data;  /* names */
    confusion_cell *cells; /* merged */
    size_t count, capacity;
    int classes, runs;
} sum;

/* Whether a run is counted with those of s. */
static int belongs(const report_run *run, int group, const sum *s)
{
    const report_evaluation *e = &run->evaluation;
    return run->group == group && e->done && e->confusion
           && (!s->runs || s->classes == e->detail.shape.outputs);
}

static ssm2d_status add_runs(const report *r, int group, sum *s, ssm2d_error *error)
{
    *s = (sum){0};
    for (int i = 0; i < r->run_count; i++) {
        const report_run *run = &r->runs[i];
        const report_evaluation *e = &run->evaluation;
        if (!belongs(run, group, s)) continue;
        confusion_cell *cells = mem_grow(r->context, s->cells, sizeof *cells, s->count,
                                         e->confusion_count + 1, &s->capacity);
        if (!cells) return fail_memory(error, "counts of %d classes", e->detail.shape.outputs);
        s->cells = cells;
        s->classes = e->detail.shape.outputs;
        s->data = &run->data;
        s->runs++;
        memcpy(cells + s->count, e->confusion, e->confusion_count * sizeof *cells);
        s->count = confusion_cells_merge(cells, s->count + e->confusion_count);
    }
    return SSM2D_OK;
}

/* Images of a true class. */
static size_t class_total(const sum *s, int class)
{
    size_t first = 0, end;
    while (first < s->count && s->cells[first].truth < class) first++;
    if (first == s->count || s->cells[first].truth != class) return 0;
    return confusion_row_total(s->cells, s->count, first, &end);
}

/* ---- as a table, or as a picture ------------------------------------------------------------- */

static void put_table(html *h, const sum *s)
{
    size_t next = 0;
    html_put(h, "<div class=\"scroll\"><table class=\"confusion\"><caption>Rows are true classes, "
                "columns predicted ones</caption><thead><tr><th scope=\"col\">true \\ "
                "predicted</th>");
    for (int c = 0; c < s->classes; c++) {
        html_put(h, "<th scope=\"col\" class=\"turned\"><span>");
        html_text(h, s->data->names[c]);
        html_put(h, "</span></th>");
    }
    html_put(h, "</tr></thead><tbody>\n");
    for (int row = 0; row < s->classes; row++) {
        const size_t total = class_total(s, row);
        put_row_head(h, s->data->names[row]);
        for (int c = 0; c < s->classes; c++) {
            const confusion_cell *cell = next < s->count ? &s->cells[next] : NULL;
            const int is_next = cell && cell->truth == row && cell->predicted == c;
            const size_t n = is_next ? cell->count : 0;
            next += (size_t)is_next;
            const double share = total ? (double)n / (double)total : 0;
            html_printf(h, "<td class=\"%s%s\" style=\"--p:%.3f\">%zu</td>",
                        row == c ? "hit" : "miss", share > 0.72 ? " strong" : "", share, n);
        }
        html_put(h, "</tr>\n");
    }
    html_put(h, "</tbody></table></div>\n");
}

static ssm2d_status put_picture(const report *r, html *h, const sum *s, int group,
                                ssm2d_error *error)
{
    const size_t n = (size_t)s->classes;
    double *shares = mem_alloc(r->context, n * n * sizeof *shares);
    if (!shares) return fail_memory(error, "picture of %d classes", s->classes);
    for (size_t first = 0, end; first < s->count; first = end) {
        const size_t total = confusion_row_total(s->cells, s->count, first, &end);
        for (size_t i = first; i < end; i++) /* the root makes rare confusions visible */
            shares[(size_t)s->cells[i].truth * n + (size_t)s->cells[i].predicted] =
                sqrt((double)s->cells[i].count / (double)total);
    }
    html_printf(h,
                "<figure class=\"matrix\"><div class=\"matrix-box\"><img "
                "data-matrix=\"%d\" alt=\"Confusion matrix of %d classes: rows are true, columns "
                "predicted; the table below names the pairs that are confused most\" "
                "src=\"",
                group, s->classes);
    html_heat(h, n, n, shares, COLOUR_SEQUENTIAL, 1, 0);
    html_printf(h,
                "\"></div><p class=\"matrix-value\" data-matrix-value=\"%d\" aria-live=\"polite\">"
                "Point at the picture for classes and counts.</p><figcaption>True class down, "
                "predicted class to the right; brightness is the share of the "
                "row.</figcaption></figure>\n",
                group);
    /* the nonzero cells: row, column, count */
    html_printf(h, "<script type=\"application/json\" id=\"matrix-%d\">{\"names\":[", group);
    for (int c = 0; c < s->classes; c++) {
        if (c) html_put(h, ",");
        html_json_text(h, s->data->names[c]);
    }
    html_put(h, "],\"counts\":[");
    for (size_t i = 0; i < s->count; i++)
        html_printf(h, "%s%d,%d,%zu", i ? "," : "", s->cells[i].truth, s->cells[i].predicted,
                    s->cells[i].count);
    html_put(h, "]}</script>\n");
    mem_free(r->context, shares);
    return SSM2D_OK;
}

/* ---- pairs that are confused most ------------------------------------------------------------ */

/* The pairs with the largest counts; the first one of equals. */
static int find_pairs(const sum *s, confusion_cell pairs[PAIRS])
{
    int count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const confusion_cell p = s->cells[i];
        if (p.truth == p.predicted) continue;
        if (count == PAIRS && pairs[count - 1].count >= p.count) continue;
        int k = count < PAIRS ? count++ : PAIRS - 1;
        for (; k > 0 && pairs[k - 1].count < p.count; k--) pairs[k] = pairs[k - 1];
        pairs[k] = p;
    }
    return count;
}

static void put_pairs(html *h, const sum *s)
{
    confusion_cell pairs[PAIRS];
    const int count = find_pairs(s, pairs);
    if (!count) return;
    html_put(h, "<div class=\"scroll\"><table class=\"pairs\"><caption>Confused most</caption>"
                "<thead><tr><th scope=\"col\">true class</th><th scope=\"col\" "
                "class=\"word\">predicted as</th>"
                "<th scope=\"col\">images</th><th scope=\"col\">of the class, %</th></tr></thead>"
                "<tbody>\n");
    for (int i = 0; i < count; i++) {
        put_row_head(h, s->data->names[pairs[i].truth]);
        html_put(h, "<td class=\"word\">");
        html_text(h, s->data->names[pairs[i].predicted]);
        html_printf(h, "</td><td>%zu</td><td>%.1f</td></tr>\n", pairs[i].count,
                    100 * (double)pairs[i].count / (double)class_total(s, pairs[i].truth));
    }
    html_put(h, "</tbody></table></div>\n");
}

/* ---- section --------------------------------------------------------------------------------- */

static ssm2d_status put_group(const report *r, html *h, int group, ssm2d_error *error)
{
    sum s;
    ssm2d_status status = add_runs(r, group, &s, error);
    if (!status) {
        html_printf(h, "<p class=\"note\">Counts of %d run%s.</p>\n<div class=\"beside\">\n",
                    s.runs, s.runs == 1 ? "" : "s");
        if (s.classes <= MAX_TABLE)
            put_table(h, &s);
        else if (s.classes <= MAX_PICTURE)
            status = put_picture(r, h, &s, group, error);
        else
            html_printf(h,
                        "<p class=\"note\">The matrix is left out: it has %d classes, and is drawn "
                        "up to %d. <code>ssm2d eval RUN --confusion FILE</code> draws it.</p>\n",
                        s.classes, MAX_PICTURE);
        put_pairs(h, &s);
        html_put(h, "</div>");
    }
    mem_free(r->context, s.cells);
    return status;
}

static const char *panel(const report *r, int group)
{
    for (int i = 0; i < r->run_count; i++) {
        const report_evaluation *e = &r->runs[i].evaluation;
        if (r->runs[i].group == group && e->done && e->confusion) return r->groups[group].label;
    }
    return NULL;
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    return put_panels(r, h, &section_confusion, "Setup", put_group, error);
}

const section section_confusion = {"confusion", "Confusion matrix", NULL, write,
                                   panel,       .for_tasks = 1};
