/* reproduce_table - the results of an experiment: OUT/NAME.md, .csv and .json, and its pictures. */
#ifndef SSM2D_TOOLS_REPRODUCE_TABLE_H
#define SSM2D_TOOLS_REPRODUCE_TABLE_H

#include "reproduce_result.h"

/* Mean and standard deviation over seeds, in percent. */
typedef struct cell_summary {
    int n, failed;         /* runs that are done, and that failed */
    double mean, std;      /* of the last epoch; std is NAN for n < 2, both for n = 0 */
    double best, best_std; /* of the best epoch; for accuracies alone */
    double images_per_s;   /* the mean */
    double parameters;     /* 0: not known */
    double bytes;          /* of a training step; 0: not known */
    double time; /* of training, as a multiple of the plain row's in this column; NAN: not known */
} cell_summary;

typedef struct row_summary {
    cell_summary cells[EXPERIMENT_COLUMNS];
    double time;              /* of training, as a multiple of the plain row's; NAN: not known */
    double parameters, bytes; /* of the first column that has a run; 0: not known */
    double delta;             /* of pairs of columns; NAN: not known */
    int is_shown;             /* a cell of it is chosen, or has results */
} row_summary;

typedef struct table {
    const plan *plan;
    run_state *states; /* [plan.all] */
    run_result *results;
    row_summary rows[EXPERIMENT_ROWS];
    int is_shown[EXPERIMENT_COLUMNS]; /* a cell of the column is chosen, or has results */
    int runs, done, failed;           /* of the cells that are shown */
} table;

/* Reads the existing results. The caller destroys it. */
ssm2d_status table_create(const plan *p, table *t, ssm2d_error *error);
void table_destroy(table *t);

/* The heading of a column and the label of a row, with the data that replace the paper's: "C100
 * (fashion-mnist)". Both return text. */
enum { TABLE_LABEL = 96 };
const char *table_column_label(const plan *p, int column, char text[TABLE_LABEL]);
const char *table_row_label(const plan *p, int row, char text[TABLE_LABEL]);
/* What a run of a cell has reached, in percent; NAN without a result. */
double table_value(const table *t, int seed, int row, int column);
/* The mean over seeds of what a cell has reached at this size, in percent, and its standard
 * deviation; NAN without a result. */
double table_at_size(const table *t, int row, int column, int size, double *deviation);
/* Whether the table has train times: not at scale tiny, whose models are too small for them. */
int table_has_times(const plan *p);

/* Each file appears complete or not at all. */
ssm2d_status table_write_markdown(const table *t, const char *path, ssm2d_error *error);
ssm2d_status table_write_csv(const table *t, const char *path, ssm2d_error *error);
ssm2d_status table_write_json(const table *t, const char *path, ssm2d_error *error);

/* Prints what differs from the paper, and which data are missing or replaced. */
void table_print_notes(FILE *out, const plan *p);

/* Draws the experiment's picture of the existing results: OUT/NAME.png, .svg and .pdf. */
ssm2d_status reproduce_draw(ssm2d_context *context, const table *t, ssm2d_error *error);
/* Whether the picture exists; it does not before there are results to show. */
int reproduce_is_drawn(const plan *p);

#endif
