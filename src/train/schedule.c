#include "train/schedule.h"

#include <math.h>

double schedule_at(const schedule *s, long step)
{
    if (s->unit > 1) step -= step % s->unit;
    if (step < s->warmup) return s->start + (s->lr - s->start) * (double)step / (double)s->warmup;
    if (s->kind == SCHEDULE_CONSTANT) return s->lr;
    if (step >= s->steps) return s->final;
    const long first = s->from_start ? 0 : s->warmup;
    const double progress = (double)(step - first) / (double)(s->steps - first);
    if (s->kind == SCHEDULE_LINEAR) return s->final + (s->lr - s->final) * (1 - progress);
    return s->final + 0.5 * (s->lr - s->final) * (1 + cos(3.141592653589793 * progress));
}
