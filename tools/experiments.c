#include "experiment.h"

#include <stddef.h>
#include <string.h>

extern const experiment experiment_table1, experiment_table2, experiment_table3, experiment_table4,
    experiment_table5, experiment_figure2, experiment_figure3, experiment_receptive_field,
    experiment_ablations;

static const experiment *const all[] = {
    &experiment_table1,  &experiment_table2,          &experiment_table3,
    &experiment_table4,  &experiment_table5,          &experiment_figure2,
    &experiment_figure3, &experiment_receptive_field, &experiment_ablations};
enum { COUNT = sizeof all / sizeof *all };

const experiment *experiment_at(int i) { return i >= 0 && i < COUNT ? all[i] : NULL; }

const char *experiment_name_at(int i) { return i >= 0 && i < COUNT ? all[i]->name : NULL; }

const experiment *experiment_find(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(all[i]->name, name)) return all[i];
    return NULL;
}

const char *experiment_scale_name(int i)
{
    static const char *const names[SCALES] = {"full", "small", "tiny"};
    return i >= 0 && i < SCALES ? names[i] : NULL;
}
