#include "data/augment.h"

#include "core/context.h"
#include "core/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* An augmentation that is on. */
typedef struct active {
    const augmentation *what;
    const void *options; /* in the augment's own copy */
} active;

struct augment {
    const ssm2d_context *context;
    augment_setup setup;
    augment_options options;
    /* stage s has the augmentations first[s] .. first[s + 1] - 1 */
    active active[MAX_AUGMENTATIONS];
    int first[AUGMENT_STAGES + 1];
    uint64_t epoch, index;       /* of the current image */
    resize *resize, *map_resize; /* map_resize: NULL without maps */
    pixel_image image, map;
    uint8_t *memory, *map_memory;
    float *scratch_images, *scratch_targets; /* only with an augmentation of the BATCH stage */
    uint32_t *partners;
    float table[3][256]; /* normalised value of each byte, per channel */
};

/* ---- creation -------------------------------------------------------------------------------- */

/* The value of a float that may be subnormal, which arithmetic flushes to 0 (float_mode.h). */
static double value_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 1 < 1u << 24 ? copysign(ldexp((double)(bits & 0x7fffff), -149), (double)x)
                                : (double)x;
}

static ssm2d_status check(const augment_setup *s, ssm2d_error *error)
{
    if (s->rows < 1 || s->rows > MAX_IMAGE_SIDE || s->cols < 1 || s->cols > MAX_IMAGE_SIDE
        || (s->channels != 1 && s->channels != 3))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "images of %zu x %zu x %d: use 1 to %d rows and columns, and 1 or 3 channels",
                    s->rows, s->cols, s->channels, MAX_IMAGE_SIDE);
    for (int c = 0; c < s->channels; c++)
        if (!(s->norm.std[c] >= FLT_MIN) || !isfinite(s->norm.std[c]) || !isfinite(s->norm.mean[c]))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "normalisation of channel %d: mean=%g, std=%g: use a std of %g or more", c,
                        (double)s->norm.mean[c], value_of(s->norm.std[c]), (double)FLT_MIN);
    return augment_options_check(s->options, error);
}

static ssm2d_status check_geometry(const augment *a, ssm2d_error *error)
{
    for (int i = a->first[AUGMENT_PIXELS]; i < a->first[AUGMENT_PIXELS + 1]; i++)
        if (a->active[i].what->geometry == GEOMETRY_BOTH)
            return fail(error, SSM2D_ERROR_UNSUPPORTED,
                        "%s: cannot transform the labels of pixels: turn it off",
                        a->active[i].what->name);
    return SSM2D_OK;
}

static void find_active(augment *a)
{
    const augmentation *what;
    int count = 0;
    for (int stage = 0; stage < AUGMENT_STAGES; stage++) {
        a->first[stage] = count;
        for (int i = 0; (what = augmentation_at(i)); i++) {
            const void *options = augment_options_at(&a->options, i);
            if ((int)what->stage == stage && (what->when & a->setup.when)
                && augmentation_is_on(what, options))
                a->active[count++] = (active){what, options};
        }
    }
    a->first[AUGMENT_STAGES] = count;
}

static int has_stage(const augment *a, augment_stage stage)
{
    return a->first[stage + 1] > a->first[stage];
}

static void choose_region(void *user, size_t rows, size_t cols, resize_region *region);
static void choose_map_region(void *user, size_t rows, size_t cols, resize_region *region);

static ssm2d_status create_map(augment *a, ssm2d_error *error)
{
    const augment_setup *s = &a->setup;
    const size_t size = s->rows * s->cols;
    ssm2d_status status = check_geometry(a, error);
    if (status) return status;
    a->map_memory = mem_alloc(a->context, 2 * size);
    if (!a->map_memory) return fail_memory(error, "maps of %zu x %zu", s->rows, s->cols);
    a->map = (pixel_image){.rows = s->rows,
                           .cols = s->cols,
                           .channels = 1,
                           .pixels = a->map_memory,
                           .spare = a->map_memory + size,
                           .outside = TARGET_IGNORED};
    status = resize_create(a->context, s->rows, s->cols, 1, &a->map_resize, error);
    if (!status) resize_choose_with(a->map_resize, choose_map_region, a);
    return status;
}

