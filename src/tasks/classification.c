/* classification - each image belongs to one of several classes. Outputs are logits, one per class;
 * a target is 1 for the image's class and 0 for the others, then smoothed:
 *
 *     (1 - e) t + e / classes */
#include "core/arith.h"
#include "io/text.h"
#include "tasks/label_tables.h"

enum { USUAL = 3, TOP = 5 }; /* default number of classes that are printed; k of top-k */
enum { CORRECT, IN_TOP, PAIR, VALUES };

static int suits(const dataset_info *data) { return data->labels == LABEL_CLASS; }

static void make_target(const target_format *f, target_image *image, float *target)
{
    (void)image;
    label_smooth(f, f->smoothing / (double)f->elements, target);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static int metric_count(int classes) { return classes > TOP ? 2 : 1; }

/* Whether the class is among the k likeliest; among equal logits the first counts as largest. */
static int in_top(const float *out, int class, int classes, int k)
{
    int before = 0;
    for (int c = 0; c < classes; c++)
        before += out[c] > out[class] || (c < class && !(out[c] < out[class]));
    return before < k;
}

static void judge(const float *out, const float *target, const task_shape *shape,
                  double values[TASK_VALUES])
{
    const int classes = shape->outputs;
    const int truth = largest_index(target, classes), predicted = largest_index(out, classes);
    values[CORRECT] = truth == predicted;
    values[IN_TOP] = in_top(out, truth, classes, TOP);
    values[PAIR] = (double)truth * classes + predicted + 1; /* 0: there is no image */
}

static void count(const float *out, const float *target, const task_shape *shape, size_t *counts)
{
    const int classes = shape->outputs;
    const label_counts c = label_counts_of(counts, classes);
    const int truth = largest_index(target, classes), predicted = largest_index(out, classes);
    c.images[truth]++;
    c.predicted[predicted]++;
    c.hits[truth] += truth == predicted;
}

static int pair(const task_detail *d, size_t place, int *truth, int *predicted)
{
    const double code = d->values[place * VALUES + PAIR];
    if (!(code > 0)) return 0;
    const size_t both = (size_t)code - 1, classes = (size_t)d->shape.outputs;
    *truth = (int)(both / classes);
    *predicted = (int)(both % classes);
    return 1;
}

static int mistake(loss_kind loss, const float *out, const float *target, const task_shape *shape,
                   double *scratch, task_mistake *m)
{
    const int classes = shape->outputs;
    m->truth = largest_index(target, classes);
    m->predicted = largest_index(out, classes);
    loss_at(loss)->activate(out, shape, scratch);
    m->probability = scratch[m->predicted];
    m->of_truth = scratch[m->truth];
    return m->truth != m->predicted;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_table(const task_detail *d, const char *const *names, FILE *to)
{
    const label_counts c = label_counts_of(d->counts, d->shape.outputs);
    fprintf(to, "  images   recall  precision  class\n");
    for (int i = 0; i < d->shape.outputs; i++) {
        const label_rates rates = label_rates_of(d, i);
        fprintf(to, "  %6zu", c.images[i]);
        label_print_rate(to, rates.recall);
        label_print_rate(to, rates.precision);
        fprintf(to, "    ");
        text_print(to, names[i]);
        fputc('\n', to);
    }
}

static int table_to_json(const task_detail *d, const char *const *names, cJSON *to)
{
    return label_table_to_json(d, names, "classes", 0, to);
}

/* ---- predictions ----------------------------------------------------------------------------- */

static int shown(const task_outputs *o, int top) { return min_int(top ? top : USUAL, o->count); }

static void print(const task_prediction *p, FILE *to)
{
    label_print_likeliest(p, shown(p->outputs, p->top), to);
}

static int to_json(const task_prediction *p, cJSON *to)
{
    return label_likeliest_to_json(p, shown(p->outputs, p->top), "classes", 0, to);
}

static void print_csv_head(const task_outputs *o, int top, FILE *to)
{
    const int columns = shown(o, top);
    for (int i = 1; i <= columns; i++) fprintf(to, ",class_%d,probability_%d", i, i);
}

static void print_csv(const task_prediction *p, FILE *to)
{
    const int top = shown(p->outputs, p->top);
    for (int i = 0; i < top; i++) {
        double probability;
        const int c = label_next(p, &probability);
        fputc(',', to);
        csv_text(to, p->outputs->names[c]);
        fprintf(to, ",%.6f", probability);
    }
}

static const loss_kind losses[] = {LOSS_CROSS_ENTROPY, LOSS_BCE};
static const char *const sections[] = {"confusion", "classes", "wrong", NULL};

const task task_classification = {
    .name = "classification",
    .help = "one of several classes for each image",
    .accepts = suits,
    .suits = suits,
    .outputs = label_outputs,
    .one = "class",
    .many = "classes",
    .labels = "one class per image",
    .note_labels = "class",
    .source = TARGET_FROM_LABELS,
    .make_target = make_target,
    .smoothing = "smoothing",
    .losses = losses,
    .loss_count = 2,
    .metrics = {{"accuracy", "accuracy", "%", 100, 2, 0}, {"top5", "top-5", "%", 100, 2, 0}},
    .metric_count = metric_count,
    .judge = judge,
    .values = VALUES,
    .counts = label_count_size,
    .count = count,
    .print_table = print_table,
    .table_to_json = table_to_json,
    .pair = pair,
    .mistake = mistake,
    .sections = sections,
    .print = print,
    .to_json = to_json,
    .print_csv_head = print_csv_head,
    .print_csv = print_csv,
};
