/* arrows - a task that needs long range: does the arrow point at the circle? Grey images of
 * 192 x 192 pixels, drawn when they are fetched, with the geometry of the arrow pointing data of
 * Poeppel et al., "pLSTM: parallelizable Linear Source Transition Mark networks" (2025). */
#include "data/arrows.h"

#include "core/arith.h"
#include "core/status.h"
#include "data/dataset_impl.h"
#include "data/keyed_rng.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

enum { TRAIN_IMAGES = 50000, TEST_IMAGES = 10000, PADDING = 30, SEED = 42 };

arrows_scene arrows_scene_of(int split, size_t index)
{
    rng r = keyed_rng(SEED, RNG_ARROWS, (uint64_t)split, index);
    const double space = ARROWS_SIDE - 2 * PADDING, margin = 1.2; /* of what is ambiguous */
    arrows_scene s = {.points_at = rng_uniform(&r, 0, 1) < 0.5, .width = 2};
    s.length = floor(rng_uniform(&r, 10, 30));
    s.x = rng_uniform(&r, 0, space);
    s.y = rng_uniform(&r, 0, space);
    s.radius = rng_uniform(&r, 15, 30);
    /* two radii away at least along each axis, around the edges of the space */
    s.circle_x = s.x + rng_uniform(&r, 2 * s.radius, space - 2 * s.radius);
    s.circle_y = s.y + rng_uniform(&r, 2 * s.radius, space - 2 * s.radius);
    if (s.circle_x > space) s.circle_x -= space;
    if (s.circle_y > space) s.circle_y -= space;
    const double dx = s.circle_x - s.x, dy = s.circle_y - s.y, reach = hypot(dx, dy);
    const double target = s.points_at ? s.radius / margin : s.radius * margin;
    const double half = asin(fmin(1, target / reach)), pi = acos(-1);
    const double turn =
        s.points_at ? rng_uniform(&r, -half, half) : rng_uniform(&r, half, 2 * pi - half);
    s.angle = atan2(dy, dx) + turn;
    s.x += PADDING, s.y += PADDING;
    s.circle_x += PADDING, s.circle_y += PADDING;
    return s;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Darkens a pixel: the shape covers it as far as its edge is `inside` pixels beyond the centre. */
static void cover(uint8_t *pixel, double inside)
{
    const double covered = fmin(fmax(inside + 0.5, 0), 1);
    const uint8_t value = (uint8_t)lrint(255 * (1 - covered));
    if (value < *pixel) *pixel = value;
}

/* The columns of the row that a shape between these ends may touch. */
static void columns_of(double low, double high, int *first, int *end)
{
    *first = max_int(0, (int)floor(low - 1));
    *end = min_int(ARROWS_SIDE, (int)ceil(high + 1));
}

static void draw_circle(uint8_t *row, double y, const arrows_scene *s)
{
    int first, end;
    if (fabs(y - s->circle_y) > s->radius + 1) return;
    columns_of(s->circle_x - s->radius, s->circle_x + s->radius, &first, &end);
    for (int x = first; x < end; x++)
        cover(&row[x], s->radius - hypot(x + 0.5 - s->circle_x, y - s->circle_y));
}

static void draw_line(uint8_t *row, double y, double x1, double y1, double x2, double y2,
                      double width)
{
    const double dx = x2 - x1, dy = y2 - y1, squared = dx * dx + dy * dy, half = width / 2;
    int first, end;
    if (y < fmin(y1, y2) - half - 1 || y > fmax(y1, y2) + half + 1) return;
    columns_of(fmin(x1, x2) - half, fmax(x1, x2) + half, &first, &end);
    for (int x = first; x < end; x++) {
        const double px = x + 0.5 - x1, py = y - y1,
                     along = fmin(fmax((px * dx + py * dy) / squared, 0), 1);
        cover(&row[x], half - hypot(px - along * dx, py - along * dy));
    }
}

static void draw_row(uint8_t *row, int line, const arrows_scene *s)
{
    const double y = line + 0.5, half = s->length / 2, barb = s->length / 2.5, spread = 0.5;
    const double dx = half * cos(s->angle), dy = half * sin(s->angle);
    const double tip_x = s->x + dx, tip_y = s->y + dy;
    memset(row, 255, ARROWS_SIDE);
    draw_circle(row, y, s);
    draw_line(row, y, s->x - dx, s->y - dy, tip_x, tip_y, s->width);
    for (int side = -1; side <= 1; side += 2) {
        const double angle = s->angle + side * spread;
        draw_line(row, y, tip_x - barb * cos(angle), tip_y - barb * sin(angle), tip_x, tip_y,
                  s->width);
    }
}

/* ---- the data set ---------------------------------------------------------------------------- */

static ssm2d_status open_arrows(dataset *d, const char *folder, dataset_split split,
                                ssm2d_error *error)
{
    static const char *const names[] = {"points elsewhere", "points at the circle"};
    if (folder != d->impl->default_folder)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "arrows:%s: these images are generated and in no folder: give arrows",
                    text_path(folder));
    d->info.count = split == DATASET_TEST ? TEST_IMAGES : TRAIN_IMAGES;
    d->info.channels = 1;
    d->info.rows = d->info.cols = ARROWS_SIDE;
    d->info.norm = (normalisation){{.953f, .953f, .953f}, {.21f, .21f, .21f}};
    return dataset_name_labels(d, 2, names, error);
}

static ssm2d_status fetch_arrows(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                                 ssm2d_error *error)
{
    const arrows_scene s = arrows_scene_of(d->split, i);
    uint8_t row[ARROWS_SIDE];
    const ssm2d_status status =
        resize_start(to, d->impl->name, ARROWS_SIDE, ARROWS_SIDE, 1, pixels, error);
    if (status) return status;
    for (int line = 0; line < ARROWS_SIDE; line++) {
        draw_row(row, line, &s);
        resize_row(to, row);
    }
    return SSM2D_OK;
}

static int label_of(const dataset *d, size_t i) { return arrows_scene_of(d->split, i).points_at; }

static void close_arrows(dataset *d) { (void)d; }

const dataset_impl dataset_arrows = {
    .name = "arrows",
    .help = "50,000 generated images, 192 x 192 grey: does the arrow point at the circle?",
    .contents = "nothing",
    .default_folder = ".",
    .open = open_arrows,
    .fetch = fetch_arrows,
    .label = label_of,
    .close = close_arrows,
};
