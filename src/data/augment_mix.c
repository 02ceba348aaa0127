/* augment_mix - Mixup and CutMix: mixes each image of a batch, and its target, with a partner.
 *
 * Mixup: x = lambda x + (1 - lambda) x', lambda ~ Beta(mixup, mixup). CutMix pastes a box of the
 * partner: its sides are floor(side sqrt(1 - lambda)), rounded down to even as published (half on
 * each side of the centre), lambda ~ Beta(cutmix, cutmix), and its centre is uniform. The box is
 * clipped to the image, and lambda becomes the fraction of the image that remains. All images of a
 * batch share the method, lambda and the box. Partners are a random permutation of the batch, or
 * the batch reversed. Because the loss is linear in its targets, mixing targets mixes losses. */
#include "data/augmentation.h"

#include <math.h>
#include <string.h>

enum { PARTNER_PERMUTATION, PARTNER_REVERSED };

typedef struct mix_options {
    double mixup, cutmix, mix_probability, mix_switch;
    int mix_partner;
} mix_options;

static const char *const partner_names[] = {"permutation", "reversed", NULL};

static const ssm2d_field fields[] = {
    {"mixup", "Mixup with weights from Beta(mixup, mixup); 0 turns it off", SSM2D_KIND_REAL,
     offsetof(mix_options, mixup), 0, 100, "0", NULL, NULL},
    {"cutmix", "CutMix with areas from Beta(cutmix, cutmix); 0 turns it off", SSM2D_KIND_REAL,
     offsetof(mix_options, cutmix), 0, 100, "0", NULL, NULL},
    {"mix_probability", "probability that a batch is mixed", SSM2D_KIND_REAL,
     offsetof(mix_options, mix_probability), 0, 1, "1", NULL, NULL},
    {"mix_switch", "probability of CutMix when both are on", SSM2D_KIND_REAL,
     offsetof(mix_options, mix_switch), 0, 1, "0.5", NULL, NULL},
    {"mix_partner", "partners: a random permutation of the batch, or the batch reversed",
     SSM2D_KIND_CHOICE, offsetof(mix_options, mix_partner), 0, 0, "permutation", partner_names,
     NULL},
    {0}};

static int is_on(const void *options)
{
    const mix_options *o = options;
    return (o->mixup > 0 || o->cutmix > 0) && o->mix_probability > 0;
}

static const char *mixes_targets(const void *options)
{
    const mix_options *o = options;
    if (o->cutmix <= 0 || (o->mixup > 0 && o->mix_switch <= 0)) return "Mixup";
    return o->mixup <= 0 || o->mix_switch >= 1 ? "CutMix" : "Mixup and CutMix";
}

/* ---- Beta(a, a) ------------------------------------------------------------------------------ */

/* The logarithm of a sample of Gamma(a), with density x^(a-1) e^-x / Gamma(a), by Marsaglia and
 * Tsang's method. For a < 1 it is a sample of Gamma(a + 1) times U^(1/a), which may underflow. */
static double log_gamma_variate(double a, rng *r)
{
    if (a < 1) {
        const double larger = log_gamma_variate(a + 1, r);
        return larger + log(1 - rng_uniform(r, 0, 1)) / a; /* 1 - U is never 0 */
    }
    const double d = a - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = rng_normal(r), t = 1 + c * x, v = t * t * t;
        if (t <= 0) continue;
        if (log(1 - rng_uniform(r, 0, 1)) < x * x / 2 + d - d * v + d * log(v)) return log(d * v);
    }
}

static double draw_beta(double a, rng *r)
{
    const double x = log_gamma_variate(a, r), y = log_gamma_variate(a, r);
    /* with a near 0 both may underflow: the limit is 0 or 1 with equal probability */
    if (!isfinite(x) && !isfinite(y)) return (double)rng_below(r, 2);
    return 1 / (1 + exp(y - x));
}

/* ---- mixing ---------------------------------------------------------------------------------- */

static void draw_partners(const mix_options *o, rng *r, size_t count, uint32_t *partner)
{
    for (size_t i = 0; i < count; i++)
        partner[i] = (uint32_t)(o->mix_partner == PARTNER_REVERSED ? count - 1 - i : i);
    if (o->mix_partner != PARTNER_REVERSED) rng_shuffle(r, partner, count);
}

typedef struct mixing {
    int mixes, cuts;
    double lambda;
} mixing;