static ssm2d_status alloc_buffers(augment *a, ssm2d_error *error)
{
    const augment_setup *s = &a->setup;
    const size_t size = s->rows * s->cols * (size_t)s->channels;
    a->memory = mem_alloc(a->context, 2 * size);
    int good = a->memory != NULL;
    if (good && s->batch && has_stage(a, AUGMENT_BATCH)) {
        const size_t row = s->batch * sizeof(float);
        size_t image_bytes, target_bytes;
        good = !__builtin_mul_overflow(row, size, &image_bytes)
               && !__builtin_mul_overflow(row, s->targets, &target_bytes)
               && (a->scratch_images = mem_alloc(a->context, image_bytes))
               && (a->scratch_targets = mem_alloc(a->context, target_bytes))
               && (a->partners = mem_alloc(a->context, s->batch * sizeof *a->partners));
    }
    if (!good) return fail_memory(error, "images of %zu x %zu x %d", s->rows, s->cols, s->channels);
    a->image = (pixel_image){.rows = s->rows,
                             .cols = s->cols,
                             .channels = s->channels,
                             .pixels = a->memory,
                             .spare = a->memory + size};
    for (int c = 0; c < s->channels; c++)
        a->image.fill[c] = (uint8_t)fminf(fmaxf(nearbyintf(255 * s->norm.mean[c]), 0), 255);
    return SSM2D_OK;
}

ssm2d_status augment_create(const ssm2d_context *context, const augment_setup *setup, augment **out,
                            ssm2d_error *error)
{
    *out = NULL;
    ssm2d_status status = check(setup, error);
    if (status) return status;
    augment *a = mem_alloc(context, sizeof *a);
    if (!a) return fail_memory(error, "augmenting images");
    *a = (augment){.context = context, .setup = *setup, .options = *setup->options};
    a->setup.options = &a->options;
    find_active(a);
    status = alloc_buffers(a, error);
    if (!status)
        status =
            resize_create(context, setup->rows, setup->cols, setup->channels, &a->resize, error);
    if (!status && setup->with_map) status = create_map(a, error);
    if (status) {
        augment_destroy(a);
        return status;
    }
    if (has_stage(a, AUGMENT_DECODE)) resize_choose_with(a->resize, choose_region, a);
    for (int c = 0; c < setup->channels; c++)
        for (int v = 0; v < 256; v++)
            a->table[c][v] = ((float)v / 255 - setup->norm.mean[c]) / setup->norm.std[c];
    *out = a;
    return SSM2D_OK;
}

void augment_destroy(augment *a)
{
    if (!a) return;
    resize_destroy(a->resize);
    resize_destroy(a->map_resize);
    mem_free(a->context, a->map_memory);
    mem_free(a->context, a->memory);
    mem_free(a->context, a->scratch_images);
    mem_free(a->context, a->scratch_targets);
    mem_free(a->context, a->partners);
    mem_free(a->context, a);
}

/* ---- images ---------------------------------------------------------------------------------- */

void augment_begin(augment *a, uint64_t epoch, uint64_t image)
{
    a->epoch = epoch;
    a->index = image;
}

resize *augment_resize(augment *a) { return a->resize; }
uint8_t *augment_pixels(augment *a) { return a->image.pixels; }

static rng random_for(const augment *a, const active *one)
{
    return keyed_rng(a->setup.seed, one->what->purpose, a->epoch, a->index);
}

/* Called by resize_start, which knows the size of the source. */
static void choose_region(void *user, size_t rows, size_t cols, resize_region *region)
{
    const augment *a = user;
    const decode_sizes sizes = {rows, cols, a->setup.rows, a->setup.cols};
    for (int i = a->first[AUGMENT_DECODE]; i < a->first[AUGMENT_DECODE + 1]; i++) {
        rng r = random_for(a, &a->active[i]);
        a->active[i].what->run.decode(a->active[i].options, &r, &sizes, region);
    }
}

