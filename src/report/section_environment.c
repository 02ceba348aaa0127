/* Environment: the machine and the build that made the report. Run folders do not record theirs. */
#include "report/section.h"

#include "core/context.h"
#include "core/processors.h"
#include "io/image.h"

#include <cairo.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum { TEXT = 256 };

/* The first "model name" of /proc/cpuinfo, or the machine's kind. */
static void processor_name(const struct utsname *system, char text[TEXT])
{
    char line[TEXT];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(text, TEXT, "%s", system->machine);
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(text, TEXT, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (f) fclose(f);
}

static void put_row(html *h, const char *name, const char *value)
{
    html_printf(h, "<tr><th scope=\"row\">%s</th><td class=\"word\">", name);
    html_text(h, value);
    html_put(h, "</td></tr>\n");
}

static ssm2d_status write(const report *r, html *h, ssm2d_error *error)
{
    (void)error;
    struct utsname system = {.machine = "unknown"};
    char text[TEXT + 128], name[TEXT];
    uname(&system);
    processor_name(&system, name);
    html_put(h, "<div class=\"scroll\"><table id=\"environment\"><caption>The machine and the "
                "program that made this report</caption><tbody>\n");
    put_row(h, "ssm2d", ssm2d_version());
    put_row(h, "processor", name);
    snprintf(text, sizeof text, "%d, of %d processors", ssm2d_context_threads(r->context),
             processors_available());
    put_row(h, "threads", text);
    put_row(h, "instruction set", cpu_names[r->context->cpu]);
    snprintf(text, sizeof text, "%s %s, %s", system.sysname, system.release, system.machine);
    put_row(h, "system", text);
    put_row(h, "compiler", __VERSION__);
    snprintf(text, sizeof text, "cairo %s, cJSON %s", cairo_version_string(), cJSON_Version());
    put_row(h, "packages", text);
    put_row(h, "reads", image_kinds());
    html_put(h, "</tbody></table></div>\n<p class=\"note\">As found when the report was made: the "
                "folder of a run does not say where it was trained. Times and images/s of the runs "
                "are those of their own machines.</p>\n");
    return SSM2D_OK;
}

const section section_environment = {"environment", "Environment", NULL, write};
