/* mixer - the table of mixers, and how one is put into a graph. */
#include "mixers/mixer.h"

#include <string.h>

static const mixer *const mixers[] = {&mixer_none, &mixer_ssm2d};

enum { MIXERS = sizeof mixers / sizeof *mixers };

const char *const mixer_place_names[] = {
    [PLACE_ATTN] = "attn", [PLACE_BLOCK] = "block", [PLACE_FFN] = "ffn", NULL};
const char *const mixer_init_names[] = {
    [SSM2D_INIT_IDENTITY] = "identity", [SSM2D_INIT_AUTHORS] = "authors", NULL};

const mixer *mixer_at(int i) { return i >= 0 && i < MIXERS ? mixers[i] : NULL; }

const mixer *mixer_find(const char *name)
{
    for (int i = 0; i < MIXERS; i++)
        if (!strcmp(mixers[i]->name, name)) return mixers[i];
    return NULL;
}

size_t mixer_total(const mixer_config *m, int channels)
{
    ssm2d_param param;
    size_t total = 0;
    for (int i = 0; m->kind->array(m, channels, i, &param); i++) total += param.size;
    return total;
}

tensor *mix_params(graph *g, const mixer_config *m, int channels, const char *block)
{
    const size_t total = mixer_total(m, channels);
    return total ? graph_param(g, 0, 1, &total, "%s.mixer", block) : NULL;
}

tensor *mix(graph *g, tensor *x, const mixer_config *m, const char *block, int first, int rows,
            int cols)
{
    if (g->status) return NULL;
    tensor *params = mix_params(g, m, (int)x->shape[x->rank - 1], block);
    return g->status ? NULL : m->kind->apply(g, x, params, m, first, rows, cols);
}