/* The same region, without interpolation. */
static void choose_map_region(void *user, size_t rows, size_t cols, resize_region *region)
{
    choose_region(user, rows, cols, region);
    region->filter = RESIZE_NEAREST;
    region->may_reduce = 0;
}

resize *augment_map_resize(augment *a) { return a->map_resize; }
uint8_t *augment_map_pixels(augment *a) { return a->map.pixels; }

void augment_map_end(augment *a, float *out)
{
    for (int i = a->first[AUGMENT_PIXELS]; i < a->first[AUGMENT_PIXELS + 1]; i++) {
        rng r = random_for(a, &a->active[i]);
        if (a->active[i].what->geometry == GEOMETRY_MOVES)
            a->active[i].what->run.pixels(a->active[i].options, &r, &a->map);
    }
    for (size_t i = 0; i < a->map.rows * a->map.cols; i++) out[i] = a->map.pixels[i];
}

/* Reads the pixels once; a colour image's three planes are written in the same pass. */
static void normalise(const augment *a, float *out)
{
    const size_t pixels = a->image.rows * a->image.cols;
    const uint8_t *p = a->image.pixels;
    if (a->image.channels == 1)
        for (size_t i = 0; i < pixels; i++) out[i] = a->table[0][p[i]];
    else
        for (size_t i = 0; i < pixels; i++, p += 3) {
            out[i] = a->table[0][p[0]];
            out[pixels + i] = a->table[1][p[1]];
            out[2 * pixels + i] = a->table[2][p[2]];
        }
}

void augment_end(augment *a, float *out)
{
    for (int i = a->first[AUGMENT_PIXELS]; i < a->first[AUGMENT_PIXELS + 1]; i++) {
        rng r = random_for(a, &a->active[i]);
        a->active[i].what->run.pixels(a->active[i].options, &r, &a->image);
    }
    normalise(a, out);
    float_image image = {a->setup.rows, a->setup.cols, a->setup.channels, out};
    for (int i = a->first[AUGMENT_FLOATS]; i < a->first[AUGMENT_FLOATS + 1]; i++) {
        rng r = random_for(a, &a->active[i]);
        a->active[i].what->run.floats(a->active[i].options, &r, &image);
    }
}

/* ---- batches --------------------------------------------------------------------------------- */

augment_needs augment_partners(const augment *a, uint64_t epoch, uint64_t index, size_t count,
                               uint32_t *partners)
{
    const int first = a->first[AUGMENT_BATCH], end = a->first[AUGMENT_BATCH + 1];
    if (first == end) return AUGMENT_NEEDS_NONE;
    const active *one = &a->active[first];
    if (end - first > 1 || !one->what->partners) return AUGMENT_NEEDS_ALL;
    rng r = keyed_rng(a->setup.seed, one->what->purpose, epoch, index);
    return one->what->partners(one->options, &r, count, partners) ? AUGMENT_NEEDS_PARTNERS
                                                                  : AUGMENT_NEEDS_NONE;
}

void augment_batch(augment *a, uint64_t epoch, uint64_t index, size_t count, augment_range own,
                   float *images, float *targets)
{
    float_batch batch = {.count = count,
                         .own = own,
                         .rows = a->setup.rows,
                         .cols = a->setup.cols,
                         .channels = a->setup.channels,
                         .elements = a->setup.targets,
                         .mixing = a->setup.mixing,
                         .images = images,
                         .targets = targets,
                         .scratch_images = a->scratch_images,
                         .scratch_targets = a->scratch_targets,
                         .partners = a->partners};
    for (int i = a->first[AUGMENT_BATCH]; i < a->first[AUGMENT_BATCH + 1]; i++) {
        const active *one = &a->active[i];
        rng r = keyed_rng(a->setup.seed, one->what->purpose, epoch, index);
        one->what->run.batch(one->options, &r, &batch);
    }
}
