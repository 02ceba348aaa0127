#include "eval_report.h"

#include "core/status.h"
#include "draw/confusion.h"
#include "io/json.h"
#include "io/text.h"
#include "tools/written.h"

#include <stdio.h>
#include <string.h>

static const char *const *names_of(const eval_report *r)
{
    return (const char *const *)r->model->data.names;
}

void eval_report_text(const eval_report *r)
{
    const evaluation *e = &r->result;
    const task *t = r->model->data.task;
    const int *image = r->model->settings.model.image;
    char title[TASK_TITLE], text[METRIC_TEXT];
    task_title(t, r->model->data.outputs, title);
    printf("%zu %s images of %d x %d: loss %.4f", e->images, r->shown, image[0], image[1], e->loss);
    for (int i = 0; i < e->metric_count; i++)
        printf(", %s %s", i ? t->metrics[i].name : title,
               metric_text(&t->metrics[i], e->metrics[i], text));
    printf("%s; weights of the %s epoch\n", r->model->resized ? " (positions interpolated)" : "",
           r->weights);
    if (r->table) t->print_table(r->detail, names_of(r), stdout);
}

/* Up to this many outputs JSON has every cell of the matrix, otherwise a list of nonzero cells. */
enum { MAX_MATRIX = 1000 };

static int add_count(cJSON *list, size_t value)
{
    return json_add(list, NULL, cJSON_CreateNumber((double)value));
}

static int add_matrix(cJSON *root, const eval_report *r)
{
    cJSON *rows = cJSON_AddArrayToObject(root, "confusion"), *row;
    int good = rows != NULL;
    size_t next = 0;
    for (int c = 0; good && c < r->detail->shape.outputs; c++) {
        good = json_add(rows, NULL, row = cJSON_CreateArray());
        for (int k = 0; good && k < r->detail->shape.outputs; k++) {
            const confusion_cell *cell = next < r->confusion_count ? &r->confusion[next] : NULL;
            const int is_next = cell && cell->truth == c && cell->predicted == k;
            good = add_count(row, is_next ? cell->count : 0);
            next += (size_t)is_next;
        }
    }
    return good;
}

/* [true, predicted, images] of every nonzero cell; outputs are counted from 0 */
static int add_pairs(cJSON *root, const eval_report *r)
{
    cJSON *list = cJSON_AddArrayToObject(root, "confusion_pairs"), *pair;
    int good = list != NULL;
    for (size_t i = 0; good && i < r->confusion_count; i++) {
        const confusion_cell *cell = &r->confusion[i];
        good = json_add(list, NULL, pair = cJSON_CreateArray())
               && add_count(pair, (size_t)cell->truth) && add_count(pair, (size_t)cell->predicted)
               && add_count(pair, cell->count);
    }
    return good;
}

static int add_confusion(cJSON *root, const eval_report *r)
{
    return r->detail->shape.outputs <= MAX_MATRIX ? add_matrix(root, r) : add_pairs(root, r);
}

static int add_metrics(cJSON *root, const eval_report *r)
{
    const evaluation *e = &r->result;
    int good = 1;
    for (int i = 0; good && i < e->metric_count; i++)
        good = cJSON_AddNumberToObject(root, r->model->data.task->metrics[i].key, e->metrics[i])
               != NULL;
    return good;
}

ssm2d_status eval_report_json(const eval_report *r, ssm2d_error *error)
{
    const evaluation *e = &r->result;
    const int *image = r->model->settings.model.image;
    const task *t = r->model->data.task;
    cJSON *root = cJSON_CreateObject();
    const int good = root && cJSON_AddNumberToObject(root, "images", (double)e->images)
                     && cJSON_AddStringToObject(root, "split", r->split)
                     && cJSON_AddNumberToObject(root, "rows", image[0])
                     && cJSON_AddNumberToObject(root, "cols", image[1])
                     && cJSON_AddNumberToObject(root, "loss", e->loss) && add_metrics(root, r)
                     && (!r->table || t->table_to_json(r->detail, names_of(r), root))
                     && (!r->confusion || add_confusion(root, r));
    return result_print(root, good, JSON_ONE_LINE, error);
}

ssm2d_status eval_report_confusion(const ssm2d_context *context, const eval_report *r,
                                   const char *path, ssm2d_error *error)
{
    const model_config *c = &r->model->settings.model;
    const task_metric *metric = &r->model->data.task->metrics[0];
    char title[160], text[METRIC_TEXT];
    snprintf(title, sizeof title, "%s, mixer %s: %s %s %s of %zu images", c->model->name,
             c->mixer.kind->name, r->split, metric->name,
             metric_text(metric, r->result.metrics[0], text), r->result.images);
    const confusion m = {title, r->detail->shape.outputs, names_of(r), r->confusion,
                         r->confusion_count};
    return confusion_draw(context, path, &m, error);
}
