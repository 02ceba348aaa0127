#include "experiment.h"

#include <stddef.h>
#include <string.h>

extern const experiment experiment_table1, experiment_table2, experiment_table3, experiment_table4,
    experiment_table5, experiment_lattice_paths, experiment_kernels, experiment_training_size,
    experiment_receptive_field, experiment_ablations, experiment_convnext, experiment_arena;

static const experiment *const all[] = {
    &experiment_table1,    &experiment_table2,        &experiment_table3,
    &experiment_table4,    &experiment_table5,        &experiment_lattice_paths,
    &experiment_kernels,   &experiment_training_size, &experiment_receptive_field,
    &experiment_ablations, &experiment_convnext,      &experiment_arena};
enum { COUNT = sizeof all / sizeof *all };

const experiment *experiment_at(int i) { return i >= 0 && i < COUNT ? all[i] : NULL; }

const char *experiment_name_at(int i) { return i >= 0 && i < COUNT ? all[i]->name : NULL; }

const experiment *experiment_find(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(all[i]->name, name) || (all[i]->figure && !strcmp(all[i]->figure, name)))
            return all[i];
    return NULL;
}

int experiment_trains(const experiment *e)
{
    return e->picture != PICTURE_PATHS && e->picture != PICTURE_KERNELS;
}

int experiment_has_variants(const experiment *e) { return e->forms[SCALE_FULL].published; }

const char *experiment_scale_name(int i)
{
    static const char *const names[SCALES] = {"full", "medium", "small", "tiny"};
    return i >= 0 && i < SCALES ? names[i] : NULL;
}
