#include "models/swin_windows.h"

#include "core/arith.h"

#include <string.h>

static const float apart = -100; /* added to scores between regions */

/* One axis of the map. */
typedef struct axis {
    int side, padded, window, shift;
} axis;

static axis axis_of(int side, int window, int is_shifted)
{
    axis a = {.side = side, .window = min_int(window, side)};
    a.padded = div_up(side, a.window) * a.window;
    a.shift = is_shifted && side > window ? window / 2 : 0;
    return a;
}

/* What cell i of the shifted axis is: the map's cell, or -1; and its region. */
static int cell_at(const axis *a, int i)
{
    const int cell = (i + a->shift) % a->padded;
    return cell < a->side ? cell : -1;
}

static int region_at(const axis *a, int i)
{
    if (!a->shift) return 0;
    return (i >= a->padded - a->window) + (i >= a->padded - a->shift);
}

/* The map's token at cell (i, j) of the shifted map, and the region of that cell. */
static int token_at(const axis a[2], int i, int j, int *region)
{
    const int row = cell_at(&a[0], i), col = cell_at(&a[1], j);
    const int is_padding = row < 0 || col < 0;
    *region = is_padding ? -1 : 3 * region_at(&a[0], i) + region_at(&a[1], j);
    return is_padding ? -1 : row * a[1].side + col;
}

void swin_window_side(token_grid map, int window, int side[2])
{
    side[0] = min_int(window, map.rows);
    side[1] = min_int(window, map.cols);
}

static void fill_positions(swin_windows *w)
{
    const int across = 2 * w->side[1] - 1;
    w->center = (w->side[0] - 1) * across + w->side[1] - 1;
    for (int t = 0; t < w->tokens; t++) w->position[t] = t / w->side[1] * across + t % w->side[1];
}

/* Fills in the tokens of all windows, and the region of each. Returns whether any window has
 * several regions. */
static int fill_tokens(swin_windows *w, const axis a[2], int *region)
{
    const int across = a[1].padded / w->side[1];
    int several = 0;
    for (int k = 0, at = 0; k < w->windows; k++)
        for (int t = 0; t < w->tokens; t++, at++) {
            const int i = k / across * w->side[0] + t / w->side[1],
                      j = k % across * w->side[1] + t % w->side[1];
            w->token[at] = token_at(a, i, j, &region[at]);
            if (w->token[at] >= 0) w->place[w->token[at]] = at;
            several |= region[at] != region[k * w->tokens];
        }
    return several;
}

static void fill_mask(swin_windows *w, const int *region)
{
    float *mask = w->mask;
    for (int k = 0; k < w->windows; k++, region += w->tokens)
        for (int a = 0; a < w->tokens; a++)
            for (int b = 0; b < w->tokens; b++) *mask++ = region[a] == region[b] ? 0 : apart;
}

int swin_windows_make(const ssm2d_context *context, token_grid map, int window, int is_shifted,
                      swin_windows *out)
{
    const axis a[2] = {axis_of(map.rows, window, is_shifted),
                       axis_of(map.cols, window, is_shifted)};
    swin_windows w = {.side = {a[0].window, a[1].window}, .tokens = a[0].window * a[1].window};
    w.windows = a[0].padded / a[0].window * (a[1].padded / a[1].window);
    const size_t tokens = (size_t)w.tokens, all = (size_t)w.windows * tokens;
    memset(out, 0, sizeof *out);
    int *region = mem_alloc(context, all * sizeof *region);
    w.token = mem_alloc(context, all * sizeof *w.token);
    w.place = mem_alloc(context, (size_t)map.rows * (size_t)map.cols * sizeof *w.place);
    w.position = mem_alloc(context, tokens * sizeof *w.position);
    int good = region && w.token && w.place && w.position;
    if (good) {
        fill_positions(&w);
        if (fill_tokens(&w, a, region)) {
            w.mask = mem_alloc(context, all * tokens * sizeof *w.mask);
            good = w.mask != NULL;
        }
    }
    if (good && w.mask) fill_mask(&w, region);
    mem_free(context, region);
    if (good)
        *out = w;
    else
        swin_windows_free(context, &w);
    return good;
}

void swin_windows_free(const ssm2d_context *context, swin_windows *w)
{
    void *const memory[] = {w->token, w->place, w->position, w->mask};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) mem_free(context, memory[i]);
    memset(w, 0, sizeof *w);
}
