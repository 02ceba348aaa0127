#include "tasks/task.h"

#include "core/arith.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

static const task *const tasks[] = {
#define TASK(name) &task_##name,
#include "tasks/tasks.def"
#undef TASK
};

const char *const task_names[] = {"auto",
#define TASK(name) #name,
#include "tasks/tasks.def"
#undef TASK
                                  NULL};

enum { TASKS = sizeof tasks / sizeof *tasks };

const task *task_at(int i) { return i >= 0 && i < TASKS ? tasks[i] : NULL; }

const task *task_find(const char *name)
{
    for (int i = 0; i < TASKS; i++)
        if (!strcmp(tasks[i]->name, name)) return tasks[i];
    return NULL;
}

const task *task_chosen(int setting, const dataset_info *data)
{
    if (setting) return tasks[setting - 1];
    for (int i = 0; i < TASKS; i++)
        if (tasks[i]->suits(data)) return tasks[i];
    return tasks[0];
}

int task_setting(const task *t)
{
    int i = 0;
    while (tasks[i] != t) i++;
    return i + 1;
}

int task_allows_loss(const task *t, loss_kind loss)
{
    for (int i = 0; i < t->loss_count; i++)
        if (t->losses[i] == loss) return 1;
    return 0;
}

task_shape task_shape_of(const model_config *m)
{
    return (task_shape){m->outputs, (size_t)m->image[0], (size_t)m->image[1]};
}

target_format task_targets(const task *t, const task_shape *shape, double smoothing)
{
    return (target_format){.elements = t->elements ? t->elements(shape) : (size_t)shape->outputs,
                           .mixing = t->mixing,
                           .source = t->source,
                           .smoothing = smoothing,
                           .make = t->make_target};
}

int task_metric_count(const task *t, int outputs)
{
    return t->metric_count ? t->metric_count(outputs) : 1;
}

void task_title(const task *t, int outputs, char text[TASK_TITLE])
{
    if (t->title)
        t->title(outputs, text);
    else
        snprintf(text, TASK_TITLE, "%s", t->metrics[0].name);
}

double task_score(const task *t, const task_shape *shape, double sum, double images)
{
    return sum / (images * (t->decisions ? t->decisions(shape) : 1));
}

int task_is_better(const task *t, double score, double than)
{
    return t->metrics[0].lower_is_better ? score < than : score > than;
}

const char *metric_text(const task_metric *m, double value, char text[METRIC_TEXT])
{
    snprintf(text, METRIC_TEXT, "%.*f%s%s", m->digits, m->scale * value, *m->unit ? " " : "",
             m->unit);
    return text;
}

const char *metric_axis(const task_metric *m, char text[TASK_TITLE])
{
    snprintf(text, TASK_TITLE, "%s%s%s", m->name, *m->unit ? ", " : "", m->unit);
    return text;
}

int task_has_section(const task *t, const char *id)
{
    for (int i = 0; t->sections && t->sections[i]; i++)
        if (!strcmp(t->sections[i], id)) return 1;
    return 0;
}

int largest_index(const float *x, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

void csv_text(FILE *to, const char *text)
{
    const int quoted = strpbrk(text, "\",") != NULL;
    if (quoted) fputc('"', to);
    for (size_t length; *text; text += length) {
        char part[256];
        length = strcspn(text, "\"");
        if (!length) {
            fputs("\"\"", to);
            length = 1;
            continue;
        }
        length = min_size(length, sizeof part - 1);
        memcpy(part, text, length);
        part[length] = 0;
        text_print(to, part);
    }
    if (quoted) fputc('"', to);
}
