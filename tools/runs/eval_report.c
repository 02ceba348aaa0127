#include "eval_report.h"

#include "core/status.h"
#include "draw/confusion.h"
#include "io/json.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

/* Of an attribute every image is a decision that can be right; of a class its own images are. */
typedef struct rates {
    double accuracy, recall, precision; /* from 0 to 1; -1: of nothing */
} rates;

static double part(size_t count, size_t of) { return of ? (double)count / (double)of : -1; }

static rates rates_of(const eval_report *r, int c)
{
    const evaluation_detail *d = r->detail;
    const size_t hits = d->hits[c], wrong = d->images[c] + d->predicted[c] - 2 * hits;
    return (rates){.accuracy = part(r->result.images - wrong, r->result.images),
                   .recall = part(hits, d->images[c]),
                   .precision = part(hits, d->predicted[c])};
}

static void print_rate(double rate)
{
    if (rate < 0)
        printf("  %7s", "-");
    else
        printf("  %7.2f", 100 * rate);
}

static void print_table(const eval_report *r)
{
    const evaluation_detail *d = r->detail;
    const int binary = d->labels == LABEL_BINARY;
    printf(binary ? "   have %%  accuracy   recall  precision  attribute\n"
                  : "  images   recall  precision  class\n");
    for (int c = 0; c < d->classes; c++) {
        const rates x = rates_of(r, c);
        if (binary) {
            printf("  %7.2f ", 100 * part(d->images[c], r->result.images));
            print_rate(x.accuracy);
        } else {
            printf("  %6zu", d->images[c]);
        }
        print_rate(x.recall);
        print_rate(x.precision);
        printf("    ");
        text_print(stdout, r->model->data.names[c]);
        putchar('\n');
    }
}

void eval_report_text(const eval_report *r)
{
    const evaluation *e = &r->result;
    const int *image = r->model->settings.model.image, classes = r->model->data.classes;
    printf("%zu %s images of %d x %d: loss %.4f, ", e->images, r->split, image[0], image[1],
           e->loss);
    if (r->model->data.labels == LABEL_BINARY)
        printf("mean accuracy over %d attributes %.2f %%", classes, 100 * e->accuracy);
    else
        printf("accuracy %.2f %%", 100 * e->accuracy);
    if (r->model->data.labels == LABEL_CLASS && classes > 5)
        printf(", top-5 %.2f %%", 100 * e->top5);
    printf("%s\n", r->model->resized ? " (positions interpolated)" : "");
    if (r->per_class) print_table(r);
}

static int add_rate(cJSON *to, const char *key, double rate)
{
    return rate < 0 ? cJSON_AddNullToObject(to, key) != NULL
                    : cJSON_AddNumberToObject(to, key, rate) != NULL;
}

static int add_table(cJSON *root, const eval_report *r)
{
    const evaluation_detail *d = r->detail;
    const int binary = d->labels == LABEL_BINARY;
    cJSON *list = cJSON_AddArrayToObject(root, binary ? "attributes" : "classes");
    int good = list != NULL;
    for (int c = 0; good && c < d->classes; c++) {
        const rates x = rates_of(r, c);
        cJSON *one = cJSON_CreateObject();
        good = json_add(list, NULL, one)
               && cJSON_AddStringToObject(one, "name", r->model->data.names[c])
               && cJSON_AddNumberToObject(one, "images", (double)d->images[c])
               && (!binary || add_rate(one, "accuracy", x.accuracy))
               && add_rate(one, "recall", x.recall) && add_rate(one, "precision", x.precision);
    }
    return good;
}

static int add_confusion(cJSON *root, const evaluation_detail *d)
{
    cJSON *rows = cJSON_AddArrayToObject(root, "confusion"), *row;
    int good = rows != NULL;
    for (int c = 0; good && c < d->classes; c++) {
        good = json_add(rows, NULL, row = cJSON_CreateArray());
        for (int k = 0; good && k < d->classes; k++)
            good = json_add(row, NULL,
                            cJSON_CreateNumber(
                                (double)d->confusion[(size_t)c * (size_t)d->classes + (size_t)k]));
    }
    return good;
}

ssm2d_status eval_report_json(const eval_report *r, ssm2d_error *error)
{
    const evaluation *e = &r->result;
    const int *image = r->model->settings.model.image;
    const int has_top5 = r->model->data.labels == LABEL_CLASS && r->model->data.classes > 5;
    cJSON *root = cJSON_CreateObject();
    const int good = root && cJSON_AddNumberToObject(root, "images", (double)e->images)
                     && cJSON_AddStringToObject(root, "split", r->split)
                     && cJSON_AddNumberToObject(root, "rows", image[0])
                     && cJSON_AddNumberToObject(root, "cols", image[1])
                     && cJSON_AddNumberToObject(root, "loss", e->loss)
                     && cJSON_AddNumberToObject(root, "accuracy", e->accuracy)
                     && (!has_top5 || cJSON_AddNumberToObject(root, "top5", e->top5))
                     && (!r->per_class || add_table(root, r))
                     && (!r->detail || !r->detail->confusion || add_confusion(root, r->detail));
    char *text = good ? cJSON_PrintUnformatted(root) : NULL;
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return text ? SSM2D_OK : fail(error, SSM2D_ERROR_MEMORY, "no memory for the result");
}

ssm2d_status eval_report_confusion(const ssm2d_context *context, const eval_report *r,
                                   const char *path, ssm2d_error *error)
{
    const model_config *c = &r->model->settings.model;
    char title[160];
    snprintf(title, sizeof title, "%s, mixer %s: %s accuracy %.2f %% of %zu images", c->model->name,
             c->mixer.kind->name, r->split, 100 * r->result.accuracy, r->result.images);
    const confusion m = {title, r->detail->classes, (const char *const *)r->model->data.names,
                         r->detail->confusion};
    return confusion_draw(context, path, &m, error);
}
