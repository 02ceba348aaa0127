/* Curves: the metrics of all runs as JSON, which page_curves.js draws, and as tables.
 *
 *     {"lossNote": "Training loss: with label smoothing (0.1) ..",
 *      "metric": "accuracy, %", "percent": true,
 *      "setups": [{"name": "vit-mini · ssm2d", "colour": 0, "dash": 0}, ..],
 *      "runs": [{"name": "a-0", "setup": 0, .., "x": [0.5, 1, ..], "loss": [2.1, 1.9, ..]}, ..]}
 */
#include "report/section.h"

#include "core/context.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

enum { MAX_POINTS = 2000 }; /* of a run's steps in the page */

static int has_lines(const report_run *run)
{
    return run->metrics && metrics_line(run->metrics, 0);
}

static int has(const report *r)
{
    for (int i = 0; i < r->run_count; i++)
        if (has_lines(&r->runs[i])) return 1;
    return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

typedef double metric_getter(const metric *m);
static double get_epoch(const metric *m) { return m->epoch; }
static double get_loss(const metric *m) { return m->loss; }
static double get_lr(const metric *m) { return m->lr; }
static double get_norm(const metric *m) { return m->norm > 0 ? m->norm : NAN; }
static double get_score(const metric *m) { return m->score; }
static double get_test_loss(const metric *m) { return m->test_loss; }
static double get_test_score(const metric *m) { return m->test_score; }

/* The distance between the step lines in the page, so that there are at most MAX_POINTS. */
static size_t stride_of(const report_run *run)
{
    size_t steps = 0;
    const metric *m;
    for (size_t i = 0; (m = metrics_line(run->metrics, i)); i++) steps += !m->is_epoch;
    return steps / MAX_POINTS + 1;
}

/* Iterates over the lines of one kind (steps or epochs) that are in the page. */
typedef struct walk {
    const report_run *run;
    int epochs;
    size_t at, seen, stride;
} walk;

static const metric *next_line(walk *w)
{
    const metric *m;
    while ((m = metrics_line(w->run->metrics, w->at))) {
        w->at++;
        if (m->is_epoch != w->epochs) continue;
        if (w->seen++ % w->stride == w->stride - 1) return m;
    }
    return NULL;
}

/* The values times `scale`. */
static void put_list(html *h, const report_run *run, const char *key, int epochs, size_t stride,
                     metric_getter *get, double scale)
{
    walk w = {.run = run, .epochs = epochs, .stride = epochs ? 1 : stride};
    const metric *m;
    html_printf(h, ",\"%s\":[", key);
    for (int i = 0; (m = next_line(&w)); i++) {
        if (i) html_put(h, ",");
        html_json_number(h, scale * get(m), 6);
    }
    html_put(h, "]");
}

/* The values per block: a list for each line. */
static void put_blocks(html *h, const report_run *run, const char *key, size_t stride, int gains)
{
    walk w = {.run = run, .stride = stride};
    const metric *m;
    html_printf(h, ",\"%s\":[", key);
    for (int i = 0; (m = next_line(&w)); i++) {
        html_put(h, i ? ",[" : "[");
        for (int b = 0; b < m->blocks; b++) {
            if (b) html_put(h, ",");
            html_json_number(h, (gains ? m->kernel_gains : m->mixer_norms)[b], 4);
        }
        html_put(h, "]");
    }
    html_put(h, "]");
}

static int has_blocks(const report_run *run)
{
    const metric *m;
    for (size_t i = 0; (m = metrics_line(run->metrics, i)); i++)
        if (m->blocks) return 1;
    return 0;
}

static void put_run(html *h, const report *r, int index)
{
    const report_run *run = &r->runs[index];
    const size_t stride = stride_of(run);
    const double scale = run->task->metrics[0].scale;
    int hue, dash;
    run_style(r, index, &hue, &dash);
    html_put(h, "{\"name\":");
    html_json_text(h, run->name);
    html_printf(h, ",\"setup\":%d,\"colour\":%d,\"dash\":%d,\"validation\":%s,\"repeat\":%s",
                run->group, hue, dash, run->last && run->last->validation ? "true" : "false",
                report_is_repeat(r, index) ? "true" : "false");
    put_list(h, run, "x", 0, stride, get_epoch, 1);
    put_list(h, run, "loss", 0, stride, get_loss, 1);
    put_list(h, run, "lr", 0, stride, get_lr, 1);
    put_list(h, run, "norm", 0, stride, get_norm, 1);
    put_list(h, run, "epochs", 1, stride, get_epoch, 1);
    put_list(h, run, "epochLoss", 1, stride, get_loss, 1);
    put_list(h, run, "epochLr", 1, stride, get_lr, 1);
    put_list(h, run, "score", 1, stride, get_score, scale);
    put_list(h, run, "testLoss", 1, stride, get_test_loss, 1);
    put_list(h, run, "testScore", 1, stride, get_test_score, scale);
    if (has_blocks(run)) {
        put_blocks(h, run, "mixerNorms", stride, 0);
        put_blocks(h, run, "kernelGains", stride, 1);
    }
    html_put(h, "}");
}

static void put_json(html *h, const report *r)
{
    int hue, dash, first = 1;
    char note[LOSS_NOTE] = "", axis[TASK_TITLE];
    report_loss_note(r, note);
    html_put(h, "<script type=\"application/json\" id=\"curve-data\">{\"lossNote\":");
    html_json_text(h, note);
    html_put(h, ",\"metric\":");
    html_json_text(h, metric_axis(report_metric(r), axis));
    html_printf(h, ",\"percent\":%s", strcmp(report_metric(r)->unit, "%") ? "false" : "true");
    html_put(h, ",\n\"setups\":[");
    for (int g = 0; g < r->group_count; g++) {
        group_style(g, &hue, &dash);
        html_put(h, g ? ",\n{\"name\":" : "{\"name\":");
        html_json_text(h, r->groups[g].label);
        html_printf(h, ",\"colour\":%d,\"dash\":%d}", hue, dash);
    }
    html_put(h, "],\n\"runs\":[");
    for (int i = 0; i < r->run_count; i++) {
        if (!has_lines(&r->runs[i])) continue;
        if (!first) html_put(h, ",\n");
        first = 0;
        put_run(h, r, i);
    }
    html_put(h, "]}</script>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Ends a table's caption with the note about the training losses. */
static void end_caption(html *h, const report *r)
{
    char note[LOSS_NOTE] = "";
    report_loss_note(r, note);
    html_printf(h, "%s%s</caption>", *note ? ". " : "", note);
}

/* The heads of the columns after the training loss. */
static void put_score_heads(html *h, const report *r)
{
    char unit[REPORT_UNIT], axis[TASK_TITLE];
    html_printf(h,
                "<th scope=\"col\">training%s</th><th scope=\"col\">loss</th>"
                "<th scope=\"col\">%s</th>",
                report_unit(r, unit), metric_axis(report_metric(r), axis));
}

static void put_table(html *h, const report *r)
{
    html_put(h, "<details><summary>The values of the epochs</summary><div class=\"scroll tall\">"
                "<table id=\"epochs\"><caption>Every epoch of every run");
    end_caption(h, r);
    html_put(h, "<thead><tr><th scope=\"col\">run</th><th scope=\"col\">epoch</th><th "
                "scope=\"col\">training "
                "loss</th>");
    put_score_heads(h, r);
    html_put(h, "<th scope=\"col\">learning rate</th></tr></thead><tbody>\n");
    for (int i = 0; i < r->run_count; i++) {
        walk w = {.run = &r->runs[i], .epochs = 1, .stride = 1};
        const metric *m;
        if (!has_lines(w.run)) continue;
        while ((m = next_line(&w))) {
            html_put(h, "<tr><th scope=\"row\">");
            html_name(h, r->runs[i].name);
            html_printf(h, "</th><td>%.0f</td><td>%.4f</td>", m->epoch, m->loss);
            put_metric_cell(h, r, m->score);
            html_printf(h, "<td>%.4f</td>", m->test_loss);
            put_metric_cell(h, r, m->test_score);
            html_printf(h, "<td>%.3g</td></tr>\n", m->lr);
        }
    }
    html_put(h, "</tbody></table></div></details>\n");
}

/* Whether a setup has several runs with metrics. */
static int has_means(const report *r)
{
    for (int i = 0; i < r->run_count; i++)
        for (int k = 0; k < i && !report_is_repeat(r, i); k++)
            if (r->runs[i].group == r->runs[k].group && has_lines(&r->runs[i])
                && has_lines(&r->runs[k]))
                return 1;
    return 0;
}

/* Mean and deviation of a value over lines; NULL lines are ignored. */
static spread spread_of(const metric *const *lines, int count, metric_getter *get)
{
    spread s = spread_none();
    for (int i = 0; i < count; i++)
        if (lines[i]) spread_add(&s, get(lines[i]));
    return s;
}

/* One row: the lines of one epoch, NULL for a run that does not have it. */
static void put_mean_row(html *h, const report *r, const report_group *group, double epoch,
                         const metric *const *lines, int count)
{
    const task_metric *score = report_metric(r);
    const struct column {
        metric_getter *get;
        double scale;
        int digits;
    } columns[] = {{get_loss, 1, 4},
                   {get_score, score->scale, score->digits},
                   {get_test_loss, 1, 4},
                   {get_test_score, score->scale, score->digits}};
    int runs = 0;
    for (int i = 0; i < count; i++) runs += lines[i] != NULL;
    put_row_head(h, group->label);
    html_printf(h, "<td>%.0f</td><td>%d</td>", epoch, runs);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        put_spread_cell(h, spread_of(lines, count, columns[c].get), columns[c].scale,
                        columns[c].digits);
    html_put(h, "</tr>\n");
}

/* The rows of a setup: in every epoch the runs that have it. walks, next and now have an element
 * for each run. */
static void put_mean_rows(html *h, const report *r, int group, walk *walks, const metric **next,
                          const metric **now)
{
    int count = 0;
    for (int i = 0; i < r->run_count; i++) {
        if (r->runs[i].group != group || !has_lines(&r->runs[i]) || report_is_repeat(r, i))
            continue;
        walks[count] = (walk){.run = &r->runs[i], .epochs = 1, .stride = 1};
        next[count] = next_line(&walks[count]);
        count++;
    }
    for (;;) {
        double epoch = INFINITY;
        for (int i = 0; i < count; i++)
            if (next[i]) epoch = fmin(epoch, next[i]->epoch);
        if (isinf(epoch)) return;
        for (int i = 0; i < count; i++) {
            now[i] = next[i] && next[i]->epoch <= epoch ? next[i] : NULL;
            if (now[i]) next[i] = next_line(&walks[i]);
        }
        put_mean_row(h, r, &r->groups[group], epoch, now, count);
    }
}

static ssm2d_status put_means(html *h, const report *r, ssm2d_error *error)
{
    const size_t count = (size_t)r->run_count;
    walk *walks = mem_alloc(r->context, count * sizeof *walks);
    const metric **lines = mem_alloc(r->context, 2 * count * sizeof *lines);
    if (walks && lines) {
        html_put(h, "<details><summary>Means and standard deviations of the epochs</summary><div "
                    "class=\"scroll tall\"><table id=\"epoch-means\"><caption>Every epoch of "
                    "every setup: mean ± standard deviation (n − 1) over the runs that have it");
        end_caption(h, r);
        html_put(h, "<thead><tr><th scope=\"col\">setup</th><th scope=\"col\">epoch"
                    "</th><th scope=\"col\">runs</th><th scope=\"col\">training loss</th>");
        put_score_heads(h, r);
        html_put(h, "</tr></thead><tbody>\n");
        for (int g = 0; g < r->group_count; g++)
            put_mean_rows(h, r, g, walks, lines, lines + count);
        html_put(h, "</tbody></table></div></details>\n");
    }
    const int done = walks && lines;
    mem_free(r->context, walks);
    mem_free(r->context, lines);
    return done ? SSM2D_OK : fail_memory(error, "%zu curves", count);
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    int thinned = 0;
    html_put(h, "<div id=\"legend\" class=\"legend\" role=\"group\" aria-label=\"Runs to show\">"
                "</div>\n<div id=\"charts\" class=\"charts\"></div>\n<noscript><p "
                "class=\"missing\">The curves are drawn by a script, which is off; their values "
                "are below.</p></noscript>\n");
    if (has_means(r)) status = put_means(h, r, error);
    put_table(h, r);
    put_json(h, r);
    for (int i = 0; i < r->run_count; i++)
        if (has_lines(&r->runs[i])) thinned |= stride_of(&r->runs[i]) > 1;
    if (thinned)
        html_printf(h,
                    "<p class=\"note\">Runs with more than %d logged steps are shown with every "
                    "n-th step.</p>\n",
                    MAX_POINTS);
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].known && !has_lines(&r->runs[i]))
            put_missing(h, r->runs[i].name, "it has no metrics yet");
    return status;
}

const section section_curves = {"curves", "Curves", has, write};
