/* Confusion: true against predicted classes, of all evaluated runs of a setup together. */
#include "report/section.h"

#include "core/context.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TABLE = 25 }; /* classes whose numbers are written out */
enum { PAIRS = 12 };     /* of classes that are confused most */

static int has(const report *r) { return group_evaluated(r, -1, LABEL_CLASS); }

/* The counts of a setup. */
typedef struct sum {
    const run_data *data; /* names */
    size_t *counts;       /* [classes][classes] */
    int classes, runs;
} sum;

static ssm2d_status add_runs(const report *r, int group, sum *s, ssm2d_error *error)
{
    *s = (sum){0};
    for (int i = 0; i < r->run_count; i++) {
        const report_run *run = &r->runs[i];
        const evaluation_detail *d = &run->evaluation.detail;
        if (run->group != group || !run->evaluation.done || d->labels != LABEL_CLASS) continue;
        if (s->runs && s->classes != d->classes) continue;
        const size_t cells = (size_t)d->classes * (size_t)d->classes;
        if (!s->counts) s->counts = mem_alloc(r->context, cells * sizeof *s->counts);
        if (!s->counts)
            return fail(error, SSM2D_ERROR_MEMORY, "no memory for the counts of %d classes",
                        d->classes);
        s->classes = d->classes;
        s->data = &run->data;
        s->runs++;
        for (size_t k = 0; k < cells; k++) s->counts[k] += d->confusion[k];
    }
    return SSM2D_OK;
}

static size_t row_total(const sum *s, int row)
{
    size_t total = 0;
    for (int k = 0; k < s->classes; k++)
        total += s->counts[(size_t)row * (size_t)s->classes + (size_t)k];
    return total;
}

static void put_name(html *h, const sum *s, int class) { html_text(h, s->data->names[class]); }

/* ---- as a table, or as a picture ------------------------------------------------------------- */

static void put_table(html *h, const sum *s)
{
    html_put(h, "<div class=\"scroll\"><table class=\"confusion\"><caption>Rows are true classes, "
                "columns predicted ones</caption><thead><tr><th scope=\"col\">true \\ "
                "predicted</th>");
    for (int c = 0; c < s->classes; c++) {
        html_put(h, "<th scope=\"col\" class=\"turned\"><span>");
        put_name(h, s, c);
        html_put(h, "</span></th>");
    }
    html_put(h, "</tr></thead><tbody>\n");
    for (int row = 0; row < s->classes; row++) {
        const size_t total = row_total(s, row);
        html_put(h, "<tr><th scope=\"row\">");
        put_name(h, s, row);
        html_put(h, "</th>");
        for (int c = 0; c < s->classes; c++) {
            const size_t n = s->counts[row * s->classes + c];
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
    if (!shares)
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for a picture of %d classes", s->classes);
    for (int row = 0; row < s->classes; row++) {
        const size_t total = row_total(s, row);
        for (size_t c = 0; c < n; c++) /* the root shows what is rare, too */
            shares[(size_t)row * n + c] =
                total ? sqrt((double)s->counts[(size_t)row * n + c] / (double)total) : 0;
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
                "predicted class to the right; the brighter, the larger the share of the "
                "row.</figcaption></figure>\n",
                group);
    /* what is not zero: row, column, count */
    html_printf(h, "<script type=\"application/json\" id=\"matrix-%d\">{\"names\":[", group);
    for (int c = 0; c < s->classes; c++) {
        if (c) html_put(h, ",");
        html_json_text(h, s->data->names[c]);
    }
    html_put(h, "],\"counts\":[");
    for (size_t i = 0, first = 1; i < n * n; i++) {
        if (!s->counts[i]) continue;
        html_printf(h, "%s%zu,%zu,%zu", first ? "" : ",", i / n, i % n, s->counts[i]);
        first = 0;
    }
    html_put(h, "]}</script>\n");
    mem_free(r->context, shares);
    return SSM2D_OK;
}

/* ---- pairs that are confused most ------------------------------------------------------------ */

typedef struct pair {
    int truth, predicted;
    size_t count;
} pair;

static int find_pairs(const sum *s, pair pairs[PAIRS])
{
    int count = 0;
    for (int row = 0; row < s->classes; row++)
        for (int c = 0; c < s->classes; c++) {
            const pair p = {row, c, s->counts[row * s->classes + c]};
            if (row == c || !p.count) continue;
            if (count == PAIRS && pairs[count - 1].count >= p.count) continue;
            int k = count < PAIRS ? count++ : PAIRS - 1;
            for (; k > 0 && pairs[k - 1].count < p.count; k--) pairs[k] = pairs[k - 1];
            pairs[k] = p;
        }
    return count;
}

static void put_pairs(html *h, const sum *s)
{
    pair pairs[PAIRS];
    const int count = find_pairs(s, pairs);
    if (!count) return;
    html_put(h, "<div class=\"scroll\"><table class=\"pairs\"><caption>Confused most</caption>"
                "<thead><tr><th scope=\"col\">true class</th><th scope=\"col\" "
                "class=\"word\">predicted as</th>"
                "<th scope=\"col\">images</th><th scope=\"col\">of the class, %</th></tr></thead>"
                "<tbody>\n");
    for (int i = 0; i < count; i++) {
        html_put(h, "<tr><th scope=\"row\">");
        put_name(h, s, pairs[i].truth);
        html_put(h, "</th><td class=\"word\">");
        put_name(h, s, pairs[i].predicted);
        html_printf(h, "</td><td>%zu</td><td>%.1f</td></tr>\n", pairs[i].count,
                    100 * (double)pairs[i].count / (double)row_total(s, pairs[i].truth));
    }
    html_put(h, "</tbody></table></div>\n");
}

/* ---- section --------------------------------------------------------------------------------- */

static ssm2d_status put_group(const report *r, html *h, int group, ssm2d_error *error)
{
    sum s;
    ssm2d_status status = add_runs(r, group, &s, error);
    if (!status) {
        pick_panel(h, "confusion", group, r->groups[group].label);
        html_printf(h, "<p class=\"note\">Counts of %d run%s.</p>\n<div class=\"beside\">\n",
                    s.runs, s.runs == 1 ? "" : "s");
        if (s.classes <= MAX_TABLE)
            put_table(h, &s);
        else
            status = put_picture(r, h, &s, group, error);
        put_pairs(h, &s);
        html_put(h, "</div></div>\n");
    }
    mem_free(r->context, s.counts);
    return status;
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    pick_begin(h, "confusion", "Setup");
    for (int g = 0; g < r->group_count; g++)
        if (group_evaluated(r, g, LABEL_CLASS)) pick_option(h, g, r->groups[g].label);
    pick_options_end(h);
    for (int g = 0; g < r->group_count && !status; g++)
        if (group_evaluated(r, g, LABEL_CLASS)) status = put_group(r, h, g, error);
    return status;
}

const section section_confusion = {"confusion", "Confusion matrix", has, write};
