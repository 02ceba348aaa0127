/* spread - running mean and standard deviation (n - 1). */
#ifndef SSM2D_CORE_SPREAD_H
#define SSM2D_CORE_SPREAD_H

#include <math.h>

typedef struct spread {
    int n;
    double mean;      /* NaN when n = 0 */
    double deviation; /* NaN when n < 2 */
    double squares;   /* sum of squared differences from the mean */
} spread;

static inline spread spread_none(void) { return (spread){.mean = NAN, .deviation = NAN}; }

/* Values that are not finite are ignored. */
static inline void spread_add(spread *s, double x)
{
    if (!isfinite(x)) return;
    const double from_mean = s->n++ ? x - s->mean : 0;
    s->mean = s->n == 1 ? x : s->mean + from_mean / s->n;
    s->squares += from_mean * (x - s->mean);
    if (s->n > 1) s->deviation = sqrt(s->squares / (s->n - 1));
}

#endif
