/* Settings: every setting of every setup, and those that differ highlighted. */
#include "report/section.h"

#include <string.h>

static int has(const report *r) { return r->key_count > 0; }

/* Whether an earlier run of the group has the same value. */
static int is_repeated(const report *r, int run, const char *key)
{
    const char *value = report_run_value(&r->runs[run], key);
    for (int i = 0; i < run; i++) {
        const char *other = report_run_value(&r->runs[i], key);
        if (r->runs[i].group == r->runs[run].group && other && !strcmp(value, other)) return 1;
    }
    return 0;
}

/* The values of a group's runs, each once. */
static void put_cell(html *h, const report *r, int group, const char *key)
{
    int count = 0;
    html_put(h, "<td class=\"word\">");
    for (int i = 0; i < r->run_count; i++) {
        const char *value = r->runs[i].group == group ? report_run_value(&r->runs[i], key) : NULL;
        if (!value || is_repeated(r, i, key)) continue;
        if (count++) html_put(h, ", ");
        html_text(h, value);
    }
    html_put(h, count ? "</td>" : "–</td>");
}

static void put_names(html *h, const report *r, int group)
{
    int count = 0;
    html_put(h, "<td class=\"word\">");
    for (int i = 0; i < r->run_count; i++) {
        if (r->runs[i].group != group) continue;
        if (count++) html_put(h, "<br>");
        html_name(h, r->runs[i].name);
    }
    html_put(h, "</td>");
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    (void)error;
    int differ = 0;
    for (int k = 0; k < r->key_count; k++) differ += report_key_differs(r, r->keys[k]);
    if (differ)
        html_printf(
            h,
            "<p class=\"pick\"><label><input type=\"checkbox\" data-only-diff checked> only "
            "the %d setting%s that differ%s</label></p>\n",
            differ, differ == 1 ? "" : "s", differ == 1 ? "s" : "");
    html_put(h, "<div class=\"scroll tall\"><table id=\"settings\"><caption>Settings");
    html_put(h, differ ? "; those that differ are marked" : "; the same in all runs");
    html_put(h, "</caption><thead><tr><th scope=\"col\">setting</th>");
    for (int g = 0; g < r->group_count; g++) {
        if (!group_run(r, g)->known) continue;
        html_put(h, "<th scope=\"col\" class=\"word\">");
        html_text(h, r->groups[g].label);
        html_put(h, "</th>");
    }
    html_put(h, "</tr></thead><tbody>\n<tr><th scope=\"row\">runs</th>");
    for (int g = 0; g < r->group_count; g++)
        if (group_run(r, g)->known) put_names(h, r, g);
    html_put(h, "</tr>\n");
    for (int k = 0; k < r->key_count; k++) {
        html_printf(h, "<tr class=\"%s\"><th scope=\"row\"><code>",
                    report_key_differs(r, r->keys[k]) ? "diff" : "same");
        html_text(h, r->keys[k]);
        html_put(h, "</code></th>");
        for (int g = 0; g < r->group_count; g++)
            if (group_run(r, g)->known) put_cell(h, r, g, r->keys[k]);
        html_put(h, "</tr>\n");
    }
    html_put(h, "</tbody></table></div>\n");
    return SSM2D_OK;
}

const section section_settings = {"settings", "Settings", has, write};
