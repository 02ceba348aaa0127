/* mixer - the table of mixers, and how one is put into a graph. */
#include "mixers/mixer.h"

#include <stdio.h>
#include <string.h>

static const mixer *const mixers[] = {&mixer_none, &mixer_ssm2d, &mixer_s4nd, &mixer_ema};

enum { MIXERS = sizeof mixers / sizeof *mixers };

const mixer *mixer_at(int i) { return i >= 0 && i < MIXERS ? mixers[i] : NULL; }

const mixer *mixer_find(const char *name)
{
    for (int i = 0; i < MIXERS; i++)
        if (!strcmp(mixers[i]->name, name)) return mixers[i];
    return NULL;
}

const char *mixer_names(char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < MIXERS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 !i               ? ""
                                 : i + 1 < MIXERS ? ", "
                                                  : " or ",
                                 mixers[i]->name);
    return text;
}

tensor *mixer_params(graph *g, const mixer_config *m, int channels, token_grid grid,
                     const char *block)
{
    if (g->status || !m->kind->params) return NULL;
    return m->kind->params(g, m, channels, grid, block);
}

tensor *mix(graph *g, tensor *x, const mixer_config *m, const char *block)
{
    if (g->status) return NULL;
    tensor *params = mixer_params(g, m, (int)x->shape[x->rank - 1], x->grid, block);
    return g->status ? NULL : m->kind->apply(g, x, params, m);
}
