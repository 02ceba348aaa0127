/* section - the sections of a report, each a file of its own; sections.c lists them in the order of
 * the page. */
#ifndef SSM2D_REPORT_SECTION_H
#define SSM2D_REPORT_SECTION_H

#include "report/html.h"
#include "report/report.h"
#include "report/report_groups.h"

typedef struct section {
    const char *id, *title;
    /* Whether the section is shown; NULL: always. A section for tasks is also left out when no
     * run's task names it. */
    int (*has)(const report *r);
    /* Writes the section below its heading. Fails only when out of memory: other problems are
     * reported in the page. Failures to write are kept by h. */
    ssm2d_status (*write)(const report *r, html *h, ssm2d_error *error);
    int for_tasks;
} section;

extern const section section_results, section_curves, section_confusion, section_classes,
    section_wrong, section_kernels, section_fields, section_operators, section_settings,
    section_environment;

const section *section_at(int i); /* NULL past the last */

/* ---- what sections share (section_parts.c) --------------------------------------------------- */

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

/* Writes a paragraph that says what is missing, and why; subject may be NULL. */
void put_missing(html *h, const char *subject, const char *why);

/* Writes a panel for each group that has a title, and a choice between them: the page shows one, or
 * all without scripts. title returns NULL for a group without a panel. */
ssm2d_status put_panels(const report *r, html *h, const char *id, const char *label,
                        const char *(*title)(const report *r, int group),
                        ssm2d_status (*put)(const report *r, html *h, int group,
                                            ssm2d_error *error),
                        ssm2d_error *error);

/* Handles the failure of a part of a section: out of memory fails the report; other failures are
 * reported in the page. */
ssm2d_status put_failure(html *h, const report_run *run, ssm2d_status status,
                         const ssm2d_error *why, ssm2d_error *error);

/* Whether the settings of any run were read. */
int any_known(const report *r);
/* The run that stands for a group. */
const report_run *group_run(const report *r, int group);
/* Whether any run of a group (-1: any run at all) was evaluated and has a confusion matrix. */
int group_has_confusion(const report *r, int group);
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
