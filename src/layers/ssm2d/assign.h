/* assign - maps channels to systems and rows of C, for each direction.
 *
 * K systems, H channels, S systems per direction. Channels take systems in turn: channel h of
 * direction r uses system base + (first + h) mod period, where
 *     assign      base  first  period
 *     authors     0     r*H    K
 *     distinct    0     r*S    K
 *     paper       r*S   0      S
 *     all: 0, 0, S when directions share their systems
 * Rows of C: with c_per_channel row r*H + h (shared: h), else the row of the system. */
#ifndef SSM2D_LAYERS_ASSIGN_H
#define SSM2D_LAYERS_ASSIGN_H

#include "layers/ssm2d/ssm2d_config.h"

#include <limits.h>

/* Maps channel h to item base + (first + h) mod period. */
typedef struct assignment {
    int base, first, period;
} assignment;

static inline int assigned(assignment a, int h) { return a.base + (a.first + h) % a.period; }

/* The inverse: the first channel at or after `from` that is mapped to the item; further ones are
 * `period` apart. INT_MAX if there is none. */
static inline int assigned_channel(assignment a, int item, int from)
{
    if (item < a.base || item - a.base >= a.period) return INT_MAX;
    return from + (item - a.base + a.period - (a.first + from) % a.period) % a.period;
}

static inline assignment assign_systems(const ssm2d_config *c, int r)
{
    if (c->share_directions) return (assignment){0, 0, c->n_ssm};
    switch (c->assign) {
    case SSM2D_ASSIGN_PAPER: return (assignment){r * c->n_ssm, 0, c->n_ssm};
    case SSM2D_ASSIGN_DISTINCT: return (assignment){0, r * c->n_ssm, config_systems(c)};
    case SSM2D_ASSIGN_AUTHORS: break;
    }
    return (assignment){0, r * c->channels, config_systems(c)};
}

static inline assignment assign_c_rows(const ssm2d_config *c, int r)
{
    if (!c->c_per_channel) return assign_systems(c, r);
    return (assignment){0, c->share_directions ? 0 : r * c->channels, config_c_rows(c)};
}

static inline int system_of(const ssm2d_config *c, int r, int h)
{
    return assigned(assign_systems(c, r), h);
}

static inline int c_row_of(const ssm2d_config *c, int r, int h)
{
    return assigned(assign_c_rows(c, r), h);
}

/* Rows of C that go with system k, in ascending order, are visited by
 *     for (size_t c = first_c_row(config, k); c < c_rows; c = next_c_row(config, k, c))
 * c_row_from is the first one at or after `from`; a result past the last row means none. */
static inline size_t c_row_from(const ssm2d_config *c, size_t k, size_t from)
{
    const size_t rows = (size_t)config_c_rows(c), H = (size_t)c->channels;
    if (!c->c_per_channel) return from <= k ? k : rows;
    for (size_t r = from / H; r * H < rows; r++) {
        const size_t start = from > r * H ? from - r * H : 0;
        const int h = assigned_channel(assign_systems(c, (int)r), (int)k, (int)start);
        if (h < c->channels) return r * H + (size_t)h;
    }
    return rows;
}

static inline size_t first_c_row(const ssm2d_config *c, size_t k)
{
    return c->c_per_channel ? c_row_from(c, k, 0) : k;
}

static inline size_t next_c_row(const ssm2d_config *c, size_t k, size_t row)
{
    if (!c->c_per_channel) return SIZE_MAX;
    /* rows and systems are both numbered by r*H + h, so a system's rows are K apart */
    if (c->assign == SSM2D_ASSIGN_AUTHORS || c->share_directions)
        return row + (size_t)config_systems(c);
    return c_row_from(c, k, row + 1);
}

#endif
