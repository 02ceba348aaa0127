/* mixers - the table of them. */
#include "mixers/mixer.h"

#include <string.h>

static const mixer *const mixers[] = {&mixer_none, &mixer_ssm2d};

enum { MIXERS = sizeof mixers / sizeof *mixers };

const char *const mixer_place_names[] = {[PLACE_ATTN] = "attn", [PLACE_BLOCK] = "block", [PLACE_FFN] = "ffn", NULL};
const char *const mixer_init_names[] = {[SSM2D_INIT_IDENTITY] = "identity", [SSM2D_INIT_AUTHORS] = "authors", NULL};

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
