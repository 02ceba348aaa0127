#include "data/resize_axis.h"

#include <math.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BITS = 22, LOW_BITS = 12 }; /* of weights: with a pixel's 8 bits and a sign, 31 bits */
enum { BLOCK = 64 };

/* ---- weights --------------------------------------------------------------------------------- */

static double triangle(double x) { return x < 0 ? (x > -1 ? 1 + x : 0) : (x < 1 ? 1 - x : 0); }

static double cubic(double x)
{
    static const double a = -0.5;
    if (x < 0) x = -x;
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double one(double x)
{
    (void)x;
    return 1;
}

/* The weight function of each filter, and its radius. */
static const struct {
    double (*weight)(double x);
    double support;
} filters[] = {
    [RESIZE_BILINEAR] = {triangle, 1}, [RESIZE_BICUBIC] = {cubic, 2}, [RESIZE_NEAREST] = {one, 0}};

/* The factor by which the filter is widened when the image is reduced. */
static double stretch_of(size_t from, size_t to)
{
    const double scale = (double)from / (double)to;
    return scale < 1 ? 1 : scale;
}

static size_t taps_of(resize_filter filter, size_t from, size_t to)
{
    return (size_t)ceil(filters[filter].support * stretch_of(from, to)) * 2 + 1;
}

size_t axis_bytes(resize_filter filter, size_t from, size_t to, size_t outputs)
{
    const size_t taps = taps_of(filter, from, to), pairs = (taps + 1) / 2;
    return outputs * (2 * sizeof(int) + (taps + 2 * pairs) * sizeof(int32_t));
}

int axis_is(const resize_axis *a, resize_filter filter, size_t from, size_t to, size_t window,
            size_t outputs)
{
    return a->from == from && a->to == to && a->window == window && a->outputs == outputs
           && a->filter == filter;
}

/* Packs two 16-bit integers. */
static int32_t pair_of(int32_t first, int32_t second)
{
    return (int32_t)((uint32_t)(first & 0xffff) | (uint32_t)second << 16);
}

static void plan_output(resize_axis *a, size_t i)
{
    const double scale = (double)a->from / (double)a->to, stretch = stretch_of(a->from, a->to);
    const double reach = filters[a->filter].support * stretch, narrow = 1 / stretch;
    const double centre = ((double)(a->window + i) + 0.5) * scale;
    double (*weigh)(double) = filters[a->filter].weight, sum = 0;
    int first = (int)(centre - reach + 0.5), end = (int)(centre + reach + 0.5);
    int32_t *weights = a->weights + i * a->taps;
    if (a->filter == RESIZE_NEAREST) {
        first = (int)centre;
        end = first + 1;
    }
    if (first < 0) first = 0;
    if (end > (int)a->from) end = (int)a->from;
    a->first[i] = first;
    a->count[i] = end - first;
    for (int k = 0; k < end - first; k++) sum += weigh((k + first - centre + 0.5) * narrow);
    for (int k = 0; k < end - first; k++) {
        double weight = weigh((k + first - centre + 0.5) * narrow);
        if (sum != 0) weight /= sum;
        weights[k] = (int32_t)((weight < 0 ? -0.5 : 0.5) + weight * (1 << BITS));
    }
    for (size_t p = 0; p < a->pairs; p++) {
        const size_t k = 2 * p, count = (size_t)(end - first);
        const int32_t left = k < count ? weights[k] : 0, right = k + 1 < count ? weights[k + 1] : 0;
        a->high[i * a->pairs + p] = pair_of(left >> LOW_BITS, right >> LOW_BITS);
        a->low[i * a->pairs + p] =
            pair_of(left & ((1 << LOW_BITS) - 1), right & ((1 << LOW_BITS) - 1));
    }
}

void axis_plan(resize_axis *a, resize_filter filter, size_t from, size_t to, size_t window,
               size_t outputs, void *memory)
{
    const size_t taps = taps_of(filter, from, to), pairs = (taps + 1) / 2;
    int *ranges = memory;
    int32_t *weights = (int32_t *)memory + 2 * outputs;
    *a = (resize_axis){.filter = filter,
                       .from = from,
                       .to = to,
                       .window = window,
                       .outputs = outputs,
                       .taps = taps,
                       .pairs = pairs,
                       .first = ranges,
                       .count = ranges + outputs,
                       .weights = weights,
                       .high = weights + outputs * taps,
                       .low = weights + outputs * (taps + pairs)};
    for (size_t i = 0; i < outputs; i++) plan_output(a, i);
}

/* ---- sums in plain C ------------------------------------------------------------------------- */

static uint8_t clip(int32_t sum)
{
    const int32_t value = sum >> BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Output i of one channel; its inputs are `stride` bytes apart. */
static uint8_t sum_one(const resize_axis *a, size_t i, const uint8_t *in, size_t stride)
{
    const int32_t *weight = a->weights + i * a->taps;
    int32_t sum = 1 << (BITS - 1);
    for (int k = 0; k < a->count[i]; k++) sum += weight[k] * in[(size_t)k * stride];
    return clip(sum);
}

void axis_across_plain(const resize_axis *a, const uint8_t *row, int channels, uint8_t *out)
{
    const size_t n = (size_t)channels;
    for (size_t i = 0; i < a->outputs; i++)
        for (size_t c = 0; c < n; c++)
            out[i * n + c] = sum_one(a, i, row + (size_t)a->first[i] * n + c, n);
}

/* Iterates over the input rows of an output row in the ring buffer. */
typedef struct ring_walk {
    const uint8_t *ring;
    size_t at, size, line;
} ring_walk;

static ring_walk ring_start(const resize_axis *a, size_t i, const uint8_t *ring, size_t line)
{
    return (ring_walk){ring, (size_t)a->first[i] % a->taps * line, a->taps * line, line};
}

static const uint8_t *ring_next(ring_walk *w)
{
    const uint8_t *row = w->ring + w->at;
    w->at += w->line;
    if (w->at == w->size) w->at = 0;
    return row;
}

/* Computes the bytes from `first` on, in blocks whose sums stay in the cache. */
static void down_from(const resize_axis *a, size_t i, const uint8_t *ring, size_t line,
                      size_t first, uint8_t *out)
{
    for (size_t at = first; at < line; at += BLOCK) {
        const size_t size = line - at < BLOCK ? line - at : BLOCK;
        int32_t sums[BLOCK];
        ring_walk rows = ring_start(a, i, ring, line);
        for (size_t x = 0; x < size; x++) sums[x] = 1 << (BITS - 1);
        for (int k = 0; k < a->count[i]; k++) {
            const uint8_t *in = ring_next(&rows) + at;
            const int32_t weight = a->weights[i * a->taps + (size_t)k];
            for (size_t x = 0; x < size; x++) sums[x] += weight * in[x];
        }
        for (size_t x = 0; x < size; x++) out[at + x] = clip(sums[x]);
    }
}

void axis_down_plain(const resize_axis *a, size_t i, const uint8_t *ring, size_t line, uint8_t *out)
{
    down_from(a, i, ring, line, 0, out);
}

/* ---- sums with SSE2: two products at once ---------------------------------------------------- */

#ifdef __SSE2__

/* Combines the sums of both parts of the weights, rounded, as 16 bits in the lower half. */
static __m128i join(__m128i high, __m128i low)
{
    const __m128i half = _mm_set1_epi32(1 << (BITS - 1));
    const __m128i sum = _mm_add_epi32(_mm_add_epi32(_mm_slli_epi32(high, LOW_BITS), low), half);
    const __m128i value = _mm_srai_epi32(sum, BITS);
    return _mm_packs_epi32(value, value);
}

/* Multiplies pixels k and k + 1, of three channels each, at once: reads 8 bytes and uses 6. */
static void across_rgb(const resize_axis *a, const uint8_t *row, uint8_t *out)
{
    const __m128i zero = _mm_setzero_si128();
    for (size_t i = 0; i < a->outputs; i++, out += 3) {
        const size_t first = (size_t)a->first[i], pairs = ((size_t)a->count[i] + 1) / 2;
        const uint8_t *in = row + 3 * first;
        if (first + 2 * pairs + 1 > a->from) { /* 8 bytes could exceed the row */
            for (size_t c = 0; c < 3; c++) out[c] = sum_one(a, i, in + c, 3);
            continue;
        }
        __m128i high = zero, low = zero;
        for (size_t p = 0; p < pairs; p++, in += 6) {
            const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)in);
            const __m128i pixels = _mm_unpacklo_epi8(bytes, zero);
            const __m128i both = _mm_unpacklo_epi16(pixels, _mm_srli_si128(pixels, 6));
            const size_t w = i * a->pairs + p;
            high = _mm_add_epi32(high, _mm_madd_epi16(both, _mm_set1_epi32(a->high[w])));
            low = _mm_add_epi32(low, _mm_madd_epi16(both, _mm_set1_epi32(a->low[w])));
        }
        const __m128i value = join(high, low);
        const uint32_t rgb = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(value, value));
        memcpy(out, &rgb, 3);
    }
}

