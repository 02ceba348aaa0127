#include "tasks/label_tables.h"

#include "io/json.h"
#include "io/text.h"

task_outputs label_outputs(const dataset_info *data)
{
    return (task_outputs){data->label_count, data->label_names, data->label_ids};
}

size_t label_count_size(const task_shape *shape) { return 3 * (size_t)shape->outputs; }

label_counts label_counts_of(size_t *counts, int outputs)
{
    const size_t n = (size_t)outputs;
    return (label_counts){counts, counts + n, counts + 2 * n};
}

void label_smooth(const target_format *f, double floor, float *target)
{
    for (size_t i = 0; i < f->elements; i++)
        target[i] = (float)((1 - f->smoothing) * (double)target[i] + floor);
}

static double part(size_t count, size_t of) { return of ? (double)count / (double)of : -1; }

label_rates label_rates_of(const task_detail *d, int i)
{
    const label_counts c = label_counts_of(d->counts, d->shape.outputs);
    const size_t wrong = c.images[i] + c.predicted[i] - 2 * c.hits[i];
    return (label_rates){.have = part(c.images[i], d->images),
                         .accuracy = part(d->images - wrong, d->images),
                         .recall = part(c.hits[i], c.images[i]),
                         .precision = part(c.hits[i], c.predicted[i])};
}

void label_print_rate(FILE *to, double rate)
{
    if (rate < 0)
        fprintf(to, "  %7s", "-");
    else
        fprintf(to, "  %7.2f", 100 * rate);
}

int label_add_rate(cJSON *to, const char *key, double rate)
{
    return rate < 0 ? cJSON_AddNullToObject(to, key) != NULL
                    : cJSON_AddNumberToObject(to, key, rate) != NULL;
}

int label_table_to_json(const task_detail *d, const char *const *names, const char *key,
                        int with_accuracy, cJSON *to)
{
    const label_counts c = label_counts_of(d->counts, d->shape.outputs);
    cJSON *list = cJSON_AddArrayToObject(to, key);
    int good = list != NULL;
    for (int i = 0; good && i < d->shape.outputs; i++) {
        const label_rates rates = label_rates_of(d, i);
        cJSON *one = cJSON_CreateObject();
        good = json_add(list, NULL, one) && cJSON_AddStringToObject(one, "name", names[i])
               && cJSON_AddNumberToObject(one, "images", (double)c.images[i])
               && (!with_accuracy || label_add_rate(one, "accuracy", rates.accuracy))
               && label_add_rate(one, "recall", rates.recall)
               && label_add_rate(one, "precision", rates.precision);
    }
    return good;
}

int label_next(const task_prediction *p, double *value)
{
    int best = -1;
    for (int i = 0; i < p->outputs->count; i++)
        if (p->values[i] >= 0 && (best < 0 || p->values[i] > p->values[best])) best = i;
    *value = p->values[best];
    p->values[best] = -1;
    return best;
}

void label_print_likeliest(const task_prediction *p, int top, FILE *to)
{
    for (int i = 0; i < top; i++) {
        double probability;
        const int output = label_next(p, &probability);
        fprintf(to, "%s ", i ? "," : "");
        text_print(to, p->outputs->names[output]);
        fprintf(to, " %.1f %%", 100 * probability);
    }
}

int label_likeliest_to_json(const task_prediction *p, int top, const char *key, int with_has,
                            cJSON *to)
{
    cJSON *list = cJSON_AddArrayToObject(to, key);
    int good = list != NULL;
    for (int i = 0; good && i < top; i++) {
        double probability;
        const int output = label_next(p, &probability);
        cJSON *one = cJSON_CreateObject();
        good = json_add(list, NULL, one)
               && cJSON_AddStringToObject(one, "name", p->outputs->names[output])
               && cJSON_AddNumberToObject(one, "probability", probability)
               && (!with_has || cJSON_AddBoolToObject(one, "has", probability > 0.5));
    }
    return good;
}
