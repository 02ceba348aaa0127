#include "models/swin_windows.h"

#include "core/arith.h"

#include <string.h>

static const float separated = -100; /* added to scores between regions */

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

/* Cell i of the shifted axis: its cell in the map, -1 for padding; and its region. */
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
    side[0] = min_int(window, grid_rows(map.shape));
    side[1] = min_int(window, grid_cols(map.shape));
}

static void fill_positions(swin_windows *w)
{
    const int across = 2 * w->side[1] - 1;
    w->center = (w->side[0] - 1) * across + w->side[1] - 1;
    for (int t = 0; t < w->tokens; t++) w->position[t] = t / w->side[1] * across + t % w->side[1];
}

/* Fills in the tokens of all windows, and the region of each. */
static void fill_tokens(swin_windows *w, const axis a[2], int *region)
{
    const int across = a[1].padded / w->side[1];
    for (int k = 0, at = 0; k < w->windows; k++)
        for (int t = 0; t < w->tokens; t++, at++) {
            const int i = k / across * w->side[0] + t / w->side[1],
                      j = k % across * w->side[1] + t % w->side[1];
            w->token[at] = token_at(a, i, j, &region[at]);
        }
}

static int has_regions(const int *region, int tokens)
{
    int t = 1;
    while (t < tokens && region[t] == region[0]) t++;
    return t < tokens;
}

/* Assigns masks to windows. Windows with the same regions share a mask, so a large map has at most
 * nine. first[] receives the first window of each mask. */
static void assign_masks(swin_windows *w, const int *region, int *first)
{
    const size_t size = (size_t)w->tokens * sizeof *region;
    for (int k = 0; k < w->windows; k++) {
        const int *mine = region + (size_t)k * (size_t)w->tokens;
        int m = 0;
        w->mask_of[k] = -1;
        if (!has_regions(mine, w->tokens)) continue;
        while (m < w->masks && memcmp(region + (size_t)first[m] * (size_t)w->tokens, mine, size))
            m++;
        if (m == w->masks) first[w->masks++] = k;
        w->mask_of[k] = m;
    }
}

static void fill_mask(float *mask, const int *region, int tokens)
{
    for (int a = 0; a < tokens; a++)
        for (int b = 0; b < tokens; b++) *mask++ = region[a] == region[b] ? 0 : separated;
}

/* Returns 0 if out of memory. */
static int make_masks(const ssm2d_context *context, swin_windows *w, const int *region)
{
    const size_t tokens = (size_t)w->tokens;
    int *first = mem_alloc(context, (size_t)w->windows * sizeof *first);
    if (!first) return 0;
    assign_masks(w, region, first);
    if (w->masks) w->mask = mem_alloc(context, (size_t)w->masks * tokens * tokens * sizeof(float));
    for (int m = 0; m < w->masks && w->mask; m++)
        fill_mask(w->mask + (size_t)m * tokens * tokens, region + (size_t)first[m] * tokens,
                  w->tokens);
    mem_free(context, first);
    return !w->masks || w->mask;
}

int swin_windows_make(const ssm2d_context *context, token_grid map, int window, int is_shifted,
                      swin_windows *out)
{
    const axis a[2] = {axis_of(grid_rows(map.shape), window, is_shifted),
                       axis_of(grid_cols(map.shape), window, is_shifted)};
    swin_windows w = {.side = {a[0].window, a[1].window}, .tokens = a[0].window * a[1].window};
    w.windows = a[0].padded / a[0].window * (a[1].padded / a[1].window);
    const size_t tokens = (size_t)w.tokens, all = (size_t)w.windows * tokens;
    int *region = mem_alloc(context, all * sizeof *region);
    w.token = mem_alloc(context, all * sizeof *w.token);
    w.position = mem_alloc(context, tokens * sizeof *w.position);
    w.mask_of = mem_alloc(context, (size_t)w.windows * sizeof *w.mask_of);
    int good = region && w.token && w.position && w.mask_of;
    if (good) {
        fill_positions(&w);
        fill_tokens(&w, a, region);
        good = make_masks(context, &w, region);
    }
    mem_free(context, region);
    if (!good) swin_windows_free(context, &w);
    *out = w;
    return good;
}

void swin_windows_free(const ssm2d_context *context, swin_windows *w)
{
    void *const memory[] = {w->token, w->position, w->mask_of, w->mask};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) mem_free(context, memory[i]);
    memset(w, 0, sizeof *w);
}
