/* attributes - multi-label classification: each image has any subset of several attributes. Outputs
 * are logits, one per attribute; a target is 1 for each attribute that the image has, else 0, then
 * smoothed:
 *
 *     (1 - e) t + e / 2 */
#include "core/arith.h"
#include "io/text.h"
#include "tasks/label_tables.h"

static int suits(const dataset_info *data) { return data->labels == LABEL_BINARY; }

static void make_target(const target_format *f, target_image *image, float *target)
{
    (void)image;
    label_smooth(f, f->smoothing / 2, target);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void title(int attributes, char text[TASK_TITLE])
{
    snprintf(text, TASK_TITLE, "mean accuracy over %d attributes", attributes);
}

static int decisions(const task_shape *shape) { return shape->outputs; }

static int is_right(const float *out, const float *target, int i)
{
    return (out[i] > 0) == (target[i] > 0.5f);
}

static void judge(const float *out, const float *target, const task_shape *shape,
                  double values[TASK_VALUES])
{
    values[0] = 0;
    for (int i = 0; i < shape->outputs; i++) values[0] += is_right(out, target, i);
}

static void count(const float *out, const float *target, const task_shape *shape, size_t *counts)
{
    const label_counts c = label_counts_of(counts, shape->outputs);
    for (int i = 0; i < shape->outputs; i++) {
        const int has = target[i] > 0.5f, predicted = out[i] > 0;
        c.images[i] += (size_t)has;
        c.predicted[i] += (size_t)predicted;
        c.hits[i] += (size_t)(has && predicted);
    }
}

static int mistake(loss_kind loss, const float *out, const float *target, const task_shape *shape,
                   double *scratch, task_mistake *m)
{
    (void)loss;
    (void)scratch;
    *m = (task_mistake){.predicted = -1};
    for (int i = 0; i < shape->outputs; i++) m->truth += !is_right(out, target, i);
    return m->truth > 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_table(const task_detail *d, const char *const *names, FILE *to)
{
    fprintf(to, "   have %%  accuracy   recall  precision  attribute\n");
    for (int i = 0; i < d->shape.outputs; i++) {
        const label_rates rates = label_rates_of(d, i);
        fprintf(to, "  %7.2f ", 100 * rates.have);
        label_print_rate(to, rates.accuracy);
        label_print_rate(to, rates.recall);
        label_print_rate(to, rates.precision);
        fprintf(to, "    ");
        text_print(to, names[i]);
        fputc('\n', to);
    }
}

static int table_to_json(const task_detail *d, const char *const *names, cJSON *to)
{
    return label_table_to_json(d, names, "attributes", 1, to);
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* Number of attributes to print: `top`, or by default those with a probability above one half. */
static int shown(const task_prediction *p)
{
    int count = 0;
    if (p->top) return min_int(p->top, p->outputs->count);
    for (int i = 0; i < p->outputs->count; i++) count += p->values[i] > 0.5;
    return count;
}

static void print(const task_prediction *p, FILE *to)
{
    const int top = shown(p);
    label_print_likeliest(p, top, to);
    if (!p->top)
        fprintf(to, "%s not the other %d of %d attributes", top ? ";" : "", p->outputs->count - top,
                p->outputs->count);
}

static int to_json(const task_prediction *p, cJSON *to)
{
    const int top = p->top ? min_int(p->top, p->outputs->count) : p->outputs->count;
    return label_likeliest_to_json(p, top, "attributes", 1, to);
}

/* All attributes have a column, in the order of the data. */
static void print_csv_head(const task_outputs *o, int top, FILE *to)
{
    (void)top;
    for (int i = 0; i < o->count; i++) {
        fputc(',', to);
        csv_text(to, o->names[i]);
    }
}

static void print_csv(const task_prediction *p, FILE *to)
{
    for (int i = 0; i < p->outputs->count; i++) fprintf(to, ",%.6f", p->values[i]);
}

static const loss_kind losses[] = {LOSS_BCE};
static const char *const sections[] = {"classes", "wrong", NULL};

const task task_attributes = {
    .name = "attributes",
    .help = "any of several attributes for each image (multi-label classification)",
    .accepts = suits,
    .suits = suits,
    .outputs = label_outputs,
    .one = "attribute",
    .many = "attributes",
    .labels = "binary labels",
    .file_labels = "binary",
    .note_labels = "binary",
    .source = TARGET_FROM_LABELS,
    .make_target = make_target,
    .smoothing = "binary_smoothing",
    .losses = losses,
    .loss_count = 1,
    .metrics = {{"accuracy", "accuracy", "%", 100, 2, 0}},
    .title = title,
    .decisions = decisions,
    .judge = judge,
    .values = 1,
    .counts = label_count_size,
    .count = count,
    .print_table = print_table,
    .table_to_json = table_to_json,
    .mistake = mistake,
    .sections = sections,
    .print = print,
    .to_json = to_json,
    .print_csv_head = print_csv_head,
    .print_csv = print_csv,
    .csv_has_all = 1,
};