static mixing draw_mixing(const mix_options *o, rng *r, size_t count, uint32_t *partner)
{
    if (rng_uniform(r, 0, 1) >= o->mix_probability) return (mixing){0};
    const double draw = rng_uniform(r, 0, 1);
    const int cuts = o->cutmix > 0 && (!(o->mixup > 0) || draw < o->mix_switch);
    const double lambda = draw_beta(cuts ? o->cutmix : o->mixup, r);
    draw_partners(o, r, count, partner);
    return (mixing){1, cuts, lambda};
}

/* Copies the partners of the batch's own images, `size` elements each, before they change. */
static void keep_partners(const float_batch *b, size_t size, const float *x, float *scratch)
{
    for (size_t i = b->own.first; i < b->own.first + b->own.count; i++)
        memcpy(scratch + b->partners[i] * size, x + b->partners[i] * size, size * sizeof *x);
}

/* x[i] = weight x[i] + (1 - weight) x[partners[i]], with `size` elements each. */
static void mix_rows(const float_batch *b, float weight, size_t size, float *x, float *scratch)
{
    keep_partners(b, size, x, scratch);
    for (size_t i = b->own.first; i < b->own.first + b->own.count; i++) {
        const float *restrict other = scratch + b->partners[i] * size;
        float *restrict own = x + i * size;
        const float rest = 1 - weight;
        for (size_t k = 0; k < size; k++) own[k] = weight * own[k] + rest * other[k];
    }
}

typedef struct span {
    size_t first, end;
} span;

static span draw_span(size_t side, double part, rng *r)
{
    const ptrdiff_t half = (ptrdiff_t)((double)side * part) / 2, size = (ptrdiff_t)side;
    const ptrdiff_t centre = (ptrdiff_t)rng_below(r, side);
    const ptrdiff_t first = centre - half, end = centre + half;
    return (span){(size_t)(first < 0 ? 0 : first), (size_t)(end > size ? size : end)};
}

/* Pastes a box of each image's partner into the image; x: [count][planes][rows][cols], `size`
 * elements per image. */
static void paste_box(const float_batch *b, span down, span across, size_t size, float *x,
                      float *scratch)
{
    const size_t width = across.end - across.first, planes = size / (b->rows * b->cols);
    keep_partners(b, size, x, scratch);
    for (size_t i = b->own.first; i < b->own.first + b->own.count; i++)
        for (size_t p = 0; p < planes; p++)
            for (size_t y = down.first; y < down.end; y++) {
                const size_t at = (p * b->rows + y) * b->cols + across.first;
                memcpy(x + i * size + at, scratch + b->partners[i] * size + at, width * sizeof *x);
            }
}

/* CutMix. Targets are weighted by the fraction of the image that remains; maps are pasted. */
static void cut(const float_batch *b, double lambda, size_t size, rng *r)
{
    const double part = sqrt(1 - lambda);
    const span down = draw_span(b->rows, part, r), across = draw_span(b->cols, part, r);
    const size_t area = (across.end - across.first) * (down.end - down.first);
    const double left = 1 - (double)area / ((double)b->rows * (double)b->cols);
    paste_box(b, down, across, size, b->images, b->scratch_images);
    if (b->mixing == TARGET_MAP)
        paste_box(b, down, across, b->elements, b->targets, b->scratch_targets);
    else
        mix_rows(b, (float)left, b->elements, b->targets, b->scratch_targets);
}

static int partners(const void *options, rng *r, size_t count, uint32_t *partner)
{
    return draw_mixing(options, r, count, partner).mixes;
}

static void mix(const void *options, rng *r, float_batch *b)
{
    const mixing m = draw_mixing(options, r, b->count, b->partners);
    const size_t size = b->rows * b->cols * (size_t)b->channels;
    if (!m.mixes) return;
    if (m.cuts) {
        cut(b, m.lambda, size, r);
        return;
    }
    mix_rows(b, (float)m.lambda, size, b->images, b->scratch_images);
    mix_rows(b, (float)m.lambda, b->elements, b->targets, b->scratch_targets);
}

const augmentation augmentation_mix = {
    .name = "mix",
    .help = "mixes images with others of their batch",
    .fields = fields,
    .options_size = sizeof(mix_options),
    .purpose = RNG_MIX,
    .when = AUGMENT_TRAINING,
    .is_on = is_on,
    .stage = AUGMENT_BATCH,
    .partners = partners,
    .mixes_targets = mixes_targets,
    .run.batch = mix,
};
