/* section - the sections of a report, one file each; report.c lists them in the order of the
 * page. */
#ifndef SSM2D_REPORT_SECTION_H
#define SSM2D_REPORT_SECTION_H

#include "report/html.h"
#include "report/report.h"
#include "report/report_groups.h"

typedef struct section {
    const char *id, *title;
    /* Whether the section is shown; NULL: if there is a panel, or always without panels. */
    int (*has)(const report *r);
    /* Writes the section below its heading. Fails only when out of memory: other problems are
     * reported in the page. Failures to write are kept by h. */
    ssm2d_status (*write)(const report *r, html *h, ssm2d_error *error);
    /* For a section with panels: the title of a group's panel; NULL: the group has none. */
    const char *(*panel)(const report *r, int group);
    int for_tasks; /* left out unless the task of a run names it */
} section;

extern const section section_results, section_curves, section_confusion, section_classes,
    section_wrong, section_kernels, section_fields, section_operators, section_settings,
    section_environment;

extern const char asset_css[], asset_js[], asset_curves_js[]; /* page.css, page.js, .. */

/* ---- shared by sections (section_parts.c) ---------------------------------------------------- */

/* Starts the row of a table: its first cell is a heading. */
void put_row_head(html *h, const char *text);

/* Writes a sample of a run's line in the curves, or of a group's. */
void put_run_swatch(html *h, const report *r, int run);
void put_group_swatch(html *h, const report *r, int group);
/* The colour of a run or a group, 0 to 7, and the dashes of its line, 0 to 3. */
void run_style(const report *r, int run, int *hue, int *dash);
void group_style(int group, int *hue, int *dash);

/* Writes a value of the metric without its unit, or a dash if it is NaN. */
void put_metric(html *h, const report *r, double value);
/* Writes mean ± deviation, times `scale`; without the deviation if there is none. */
void put_spread(html *h, spread s, double scale, int digits);
/* The same as cells of a table. */
void put_metric_cell(html *h, const report *r, double value);
void put_spread_cell(html *h, spread s, double scale, int digits);

/* Writes a paragraph that says what is missing, and why; subject may be NULL. */
void put_missing(html *h, const char *subject, const char *why);

/* Writes the section's panels, and a labelled choice between them: the page shows one of them, or
 * all without scripts. */
ssm2d_status put_panels(const report *r, html *h, const section *s, const char *label,
                        ssm2d_status (*put)(const report *r, html *h, int group,
                                            ssm2d_error *error),
                        ssm2d_error *error);

/* Handles the failure of a part of a section: out of memory fails the report; other failures are
 * reported in the page. */
ssm2d_status put_failure(html *h, const report_run *run, ssm2d_status status,
                         const ssm2d_error *why, ssm2d_error *error);

/* Whether the settings of any run were read. */
int any_known(const report *r);
/* The metric that the page is about: the first of the first run's task. */
const task_metric *report_metric(const report *r);
/* Its unit as it follows a word in the head of a column, ", %" or "", to text. */
enum { REPORT_UNIT = 16 };
const char *report_unit(const report *r, char text[REPORT_UNIT]);
/* The kind of the evaluated images: "test", "validation", or "test or validation". */
const char *evaluated_images(const report *r);
/* Writes one line for each run that could not be evaluated, with the reason. */
void put_not_evaluated(html *h, const report *r);

#endif
