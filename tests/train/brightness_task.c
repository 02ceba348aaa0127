/* brightness_task - a task as a newcomer would add it: how bright the top left quarter of an image
 * is, from 0 to 1. It has a target that is computed from pixels, its own head, and a metric whose
 * lower values are better. */
#include "models/blocks.h"
#include "ops/ops.h"
#include "tasks/task.h"

#include <math.h>

static int accepts(const dataset_info *data) { return data->channels == 1; }

static int suits(const dataset_info *data)
{
    (void)data;
    return 0; /* never the default task */
}

static task_outputs outputs_of(const dataset_info *data)
{
    (void)data;
    return (task_outputs){.count = 1};
}

static void make_target(const target_format *f, target_image *image, float *target)
{
    double sum = 0;
    (void)f;
    for (size_t y = 0; y < image->rows / 2; y++)
        for (size_t x = 0; x < image->cols / 2; x++)
            sum += (double)image->pixels[y * image->cols + x];
    const double mean = sum / (double)((image->rows / 2) * (image->cols / 2));
    target[0] = (float)fmin(fmax(.5 + mean / 4, 0), 1);
}

static tensor *head(graph *g, const model_config *c, tensor *tokens)
{
    builder b = {.g = g, .c = c, .weights = {PARAM_TRUNC_NORMAL, .02}, .part = PARAM_HEAD};
    return dense(&b, take_token(g, tokens, 0), 1, 1, "brightness");
}

static double predicted(const float *out)
{
    double value;
    loss_at(LOSS_BCE)->activate(out, &(task_shape){.outputs = 1}, &value);
    return value;
}

static void judge(const float *out, const float *target, const task_shape *shape,
                  double values[TASK_VALUES])
{
    (void)shape;
    values[0] = fabs(predicted(out) - (double)target[0]);
}

static void print(const task_prediction *p, FILE *to)
{
    fprintf(to, " brightness %.4f", p->values[0]);
}

static int to_json(const task_prediction *p, cJSON *to)
{
    return cJSON_AddNumberToObject(to, "brightness", p->values[0]) != NULL;
}

static void print_csv_head(const task_outputs *outputs, int top, FILE *to)
{
    (void)outputs;
    (void)top;
    fputs(",brightness", to);
}

static void print_csv(const task_prediction *p, FILE *to) { fprintf(to, ",%.6f", p->values[0]); }

static const loss_kind losses[] = {LOSS_BCE};

const task task_brightness = {
    .name = "brightness",
    .help = "how bright the top left quarter is",
    .accepts = accepts,
    .suits = suits,
    .outputs = outputs_of,
    .one = "output",
    .many = "outputs",
    .labels = "grey images",
    .make_target = make_target,
    .head = head,
    .losses = losses,
    .loss_count = 1,
    .metrics = {{"error", "mean absolute error", "", 1, 4, .lower_is_better = 1}},
    .judge = judge,
    .values = 1,
    .print = print,
    .to_json = to_json,
    .print_csv_head = print_csv_head,
    .print_csv = print_csv,
    .csv_has_all = 1,
};
