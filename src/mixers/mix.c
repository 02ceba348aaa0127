#include "mixers/mix.h"

tensor *NAME(mix_params)(graph *g, const mixer_config *m, int channels, const char *block)
{
    const size_t total = mixer_total(m, channels);
    return total ? NAME(graph_param)(g, 0, 1, &total, "%s.mixer", block) : NULL;
}

tensor *NAME(mix)(graph *g, tensor *x, const mixer_config *m, const char *block, int first, int rows, int cols)
{
    if (g->status) return NULL;
    tensor *params = NAME(mix_params)(g, m, (int)x->shape[x->rank - 1], block);
    return g->status ? NULL : m->kind->NAME(apply)(g, x, params, m, first, rows, cols);
}
