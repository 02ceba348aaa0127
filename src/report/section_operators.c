/* Operators: the time of each operator in a training step, measured while the report is made. */
#include "report/section.h"

#include "core/arith.h"

enum { MAX_BATCH = 64 };

/* The first group with the same model, whose time is shown for all of them. */
static int same_model(const report *r, int group)
{
    for (int g = 0; g < group; g++)
        if (group_run(r, g)->known
            && model_config_same(&group_run(r, g)->settings.model,
                                 &group_run(r, group)->settings.model))
            return g;
    return group;
}

static const char *panel(const report *r, int group)
{
    const int is_measured = group_run(r, group)->known && same_model(r, group) == group;
    return is_measured ? r->groups[group].label : NULL;
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
    const report_run *run = group_run(r, group);
    const report_hooks *hooks = &r->options->hooks;
    const int batch = min_int(run->settings.options.batch, MAX_BATCH);
    report_operator ops[REPORT_OPERATORS];
    ssm2d_error why;
    int count = 0;
    if (hooks->progress) hooks->progress(hooks->user, "timing operators", run->name, 0, 1);
    const ssm2d_status status = hooks->measure(hooks->user, r->context, &run->settings.model,
                                               (size_t)batch, ops, &count, &why);
    if (!status) put_table(h, ops, count, batch);
    return put_failure(h, run, status, &why, error);
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    if (r->options->no_measure || !r->options->hooks.measure) {
        put_missing(h, NULL, "the time per operator was left out by --no-measure");
        return SSM2D_OK;
    }
    const ssm2d_status status =
        put_panels(r, h, &section_operators, "Model of setup", put_group, error);
    html_printf(h,
                "<p class=\"note\">Measured when this report was made, on random images and "
                "weights, with the threads named below under Environment; the batch is the run’s, "
                "but at most %d. Backward includes what is recomputed for it.</p>\n",
                MAX_BATCH);
    return status;
}

const section section_operators = {"operators", "Time per operator", NULL, write, panel};
