/* Environment: the machine and the build that made the report, and those that trained the runs. */
#include "report/section.h"

#include "core/status.h"
#include "io/image.h"
#include "train/machines.h"

#include <cairo.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const cJSON *machine, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(machine, key);
    return cJSON_IsString(value) ? value->valuestring : "";
}

static double number_of(const cJSON *machine, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(machine, key);
    return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

/* ---- of the report --------------------------------------------------------------------------- */

static void put_row(html *h, const char *name, const char *value)
{
    html_printf(h, "<tr><th scope=\"row\">%s</th><td class=\"word\">", name);
    html_text(h, value);
    html_put(h, "</td></tr>\n");
}

static void put_here(html *h, const cJSON *here)
{
    char text[128];
    html_put(h, "<div class=\"scroll\"><table id=\"environment\"><caption>The machine and the "
                "program that made this report</caption><tbody>\n");
    put_row(h, "ssm2d", text_of(here, "ssm2d"));
    put_row(h, "processor", text_of(here, "processor"));
    snprintf(text, sizeof text, "%.0f, of %.0f processors", number_of(here, "threads"),
             number_of(here, "processors"));
    put_row(h, "threads", text);
    put_row(h, "instruction set", text_of(here, "instruction_set"));
    put_row(h, "system", text_of(here, "system"));
    put_row(h, "compiler", text_of(here, "compiler"));
    snprintf(text, sizeof text, "cairo %s, cJSON %s", cairo_version_string(), cJSON_Version());
    put_row(h, "packages", text);
    put_row(h, "reads", image_kinds((char[IMAGE_LIST]){0}));
    html_put(h, "</tbody></table></div>\n");
}

/* ---- of the runs ----------------------------------------------------------------------------- */

static void put_cell(html *h, const char *text, int is_short)
{
    html_put(h, is_short ? "<td class=\"word short\">" : "<td class=\"word\">");
    html_text(h, text);
    html_put(h, "</td>");
}

/* "2026-11-18T00:52:43Z" as "2026-11-18 00:52:43", which may be broken into two lines. */
static void put_time(html *h, const char *text)
{
    char time[32];
    snprintf(time, sizeof time, "%s", text);
    if (strlen(text) == 20 && time[10] == 'T' && time[19] == 'Z') time[10] = ' ', time[19] = 0;
    put_cell(h, time, 0);
}

static void put_machine(html *h, const report *r, int run, const cJSON *machine)
{
    html_put(h, "<tr><th scope=\"row\">");
    put_run_swatch(h, r, run);
    html_name(h, r->runs[run].name);
    html_printf(h, "</th><td>%.0f</td><td>%.0f</td>", number_of(machine, "step"),
                number_of(machine, "starts"));
    put_time(h, text_of(machine, "started"));
    put_cell(h, text_of(machine, "processor"), 0);
    put_cell(h, text_of(machine, "instruction_set"), 1);
    html_printf(h, "<td>%.0f</td><td>%.0f</td>", number_of(machine, "processes"),
                number_of(machine, "threads"));
    put_cell(h, text_of(machine, "ssm2d"), 1);
    put_cell(h, text_of(machine, "system"), 0);
    html_put(h, "</tr>\n");
}

static void put_machines(html *h, const report *r)
{
    int known = 0;
    for (int i = 0; i < r->run_count; i++) known += r->runs[i].machines != NULL;
    if (known) {
        html_put(
            h,
            "<div class=\"scroll\"><table id=\"machines\"><caption>Where the runs were "
            "trained</caption><thead><tr><th scope=\"col\">run</th>"
            "<th scope=\"col\">from step</th><th scope=\"col\">starts</th>"
            "<th scope=\"col\" class=\"word\">first, UTC</th><th scope=\"col\" "
            "class=\"word\">processor</th>"
            "<th scope=\"col\" class=\"word\">instruction set</th><th scope=\"col\">processes</th>"
            "<th scope=\"col\">threads per process</th><th scope=\"col\" class=\"word\">ssm2d</th>"
            "<th scope=\"col\" class=\"word\">system</th></tr></thead><tbody>\n");
        for (int i = 0; i < r->run_count; i++) {
            const cJSON *machine;
            cJSON_ArrayForEach(machine, r->runs[i].machines) put_machine(h, r, i, machine);
        }
        html_put(h, "</tbody></table></div>\n");
    }
    if (known < r->run_count)
        html_printf(h,
                    "<p class=\"note\">%d of %d runs %s no <code>machines.json</code>, as those of "
                    "earlier versions.</p>\n",
                    r->run_count - known, r->run_count, r->run_count - known == 1 ? "has" : "have");
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    cJSON *here = machine_here(r->context, 1);
    if (!here) return fail_memory(error, "environment");
    put_here(h, here);
    put_machines(h, r);
    cJSON_Delete(here);
    return SSM2D_OK;
}

const section section_environment = {"environment", "Environment", NULL, write};
