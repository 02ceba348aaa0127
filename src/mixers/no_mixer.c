/* none - the plain model: tokens pass unchanged. */
#include "mixers/mixer.h"

static tensor *apply(graph *g, tensor *x, tensor *params, const mixer_config *m)
{
    (void)g, (void)params, (void)m;
    return x;
}

const mixer mixer_none = {.name = "none", .help = "the plain model", .apply = apply};
