/* Operators: where the time of a training step goes, measured while the report is made. */
#include "report/section.h"

#include "core/arith.h"
#include "core/status.h"

enum { MAX_BATCH = 64 };

static int has(const report *r)
{
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].known) return 1;
    return 0;
}

static const report_run *run_of(const report *r, int group)
{
    return &r->runs[r->groups[group].first];
}

/* The first group with the same model: its time stands for all of them. */
static int same_model(const report *r, int group)
{
    for (int g = 0; g < group; g++)
        if (run_of(r, g)->known
            && model_config_same(&run_of(r, g)->settings.model, &run_of(r, group)->settings.model))
            return g;
    return group;
}

static int is_measured(const report *r, int group)
{
    return run_of(r, group)->known && same_model(r, group) == group;
}

static void put_table(html *h, const report_operator *ops, int count, int batch)
{
    double total = 0;
    for (int i = 0; i < count; i++) total += ops[i].forward + ops[i].backward;
    html_printf(h,
                "<div class=\"scroll\"><table class=\"operators\"><caption>One training step of %d "
                "images: %.1f ms, %.0f images/s</caption><thead><tr><th scope=\"col\">operator</th>"
                "<th scope=\"col\">nodes</th><th scope=\"col\">forward, ms</th><th scope=\"col\">"
                "backward, ms</th><th scope=\"col\">part, %%</th></tr></thead><tbody>\n",
                batch, total, total > 0 ? 1e3 * batch / total : 0);
    for (int i = 0; i < count; i++) {
        const double share = total > 0 ? (ops[i].forward + ops[i].backward) / total : 0;
        html_put(h, "<tr><th scope=\"row\"><code>");
        html_text(h, ops[i].name);
        html_printf(h,
                    "</code></th><td>%d</td><td>%.2f</td><td>%.2f</td><td class=\"bar\" "
                    "style=\"--p:%.3f\">%.1f</td></tr>\n",
                    ops[i].nodes, ops[i].forward, ops[i].backward, share, 100 * share);
    }
    html_put(h, "</tbody></table></div>\n");
}

static ssm2d_status put_group(const report *r, html *h, int group, ssm2d_error *error)
{
    const report_run *run = run_of(r, group);
    const report_hooks *hooks = &r->options->hooks;
    const int batch = min_int(run->settings.options.batch, MAX_BATCH);
    report_operator ops[REPORT_OPERATORS];
    ssm2d_error why;
    int count = 0;
    if (hooks->progress) hooks->progress(hooks->user, "timing operators", run->name, 0, 1);
    const ssm2d_status status = hooks->measure(hooks->user, r->context, &run->settings.model,
                                               (size_t)batch, ops, &count, &why);
    if (status == SSM2D_ERROR_MEMORY) return fail(error, status, "%s", why.line);
    if (status)
        put_missing(h, run->name, why.line);
    else
        put_table(h, ops, count, batch);
    return SSM2D_OK;
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    if (r->options->no_measure || !r->options->hooks.measure) {
        put_missing(h, NULL, "the time per operator was left out by --no-measure");
        return SSM2D_OK;
    }
    pick_begin(h, "operators", "Model of setup");
    for (int g = 0; g < r->group_count; g++)
        if (is_measured(r, g)) pick_option(h, g, r->groups[g].label);
    pick_options_end(h);
    for (int g = 0; g < r->group_count && !status; g++) {
        if (!is_measured(r, g)) continue;
        pick_panel(h, "operators", g, r->groups[g].label);
        status = put_group(r, h, g, error);
        html_put(h, "</div>\n");
    }
    html_printf(h,
                "<p class=\"note\">Measured when this report was made, on random images and "
                "weights, with the threads named below under Environment; the batch is the run’s, "
                "but at most %d. Backward includes what is recomputed for it.</p>\n",
                MAX_BATCH);
    return status;
}

const section section_operators = {"operators", "Time per operator", has, write};
