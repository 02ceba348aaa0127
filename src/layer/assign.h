/* assign - which system, and which row of C, serves a channel of a direction.
 *
 * K systems, H channels, S systems per direction. Channels take the systems in turn: channel h of
 * direction r uses system (first + h) mod K, where `first` is
 *     authors     r*H
 *     distinct    r*S
 *     and 0 for either when directions share their systems (then K = S).
 * Rows of C: with c_per_channel row r*H + h (shared: h), else the row of the system. */
#ifndef SSM2D_LAYER_ASSIGN_H
#define SSM2D_LAYER_ASSIGN_H

#include "layer/config.h"

static inline int assign_first(const ssm2d_config *c, int r)
{
    if (c->share_directions) return 0;
    return r * (c->assign == SSM2D_ASSIGN_DISTINCT ? c->n_ssm : c->channels);
}

/* The row of C of channel 0; channel h has the h-th after it, modulo the number of rows. */
static inline int assign_first_c_row(const ssm2d_config *c, int r)
{
    if (!c->c_per_channel) return assign_first(c, r);
    return c->share_directions ? 0 : r * c->channels;
}

static inline int system_of(const ssm2d_config *c, int r, int h)
{
    return (assign_first(c, r) + h) % config_systems(c);
}

static inline int c_row_of(const ssm2d_config *c, int r, int h)
{
    return (assign_first_c_row(c, r) + h) % config_c_rows(c);
}

/* The inverse of c_row_of for one direction: the first channel of direction r that uses the row;
 * the next ones are config_c_rows apart. At or above the number of channels: none does. */
static inline int channel_of_c_row(const ssm2d_config *c, int r, int row)
{
    const int rows = config_c_rows(c);
    return (row + rows - assign_first_c_row(c, r) % rows) % rows;
}

/* The same for system_of: the next channels are config_systems apart. */
static inline int channel_of_system(const ssm2d_config *c, int r, int system)
{
    const int K = config_systems(c);
    return (system + K - assign_first(c, r) % K) % K;
}

/* Rows of C that go with system k, in ascending order, are visited by
 *     for (size_t c = first_c_row(config, k); c < c_rows; c = next_c_row(config, k, c))
 * c_row_from is the first one at or after `from`; past the last row there are none. */
static inline size_t c_row_from(const ssm2d_config *c, size_t k, size_t from)
{
    const size_t rows = (size_t)config_c_rows(c), K = (size_t)config_systems(c);
    const size_t H = (size_t)c->channels;
    if (!c->c_per_channel) return from <= k ? k : rows;
    for (size_t r = from / H; r * H < rows; r++) {
        const size_t h = from > r * H ? from - r * H : 0;
        const size_t ahead = (k + K - (size_t)system_of(c, (int)r, (int)h)) % K;
        if (h + ahead < H) return r * H + h + ahead;
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
    /* Where rows and systems are both counted by r*H + h, a system's rows are K apart. */
    if (c->assign == SSM2D_ASSIGN_AUTHORS || c->share_directions)
        return row + (size_t)config_systems(c);
    return c_row_from(c, k, row + 1);
}

#endif
