/* policy_helpers - for tests of random augmentations: creates one by name with its options, and
 * compares counts with their expectation. */
#ifndef SSM2D_TESTS_POLICY_HELPERS_H
#define SSM2D_TESTS_POLICY_HELPERS_H

#include "data_helpers.h"

#include "data/augment.h"

#include <math.h>

typedef struct chosen {
    const augmentation *what;
    augment_options all;
    const void *options;
} chosen;

/* settings: "erasing=0.25 erasing_fill=pixel". */
static inline void choose_augmentation(chosen *c, const char *name, const char *settings)
{
    int i = 0;
    while (augmentation_at(i) && strcmp(augmentation_at(i)->name, name)) i++;
    if (!(c->what = augmentation_at(i))) fail_msg("no augmentation %s", name);
    c->all = augment_options_default();
    assert_false(augmentation_is_on(c->what, augment_options_at(&c->all, i)));
    char words[256];
    snprintf(words, sizeof words, "%s", settings);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        if (augment_options_set(&c->all, word, equals + 1, &error)) fail_msg("%s", error.line);
    }
    c->options = augment_options_at(&c->all, i);
    assert_true(augmentation_is_on(c->what, c->options));
}

/* The random generator of image i. */
static inline rng rng_of(const chosen *c, uint64_t i)
{
    return keyed_rng(1, c->what->purpose, i / 1000, i % 1000);
}

/* Whether a count of n draws with probability p is within 4.5 standard deviations, which chance
 * exceeds once in 150,000 times; seeds are fixed, so that the test is not flaky. */
static inline void assert_rate(long count, long n, double p)
{
    const double expected = (double)n * p, deviation = sqrt((double)n * p * (1 - p));
    if (fabs((double)count - expected) > 4.5 * deviation + 1e-9)
        fail_msg("%ld of %ld, expected %g +- %g", count, n, expected, deviation);
}

/* Whether n values, of which these are the sum and the sum of squares, may have this mean and
 * variance. */
static inline void assert_moments(double sum, double squares, long n, double mean, double variance)
{
    const double m = sum / (double)n, v = squares / (double)n - m * m;
    if (fabs(m - mean) > 4.5 * sqrt(variance / (double)n) || fabs(v / variance - 1) > 0.1)
        fail_msg("mean %g, expected %g; variance %g, expected %g", m, mean, v, variance);
}

/* Whether values from 0 to 1 are uniformly distributed, by their counts in ten bins. */
typedef struct uniformity {
    long bins[10], count;
} uniformity;

static inline void uniformity_add(uniformity *u, double x)
{
    assert_true(x >= 0 && x <= 1);
    u->bins[x < 1 ? (int)(x * 10) : 9]++;
    u->count++;
}

static inline void assert_uniform(const uniformity *u)
{
    for (int i = 0; i < 10; i++) assert_rate(u->bins[i], u->count, 0.1);
}

#endif
