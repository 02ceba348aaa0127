/* section - the sections of a report, each a file of its own; sections.c lists them in the order of
 * the page. */
#ifndef SSM2D_REPORT_SECTION_H
#define SSM2D_REPORT_SECTION_H

#include "report/html.h"
#include "report/report.h"
#include "report/report_groups.h"

typedef struct section {
    const char *id, *title;
    /* Whether there is anything to say; NULL: always. */
    int (*has)(const report *r);
    /* Writes the section below its heading. Fails for want of memory alone: what else stands in the
     * way is said in the page. Failures to write are kept by h. */
    ssm2d_status (*write)(const report *r, html *h, ssm2d_error *error);
} section;

extern const section section_results, section_curves, section_confusion, section_classes,
    section_wrong, section_kernels, section_fields, section_operators, section_settings,
    section_environment;

const section *section_at(int i); /* NULL past the last */

/* ---- what sections share (section_parts.c) --------------------------------------------------- */

/* Writes a sample of a run's line in the curves, or of a group's. */
void put_run_swatch(html *h, const report *r, int run);
void put_group_swatch(html *h, const report *r, int group);
/* The colour of a run or of a group, 0 to 7, and the dashes of its line, 0 to 3. */
void run_style(const report *r, int run, int *hue, int *dash);
void group_style(int group, int *hue, int *dash);

/* Writes a percentage of a share, or a dash when it is NaN. */
void put_percent(html *h, double share);
/* Writes mean ± deviation, times `scale`; the deviation only where there is one. */
void put_spread(html *h, spread s, double scale, int digits);

/* Writes a paragraph that says what is missing, and why; subject may be NULL. */
void put_missing(html *h, const char *subject, const char *why);

/* A choice between panels, one of which the page shows; without scripts all are shown. Call
 * pick_begin, then pick_option for each, pick_options_end, and pick_panel before each panel's
 * contents, `</div>` after them. */
void pick_begin(html *h, const char *id, const char *label);
void pick_option(html *h, int index, const char *text);
void pick_options_end(html *h);
void pick_panel(html *h, const char *id, int index, const char *title);

/* Whether any run of a group (-1: any run at all) was evaluated, and has labels of this kind. */
int group_evaluated(const report *r, int group, label_kind labels);
/* What the evaluated images of all runs are: "test", "validation", or "test or validation". */
const char *evaluated_images(const report *r);
/* Writes one line for each run that could not be evaluated, with the reason. */
void put_not_evaluated(html *h, const report *r);

#endif
