/* The generated data set `arrows`: labels are what the scenes show, and pictures are the scenes. */
#include "data_helpers.h"

#include "data/arrows.h"

#include <math.h>

enum { SCENES = 2000, PIXELS = ARROWS_SIDE * ARROWS_SIDE };

/* How close the arrow's ray comes to the circle's centre, in radii. */
static double nearest(const arrows_scene *s)
{
    const double dx = s->circle_x - s->x, dy = s->circle_y - s->y,
                 along = dx * cos(s->angle) + dy * sin(s->angle);
    return (along > 0 ? fabs(dx * sin(s->angle) - dy * cos(s->angle)) : hypot(dx, dy)) / s->radius;
}

static void labels_say_what_the_ray_hits(void **state)
{
    (void)state;
    int hits = 0;
    for (size_t i = 0; i < SCENES; i++) {
        const arrows_scene s = arrows_scene_of(DATASET_TRAIN, i);
        const double d = nearest(&s), edge = ARROWS_SIDE;
        hits += s.points_at;
        if (s.points_at ? d > 1 / 1.2 + 1e-9 : d < 1.2 - 1e-9)
            fail_msg("scene %zu: label %d, but the ray passes at %g radii", i, s.points_at, d);
        assert_true(s.radius >= 15 && s.radius < 30 && s.length >= 10 && s.length < 30);
        assert_true(s.circle_x - s.radius >= 0 && s.circle_x + s.radius <= edge);
        assert_true(s.circle_y - s.radius >= 0 && s.circle_y + s.radius <= edge);
        assert_true(s.x >= s.length / 2 && s.x <= edge - s.length / 2);
    }
    assert_true(hits > 0.45 * SCENES && hits < 0.55 * SCENES);
}

static uint8_t *fetch(const dataset *d, size_t i, size_t side)
{
    resize *r;
    uint8_t *pixels = malloc(side * side);
    assert_non_null(pixels);
    assert_int_equal(resize_create(dataset_context(d), side, side, 1, &r, &error), SSM2D_OK);
    assert_int_equal(dataset_fetch(d, i, r, pixels, &error), SSM2D_OK);
    resize_destroy(r);
    return pixels;
}

/* The dark area is that of the circle, and of an arrow of some pixels; the corner is white. */
static void pictures_show_the_scene(void **state)
{
    (void)state;
    dataset *d = open_data("arrows", DATASET_TEST);
    const dataset_info *info = dataset_about(d);
    assert_int_equal(info->count, 10000);
    assert_int_equal(info->channels, 1);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 50; i++) {
        const arrows_scene s = arrows_scene_of(DATASET_TEST, i);
        uint8_t *pixels = fetch(d, i, ARROWS_SIDE);
        double dark = 0;
        for (size_t k = 0; k < PIXELS; k++) {
            const double value = pixels[k] / 255.0;
            dark += 1 - value;
            sum += value;
            squares += value * value;
        }
        const double circle = acos(-1) * s.radius * s.radius, arrow = dark - circle;
        assert_true(arrow > s.length && arrow < 5 * s.length + 12);
        assert_int_equal(pixels[0], 255);
        assert_int_equal(pixels[(size_t)s.circle_y * ARROWS_SIDE + (size_t)s.circle_x], 0);
        assert_int_equal(dataset_label(d, i), s.points_at);
        free(pixels);
    }
    const double mean = sum / (50 * PIXELS);
    assert_true(fabs(mean - (double)info->norm.mean[0]) < 0.01);
    assert_true(fabs(sqrt(squares / (50 * PIXELS) - mean * mean) - (double)info->norm.std[0])
                < 0.02);
    dataset_close(d);
}

/* Results name these images, so that they must not change; splits are different images. */
static void pictures_are_the_same_for_ever(void **state)
{
    (void)state;
    const arrows_scene train = arrows_scene_of(DATASET_TRAIN, 7),
                       test = arrows_scene_of(DATASET_TEST, 7);
    assert_true(train.x != test.x);
    assert_true(fabs(train.x - 59.5040493814) < 1e-9 && fabs(train.angle - 4.30153145143) < 1e-9);
    dataset *d = open_data("arrows", DATASET_TRAIN);
    uint8_t *first = fetch(d, 7, 96), *again = fetch(d, 7, 96);
    assert_memory_equal(first, again, 96 * 96);
    free(first);
    free(again);
    dataset_close(d);
}

static void folders_are_refused(void **state)
{
    (void)state;
    dataset *d;
    assert_int_equal(dataset_open(context, "arrows:somewhere", DATASET_TRAIN, &d, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "arrows:somewhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(labels_say_what_the_ray_hits),
        TEST(pictures_show_the_scene),
        TEST(pictures_are_the_same_for_ever),
        TEST(folders_are_refused),
    };
    return cmocka_run_group_tests_name("arrows", tests, io_setup, data_end);
}
