#include "experiment.h"

#include <stddef.h>
#include <string.h>

extern const experiment experiment_table1, experiment_table2, experiment_table3, experiment_table4,
    experiment_table5, experiment_figure2, experiment_figure3, experiment_receptive_field,
    experiment_ablations, experiment_convnext;

static const experiment *const all[] = {
    &experiment_table1,    &experiment_table2,  &experiment_table3,  &experiment_table4,
    &experiment_table5,    &experiment_figure2, &experiment_figure3, &experiment_receptive_field,
    &experiment_ablations, &experiment_convnext};
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

/* Ours begin closer to the plain model, and are elsewhere in a block (docs/RESULTS.md). */
const char *experiment_published(const char *mixer)
{
    static const char *const settings[][2] = {
        {"ssm2d", "mixer.init=authors mixer.assign=authors mixer.place=attn"},
        {"s4nd", "mixer.init=authors mixer.place=attn"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!strcmp(mixer, settings[i][0])) return settings[i][1];
    return "";
}
