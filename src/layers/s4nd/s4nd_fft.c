/* s4nd_fft - convolves lines with Fourier transforms. For long sides.
 *
 * Two lines a and b are transformed as one complex line z = a + i*b. Taps are real, so the inverse
 * transform of F(z)*K has the convolution of a in its real part and that of b in its imaginary
 * part, and the inverse transform of conj(F(x))*F(dy) has the gradient of the taps, summed over
 * both lines, in its real part. Spectra stay in the order that the transform produces; they are
 * never sorted by frequency. */
#include "layers/s4nd/s4nd_internal.h"
#include "conv/fft_line.h"
#include "core/arith.h"
#include "core/status.h"

#include <string.h>

enum { ELEMENT_COST = 8, PASS_COST = 8 };

/* An element is a vector of real parts and one of imaginary parts. */
static size_t element(const s4nd_plan *p) { return 2 * (size_t)p->base.lanes; }

static size_t length_of(const s4nd_plan *p, int axis) { return (size_t)p->length[axis].n; }

static fft_line line_of(const s4nd_plan *p, int axis)
{
    return (fft_line){&((const simd_table *)p->base.simd)->fft, p->length[axis], p->twiddles[axis]};
}

/* Elements of the spectra of both axes for one vector of channels; that of rows comes first. */
static size_t spectra_size(const s4nd_plan *p)
{
    return (length_of(p, 0) + length_of(p, 1)) * element(p);
}

static size_t spectrum_at(const s4nd_plan *p, int axis)
{
    return axis ? length_of(p, 0) * element(p) : 0;
}

static void plan(s4nd_plan *p)
{
    s4nd_plan *s = p;
    for (int axis = 0; axis < 2; axis++) {
        const int L = s4nd_side(p, axis);
        s->length[axis] = fft_length_choose(2 * L - 1, L, ELEMENT_COST);
    }
    const size_t longest = max_size(length_of(p, 0), length_of(p, 1));
    s->scratch = 3 * longest * element(p); /* see parts_of */
    s->sums = spectra_size(p);
    s->transformed =
        plan_reserve(&p->base, spectra_size(p) * (size_t)p->base.vectors, sizeof(real));
}

static double cost(const s4nd_plan *p)
{
    double pairs = 0;
    for (int axis = 0; axis < 2; axis++) {
        const s4nd_walk w = s4nd_walk_of(p, axis);
        const double pair = 2 * p->length[axis].cost + (double)ELEMENT_COST * p->length[axis].n
                            + 2.0 * PASS_COST * w.n;
        pairs += div_up(w.lines, 2) * pair;
    }
    return (double)p->base.options.batch * p->base.vectors * p->base.lanes * pairs;
}

static ssm2d_status finish(s4nd_plan *p, ssm2d_error *error)
{
    for (int axis = 0; axis < 2; axis++) {
        const fft_length *l = &p->length[axis];
        const size_t bytes = max_size(1, fft_length_twiddles(l)) * sizeof(real);
        p->twiddles[axis] = mem_alloc(p->base.context, bytes);
        if (!p->twiddles[axis]) return fail_memory(error, "%zu bytes of tables of a plan", bytes);
        fft_line_twiddles(l, p->twiddles[axis]);
    }
    return SSM2D_OK;
}

static real *spectrum_of(const s4nd_pass *t, int axis)
{
    return REGION_AT(real, t->ws, t->plan->transformed) + t->vector * spectra_size(t->plan)
           + spectrum_at(t->plan, axis);
}

/* Computes the spectrum of the taps, which are stored cyclically (offset o at o mod n) and divided
 * by n. */
static void prepare(const s4nd_pass *t)
{
    const s4nd_plan *p = t->plan;
    const size_t lanes = (size_t)p->base.lanes;
    const real *taps = REGION_AT(real, t->ws, p->vector_taps) + t->vector * (size_t)p->taps * lanes;
    for (int axis = 0; axis < 2; axis++) {
        const fft_line line = line_of(p, axis);
        const int L = s4nd_side(p, axis), n = line.length.n;
        const real *centre = taps + (size_t)s4nd_centre(p, axis) * lanes;
        real *re = t->scratch, *im = re + (size_t)n * lanes;
        memset(re, 0, 2 * (size_t)n * lanes * sizeof(real));
        for (int o = 1 - L; o < L; o++)
            for (size_t l = 0; l < lanes; l++)
                re[(size_t)((o + n) % n) * lanes + l] =
                    centre[o * (ptrdiff_t)lanes + (ptrdiff_t)l] / (real)n;
        fft_line_forward(&line, spectrum_of(t, axis), re, im, (ptrdiff_t)lanes, n);
    }
}

/* Multiplies out by scale, so that results can be added to it; returns 0 if scale is NULL and
 * results overwrite out. */
static int scaled(const s4nd_plan *p, real *out, const real *scale)
{
    const simd_table *simd = p->base.simd;
    for (size_t i = 0; scale && i < (size_t)p->base.rows; i++) {
        real *row = out + i * p->tile_row;
        simd->ema.scale(row, row, scale, (size_t)p->base.cols);
    }
    return scale != NULL;
}

