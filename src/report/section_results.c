/* Results: the best setup at a glance, setups with mean and standard deviation over seeds, and
 * every run. */
#include "report/section.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- at a glance ----------------------------------------------------------------------------- */

/* The group with the best mean score of the last epoch among those on the same data as this one;
 * -1: none of them has finished runs. *count, unless NULL, is the number of these groups. */
static int best_group(const report *r, int group, int *count)
{
    int best = -1, groups = 0;
    double mean = NAN;
    for (int g = 0; g < r->group_count; g++) {
        if (!report_groups_share(r, g, group, "data")) continue;
        const spread s = report_spread(r, g, run_last_score);
        const double sign = report_metric(r)->lower_is_better ? -1 : 1;
        if (s.n && !(sign * s.mean <= sign * mean)) mean = s.mean, best = g;
        groups++;
    }
    if (count) *count = groups;
    return best;
}

static void card_begin(html *h, const char *title)
{
    html_printf(h,
                "<div class=\"card\"><div class=\"card-title\">%s</div><div class=\"card-value\">",
                title);
}

static void card_note(html *h, const char *note)
{
    html_put(h, "</div><div class=\"card-note\">");
    html_text(h, note);
}

static void card_end(html *h) { html_put(h, "</div></div>\n"); }

static void put_cards(html *h, const report *r, int best)
{
    const task_metric *m = report_metric(r);
    double seconds = 0;
    int finished = 0;
    const report_run *known = NULL;
    for (int i = 0; i < r->run_count; i++) {
        const report_run *run = &r->runs[i];
        if (!isnan(run_seconds(run))) seconds += run_seconds(run);
        finished += run->state == REPORT_FINISHED;
        if (!known && run->known && run->data.outputs) known = run;
    }
    html_put(h, "<div class=\"cards\">\n");
    if (best >= 0) {
        char title[TASK_TITLE + 16];
        snprintf(title, sizeof title, "%s, last epoch", m->name);
        *title = (char)toupper((unsigned char)*title);
        card_begin(h, r->group_count > 1 ? "Best setup, last epoch" : title);
        put_spread(h, report_spread(r, best, run_last_score), m->scale, m->digits);
        if (*m->unit) html_printf(h, " %s", m->unit);
        card_note(h, r->groups[best].label);
        card_end(h);
    }
    card_begin(h, "Runs");
    html_printf(h, "%d", r->run_count);
    html_printf(h, "</div><div class=\"card-note\">%d finished, in %d setup%s", finished,
                r->group_count, r->group_count == 1 ? "" : "s");
    card_end(h);
    if (known && !report_key_differs(r, "data")) {
        char title[TASK_TITLE];
        snprintf(title, sizeof title, "%s", known->task->many);
        *title = (char)toupper((unsigned char)*title);
        card_begin(h, title);
        html_printf(h, "%d</div><div class=\"card-note\">", known->data.outputs);
        html_count(h, (double)known->data.images);
        html_printf(h, " training images of %d × %d", known->settings.model.image[0],
                    known->settings.model.image[1]);
        card_end(h);
    }
    card_begin(h, "Training time");
    html_seconds(h, seconds);
    html_put(h, "</div><div class=\"card-note\">all runs together, evaluation included");
    card_end(h);
    html_put(h, "</div>\n");
}

/* ---- dots ------------------------------------------------------------------------------------ */