void axis_across(const resize_axis *a, const uint8_t *row, int channels, uint8_t *out)
{
    if (channels == 3)
        across_rgb(a, row, out);
    else
        axis_across_plain(a, row, channels, out);
}

/* Multiplies eight bytes of two rows at once. */
void axis_down(const resize_axis *a, size_t i, const uint8_t *ring, size_t line, uint8_t *out)
{
    const __m128i zero = _mm_setzero_si128();
    const ring_walk start = ring_start(a, i, ring, line);
    const int count = a->count[i];
    size_t x = 0;
    for (; x + 8 <= line; x += 8) {
        __m128i high0 = zero, high1 = zero, low0 = zero, low1 = zero;
        ring_walk rows = start;
        for (int k = 0; k < count; k += 2) {
            const uint8_t *one = ring_next(&rows) + x;
            const uint8_t *two = k + 1 < count ? ring_next(&rows) + x : one;
            const __m128i bytes =
                _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)one),
                                  _mm_loadl_epi64((const __m128i *)(const void *)two));
            const __m128i both0 = _mm_unpacklo_epi8(bytes, zero),
                          both1 = _mm_unpackhi_epi8(bytes, zero);
            const size_t w = i * a->pairs + (size_t)k / 2;
            const __m128i high = _mm_set1_epi32(a->high[w]), low = _mm_set1_epi32(a->low[w]);
            high0 = _mm_add_epi32(high0, _mm_madd_epi16(both0, high));
            high1 = _mm_add_epi32(high1, _mm_madd_epi16(both1, high));
            low0 = _mm_add_epi32(low0, _mm_madd_epi16(both0, low));
            low1 = _mm_add_epi32(low1, _mm_madd_epi16(both1, low));
        }
        const __m128i values = _mm_unpacklo_epi64(join(high0, low0), join(high1, low1));
        _mm_storel_epi64((__m128i *)(void *)(out + x), _mm_packus_epi16(values, values));
    }
    down_from(a, i, ring, line, x, out);
}

#else

void axis_across(const resize_axis *a, const uint8_t *row, int channels, uint8_t *out)
{
    axis_across_plain(a, row, channels, out);
}

void axis_down(const resize_axis *a, size_t i, const uint8_t *ring, size_t line, uint8_t *out)
{
    axis_down_plain(a, i, ring, line, out);
}

#endif