/* The parts of a worker's scratch: two transforms, and a line that replaces the missing second line
 * of the last pair. */
typedef struct parts {
    real *x, *y, *spare;
} parts;

static parts parts_of(const s4nd_pass *t)
{
    const size_t part = max_size(length_of(t->plan, 0), length_of(t->plan, 1)) * element(t->plan);
    return (parts){t->scratch, t->scratch + part, t->scratch + 2 * part};
}

/* x <- the transform of lines `line` and line+1, without its last stage. */
static void pair_in(const s4nd_plan *p, const fft_line *f, const s4nd_walk *w, int line, real *x,
                    const real *tile, real *spare)
{
    const real *a = tile + line * w->line;
    if (line + 1 < w->lines) {
        fft_line_start(f, x, a, a + w->line, w->step, w->n);
        return;
    }
    /* the last line has no partner: pair it with zeros */
    const size_t lanes = (size_t)p->base.lanes;
    real *zeros = spare + (size_t)w->n * lanes;
    for (int i = 0; i < w->n; i++)
        memcpy(spare + (size_t)i * lanes, a + i * w->step, lanes * sizeof(real));
    memset(zeros, 0, (size_t)w->n * lanes * sizeof(real));
    fft_line_start(f, x, spare, zeros, (ptrdiff_t)lanes, w->n);
}

/* The inverse of pair_in, starting from a spectrum whose last stage is already undone. */
static void pair_out(const s4nd_plan *p, const fft_line *f, const s4nd_walk *w, int line,
                     real *tile, real *x, int add, real *spare)
{
    real *a = tile + line * w->line;
    if (line + 1 < w->lines) {
        fft_line_finish(f, a, a + w->line, w->step, w->n, x, add);
        return;
    }
    const size_t lanes = (size_t)p->base.lanes;
    fft_line_finish(f, spare, spare + (size_t)w->n * lanes, (ptrdiff_t)lanes, w->n, x, 0);
    for (int i = 0; i < w->n; i++)
        for (size_t l = 0; l < lanes; l++) {
            real *to = a + i * w->step + (ptrdiff_t)l;
            *to = spare[(size_t)i * lanes + l] + (add ? *to : 0);
        }
}

static void convolve(const s4nd_pass *t, int axis, real *out, const real *in, const real *scale)
{
    const s4nd_plan *p = t->plan;
    const fft_line f = line_of(p, axis);
    const s4nd_walk w = s4nd_walk_of(p, axis);
    const parts d = parts_of(t);
    const int add = scaled(p, out, scale), last = fft_line_last(&f), blocks = fft_line_blocks(&f);
    for (int line = 0; line < w.lines; line += 2) {
        pair_in(p, &f, &w, line, d.x, in, d.spare);
        f.f->convolve[0][last](d.x, spectrum_of(t, axis), blocks);
        pair_out(p, &f, &w, line, out, d.x, add, d.spare);
    }
}

static void adjoint(const s4nd_pass *t, int axis, real *out, const real *dy, const real *x,
                    const real *scale)
{
    const s4nd_plan *p = t->plan;
    const fft_line f = line_of(p, axis);
    const s4nd_walk w = s4nd_walk_of(p, axis);
    const parts d = parts_of(t);
    const int add = out ? scaled(p, out, scale) : 0;
    const int last = fft_line_last(&f), blocks = fft_line_blocks(&f);
    const real *spectrum = out ? spectrum_of(t, axis) : NULL;
    for (int line = 0; line < w.lines; line += 2) {
        pair_in(p, &f, &w, line, d.x, dy, d.spare);
        if (x) {
            pair_in(p, &f, &w, line, d.y, x, d.spare);
            if (last > 1) f.f->last[last](d.y, blocks);
            f.f->correlate[last](d.x, t->sums + spectrum_at(p, axis), d.y, spectrum, blocks);
        } else if (out) {
            f.f->convolve[1][last](d.x, spectrum, blocks);
        }
        if (out) pair_out(p, &f, &w, line, out, d.x, add, d.spare);
    }
}

static void collect(const s4nd_pass *t, real *dtaps)
{
    const s4nd_plan *p = t->plan;
    const size_t lanes = (size_t)p->base.lanes;
    for (int axis = 0; axis < 2; axis++) {
        const fft_line f = line_of(p, axis);
        const int L = s4nd_side(p, axis), n = f.length.n;
        real *re = t->scratch, *im = re + (size_t)n * lanes;
        real *centre = dtaps + (size_t)s4nd_centre(p, axis) * lanes;
        fft_line_backward(&f, re, im, (ptrdiff_t)lanes, n, t->sums + spectrum_at(p, axis), 0);
        for (int o = 1 - L; o < L; o++)
            for (size_t l = 0; l < lanes; l++)
                centre[o * (ptrdiff_t)lanes + (ptrdiff_t)l] =
                    re[(size_t)((o + n) % n) * lanes + l] / (real)n;
    }
}

const s4nd_algorithm s4nd_fft = {.name = "fft",
                                 .plan = plan,
                                 .cost = cost,
                                 .finish = finish,
                                 .prepare = prepare,
                                 .convolve = convolve,
                                 .adjoint = adjoint,
                                 .collect = collect};