/* One line for each setup with a dot for each seed and a bar at their mean, on one scale. */
static void put_strip(html *h, const report *r)
{
    const task_metric *m = report_metric(r);
    char text[METRIC_TEXT];
    double low = INFINITY, high = 0;
    for (int i = 0; i < r->run_count; i++) {
        const double x = run_last_score(&r->runs[i]);
        if (r->runs[i].state != REPORT_FINISHED || isnan(x)) continue;
        low = fmin(low, x);
        high = fmax(high, x);
    }
    if (!(high > low)) return;
    char unit[REPORT_UNIT];
    snprintf(unit, sizeof unit, "%s%s", *m->unit ? " " : "", m->unit);
    const int digits = m->digits > 0 ? m->digits - 1 : 0;
    char name[TASK_TITLE];
    snprintf(name, sizeof name, "%s", m->name);
    *name = (char)toupper((unsigned char)*name);
    const double margin = 0.06 * (high - low);
    low = fmax(0, low - margin);
    high += margin;
    html_printf(
        h, "<figure class=\"strip\" aria-label=\"%s of the last epoch, a dot for each run\">\n",
        name);
    for (int g = 0; g < r->group_count; g++) {
        const spread s = report_spread(r, g, run_last_score);
        if (!s.n) continue;
        html_put(h, "<div class=\"strip-name\">");
        html_text(h, r->groups[g].label);
        html_put(h, "</div><div class=\"strip-track\">");
        html_printf(h, "<span class=\"strip-mean b%d\" style=\"left:%.2f%%\"></span>", g % 8,
                    100 * (s.mean - low) / (high - low));
        for (int i = 0; i < r->run_count; i++) {
            const double x = run_last_score(&r->runs[i]);
            if (r->runs[i].group != g || r->runs[i].state != REPORT_FINISHED || isnan(x)) continue;
            html_printf(h, "<span class=\"strip-dot b%d\" style=\"left:%.2f%%\" title=\"", g % 8,
                        100 * (x - low) / (high - low));
            html_text(h, r->runs[i].name);
            html_printf(h, ": %s\"></span>", metric_text(m, x, text));
        }
        html_put(h, "</div>\n");
    }
    html_printf(h,
                "<div></div><div class=\"strip-scale\"><span>%.*f%s</span><span>%.*f%s</span>"
                "</div>\n<figcaption>%s of the last epoch: a dot for each run, a bar at "
                "their mean.</figcaption></figure>\n",
                digits, m->scale * low, unit, digits, m->scale * high, unit, name);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int any(const report *r, double (*get)(const report_run *run))
{
    for (int i = 0; i < r->run_count; i++)
        if (!isnan(get(&r->runs[i]))) return 1;
    return 0;
}

/* The sentence that says on which images the accuracies of epochs were measured. */
static const char *epochs_of(const report *r)
{
    int kinds = 0;
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].last) kinds |= r->runs[i].last->validation ? 2 : 1;
    return kinds == 3 ? "Accuracies of epochs are of validation images where a run has them, else "
                        "of test images."
           : kinds == 2 ? "Accuracies of epochs are of validation images."
                        : "Accuracies of epochs are of test images.";
}

/* The number of runs that a setup's means are over: repeats of a seed do not count. */
static void put_run_count(html *h, const report *r, int group)
{
    int count = 0, finished = 0;
    for (int i = 0; i < r->run_count; i++) {
        if (r->runs[i].group != group || report_is_repeat(r, i)) continue;
        count++;
        finished += r->runs[i].state == REPORT_FINISHED;
    }
    if (finished == count)
        html_printf(h, "<td>%d</td>", count);
    else
        html_printf(h, "<td>%d of %d</td>", finished, count);
}

static void put_setups(html *h, const report *r)
{
    const int tested = any(r, run_test_score), second = any(r, run_second_metric);
    const task_metric *m = report_metric(r);
    char axis[TASK_TITLE], unit[REPORT_UNIT];
    report_unit(r, unit);
    html_put(h, "<h3>Setups</h3>\n<div class=\"scroll\"><table id=\"setups\"><caption>Mean and "
                "standard deviation (n − 1) over finished runs that differ only by their seed"
                "</caption><thead><tr><th scope=\"col\">setup</th><th scope=\"col\">runs</th>");
    html_printf(h, "<th scope=\"col\">last epoch%s</th><th scope=\"col\">best epoch%s</th>", unit,
                unit);
    if (tested) html_printf(h, "<th scope=\"col\">test%s</th>", unit);
    if (second) html_printf(h, "<th scope=\"col\">%s</th>", metric_axis(&m[1], axis));
    html_put(h, "<th scope=\"col\">parameters</th><th scope=\"col\">time</th><th scope=\"col\">"
                "images/s</th></tr></thead><tbody>\n");
    for (int g = 0; g < r->group_count; g++) {
        const report_group *group = &r->groups[g];
        int count;
        const int is_best = best_group(r, g, &count) == g;
        html_printf(h, "<tr data-group=\"%d\"%s><th scope=\"row\">", g,
                    is_best && count > 1 ? " class=\"best\"" : "");
        put_group_swatch(h, r, g);
        html_text(h, group->label);
        html_put(h, "</th>");
        put_run_count(h, r, g);
        put_spread_cell(h, report_spread(r, g, run_last_score), m->scale, m->digits);
        put_spread_cell(h, report_spread(r, g, run_best_score), m->scale, m->digits);
        if (tested) put_spread_cell(h, report_spread(r, g, run_test_score), m->scale, m->digits);
        if (second)
            put_spread_cell(h, report_spread(r, g, run_second_metric), m[1].scale, m[1].digits);
        html_put(h, "<td>");
        if (r->runs[group->first].known)
            html_count(h, (double)r->runs[group->first].parameters);
        else
            html_put(h, "–");
        html_put(h, "</td><td>");
        html_seconds(h, report_spread(r, g, run_seconds).mean);
        html_put(h, "</td>");
        put_spread_cell(h, report_spread(r, g, run_speed), 1, 0);
        html_put(h, "</tr>\n");
    }
    html_put(h, "</tbody></table></div>\n");
}

