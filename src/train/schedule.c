#include "train/schedule.h"

#include <math.h>

double schedule_at(const schedule *s, long step)
{
    if (step < s->warmup) return s->start + (s->lr - s->start) * (double)step / (double)s->warmup;
    if (s->kind == SCHEDULE_CONSTANT) return s->lr;
    if (step >= s->steps) return s->final;
    double way = (double)(step - s->warmup) / (double)(s->steps - s->warmup);
    return s->final + 0.5 * (s->lr - s->final) * (1 + cos(3.141592653589793 * way));
}