static void put_number(html *h, const metric *m, double value)
{
    if (!m || !isfinite(value))
        html_put(h, "<td>–</td>");
    else
        html_printf(h, value < 1e4 ? "<td>%.4f</td>" : "<td>%.3g</td>", value); /* diverged */
}

static void put_run(html *h, const report *r, int i, int tested)
{
    static const char *const classes[] = {"good", "busy", "warn", "warn", "bad", "bad"};
    const report_run *run = &r->runs[i];
    const report_evaluation *e = &run->evaluation;
    html_printf(h, "<tr data-run=\"%d\"><th scope=\"row\">", i);
    put_run_swatch(h, r, i);
    html_name(h, run->name);
    html_printf(h, "</th><td><span class=\"state %s\">%s</span></td><td>", classes[run->state],
                report_state_name(run->state));
    const char *seed = report_run_value(run, "seed");
    html_text(h, seed ? seed : "–");
    if (run->known)
        html_printf(h, "</td><td>%ld/%ld</td>", run->done, run->epochs);
    else
        html_put(h, "</td><td>–</td>");
    put_metric_cell(h, r, run_last_score(run));
    html_put(h, "<td>");
    put_metric(h, r, run_best_score(run));
    if (run->best) html_printf(h, " <span class=\"pm\">(%.0f)</span>", run->best->epoch);
    html_put(h, "</td>");
    if (tested) {
        put_metric_cell(h, r, run_test_score(run));
        put_number(h, run->last, e->done ? e->result.loss : NAN);
    }
    put_number(h, run->last, run->last ? run->last->loss : NAN);
    put_number(h, run->last, run->last ? run->last->test_loss : NAN);
    html_put(h, "<td>");
    html_seconds(h, run_seconds(run));
    html_put(h, "</td><td>");
    if (isnan(run_speed(run)))
        html_put(h, "–");
    else
        html_printf(h, "%.0f", run_speed(run));
    html_put(h, "</td></tr>\n");
}

static void put_runs(html *h, const report *r)
{
    const int tested = any(r, run_test_score);
    char unit[REPORT_UNIT];
    report_unit(r, unit);
    html_put(h, "<h3>Runs</h3>\n<div class=\"scroll\"><table id=\"runs\"><caption>Each run by "
                "itself; losses are of the last epoch, that of evaluation on the images that the "
                "epochs are compared by</caption><thead><tr><th scope=\"col\">run"
                "</th><th scope=\"col\">state</th><th scope=\"col\">seed</th><th scope=\"col\">"
                "epochs</th>");
    html_printf(h, "<th scope=\"col\">last epoch%s</th><th scope=\"col\">best epoch%s</th>", unit,
                unit);
    if (tested)
        html_printf(h, "<th scope=\"col\">test%s</th><th scope=\"col\">test loss</th>", unit);
    html_put(h, "<th scope=\"col\">training loss</th><th scope=\"col\">evaluation loss</th>"
                "<th scope=\"col\">time</th><th scope=\"col\">images/s</th></tr></thead><tbody>\n");
    for (int i = 0; i < r->run_count; i++) put_run(h, r, i, tested);
    html_put(h, "</tbody></table></div>\n");
}

static void put_errors(html *h, const report *r)
{
    for (int i = 0; i < r->run_count; i++) {
        const report_run *run = &r->runs[i];
        if (!*run->why.line) continue;
        html_printf(h, "<p class=\"missing\"><strong>%s</strong> ",
                    run->state == REPORT_FAILED ? "Failed" : "Cannot be read");
        html_name(h, run->name);
        html_put(h, ": ");
        html_text(h, run->why.line);
        html_put(h, "</p>\n");
    }
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    char note[LOSS_NOTE];
    (void)error;
    /* setups on different data sets are not compared */
    put_cards(h, r, report_key_differs(r, "data") ? -1 : best_group(r, 0, NULL));
    put_errors(h, r);
    put_strip(h, r);
    put_setups(h, r);
    put_runs(h, r);
    html_printf(h,
                "<p class=\"note\">%s Best epochs are chosen by the same images, and are a "
                "little too high where these are the test images.",
                epochs_of(r));
    if (any(r, run_test_score))
        html_put(h, " The columns of the test were evaluated for this report, with the weights of "
                    "the last epoch.");
    if (report_loss_note(r, note)) html_printf(h, " %s", note);
    html_put(h, " Time is that of training and evaluation; images/s are the median over epochs, "
                "and are comparable only on an idle machine.</p>\n");
    return SSM2D_OK;
}

const section section_results = {"results", "Results", NULL, write};
