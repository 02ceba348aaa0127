/* scan - computes the layer as a recurrence with one row of state: cost grows with cells x d_state,
 * not with the size of the kernel. For norm `relaxed`, with e_h = a1*b1 + a2*b2 and e_v = a3*b1 +
 * a4*b2:
 *     r[i,j] = a1*r[i,j-1] + e_h*u[i,j-1]                        from the kernel's first row
 *     q[i,j] = a4*q[i-1,j] + e_v*u[i-1,j]                        from its first column
 *     P[i,j] = (a1*P[i,j-1] + a2*(Q[i,j-1] + q[i,j-1])) / 2      inside, horizontal
 *     Q[i,j] = (a3*(P[i-1,j] + r[i-1,j]) + a4*Q[i-1,j]) / 2      inside, vertical
 *     y[i,j] = sqrt(1/N) * Re sum_n ((c1*b1 + c2*b2)*u[i,j] + c1*(r + P) + c2*(q + Q))
 * The other norms have other factors (system.c).
 *
 * Vectorised over the coordinates of a state, parallel over images and channels. The adjoint runs
 * rows backwards; it keeps the states at the start of one row in every `block` and recomputes the
 * others, so that memory grows with sqrt(rows). */
#include "layers/ssm2d/scan.h"

#include "core/tasks.h"
#include "core/status.h"
#include "layers/ssm2d/assign.h"

#include <math.h>
#include <string.h>

enum { TASKS_WANTED = 16, CACHE_LINE_BYTES = 64, SMALL_STATES = 256 << 10 };

#define SCAN_REGION(ws, name) REGION_AT(real, ws, ssm2d_plan_of((ws)->plan)->scan.name)

static const state_functions *functions(const ssm2d_kind_plan *p)
{
    return &((const simd_table *)p->base.simd)->state[p->config.values != SSM2D_REAL];
}

double scan_cost(const ssm2d_kind_plan *p)
{
    double products = p->config.values == SSM2D_REAL ? 12 : 44; /* per coordinate and cell */
    double cells = (double)p->base.options.batch * p->base.rows * p->base.cols * p->config.channels;
    return 2.2 * cells * p->config.directions * (products * p->width + 2 * p->base.lanes);
}

ssm2d_status scan_plan_make(ssm2d_kind_plan *p, ssm2d_error *error)
{
    if (p->trunc_rows < p->base.rows || p->trunc_cols < p->base.cols)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "algorithm=scan: a recurrence cannot truncate the kernel; use direct or fft "
                    "for trunc %dx%d",
                    p->trunc_rows, p->trunc_cols);
    scan_plan *s = &p->scan;
    const size_t H = (size_t)p->config.channels, batch = p->base.options.batch;
    const size_t line = CACHE_LINE_BYTES / sizeof(real);
    const size_t threads = (size_t)pool_threads(p->base.context->pool);
    /* a task has a cache line of channels if that leaves enough tasks */
    s->channels = batch * div_up_size(H, line) >= TASKS_WANTED ? (int)line : 1;
    const size_t tasks = div_up_size(H, (size_t)s->channels);
    s->chunks = (int)min_size(div_up_size(TASKS_THREADS, tasks), batch);
    s->state = (size_t)p->base.cols * 2 * (size_t)p->wide;
    s->gradient = (size_t)(COEFS + 2) * (size_t)p->wide + 1;
    s->block = p->base.rows;
    if ((size_t)p->base.rows * s->state * sizeof(real) > SMALL_STATES)
        s->block = (int)ceil(sqrt(p->base.rows));
    s->blocks = div_up(p->base.rows, s->block);
    /* [states][sums]; backward: [states of a block][kept states][drow][left][sums][a row that is
     * never read] */
    const size_t rows = p->base.options.inference ? 1 : (size_t)s->block + (size_t)s->blocks + 2;
    s->scratch_size = rows * s->state + (size_t)p->base.cols * ((size_t)p->base.lanes + 1);
    s->scratch = plan_reserve(&p->base, threads * s->scratch_size, sizeof(real));
    if (!p->base.options.inference)
        s->sums = plan_reserve(&p->base,
                               (size_t)s->chunks * (size_t)p->config.directions * H * s->gradient,
                               sizeof(real));
    return SSM2D_OK;
}

typedef struct job {
    const ssm2d_kind_plan *plan;
    ssm2d_workspace *ws;
    const real *u, *dy;
    real *y, *du, *states;
} job;

/* One direction of one channel: its coefficients, and how it traverses the rows of an array. */
typedef struct walk {
    const real *coef, *c;
    real centre, border;
    flip flip;
    int system, c_row;
} walk;

static walk walk_of(const ssm2d_kind_plan *p, ssm2d_workspace *ws, int r, int h)
{
    walk w = {.flip = config_flip(&p->config, r),
              .system = system_of(&p->config, r, h),
              .c_row = c_row_of(&p->config, r, h)};
    w.coef = REGION(real, ws, coef) + (size_t)w.system * COEFS * (size_t)p->wide;
    w.c = REGION(real, ws, c) + (size_t)w.c_row * 2 * (size_t)p->wide;
    w.centre = (real)REGION(double, ws, centre)[w.c_row]
               + (r == 0 && p->config.skip ? REGION(real, ws, d)[h] : 0);
    w.border = (real)system_border(p);
    return w;
}

/* Index of the first cell of the walk's row i of image b, channel h. */
static ptrdiff_t begin(const ssm2d_kind_plan *p, const walk *w, plane_strides s, size_t b, int h,
                       int i)
{
    return (ptrdiff_t)b * s.batch + h * s.channel
           + (w->flip.rows ? p->base.rows - 1 - i : i) * s.row
           + (w->flip.cols ? p->base.cols - 1 : 0) * s.col;
}
/* The walk's step from cell to cell. With one column the stride is never used and may be
 * PTRDIFF_MIN, which cannot be negated. */
static ptrdiff_t step(const ssm2d_kind_plan *p, const walk *w, plane_strides s)
{
    if (p->base.cols == 1) return 0;
    return w->flip.cols ? -s.col : s.col;
}

static void scan_one(const job *t, const walk *w, size_t b, int h, int i, real *row, real *sums)
{
    const ssm2d_kind_plan *p = t->plan;
    const plane_strides in = p->base.in, out = p->conv_out;
    functions(p)->scan_row(t->y + begin(p, w, out, b, h, i), step(p, w, out),
                           t->u + begin(p, w, in, b, h, i), step(p, w, in), row, w->coef, w->c,
                           w->centre, w->border, p->base.cols, p->width, sums);
}

static void clear_row(const ssm2d_kind_plan *p, real *y, size_t b, int h, int i)
{
    const plane_strides s = p->conv_out;
    real *row = y + (ptrdiff_t)b * s.batch + h * s.channel + i * s.row;
    for (int j = 0; j < p->base.cols; j++) row[j * s.col] = 0;
}

static size_t tasks_per_image(const ssm2d_kind_plan *p)
{
    return div_up_size((size_t)p->config.channels, (size_t)p->scan.channels);
}

static void apply_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const size_t b = task / tasks_per_image(p);
    const int first = (int)(task % tasks_per_image(p)) * p->scan.channels;
    real *row = SCAN_REGION(t->ws, scratch) + (size_t)worker * p->scan.scratch_size,
         *sums = row + p->scan.state;
    for (int h = first; h < first + p->scan.channels && h < p->config.channels; h++) {
        for (int i = 0; i < p->base.rows; i++) clear_row(p, t->y, b, h, i);
        for (int r = 0; r < p->config.directions; r++) {
            walk w = walk_of(p, t->ws, r, h);
            memset(row, 0, p->scan.state * sizeof(real));
            for (int i = 0; i < p->base.rows; i++) scan_one(t, &w, b, h, i, row, sums);
        }
    }
}

void scan_apply(const ssm2d_kind_plan *p, ssm2d_workspace *ws, const real *u, real *y)
{
    job t = {.plan = p, .ws = ws, .u = u, .y = y};
    pool_run(p->base.context->pool, p->base.options.batch * tasks_per_image(p), apply_task, &t);
}

static void push_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const size_t b = task / tasks_per_image(p), R = (size_t)p->config.directions,
                 H = (size_t)p->config.channels;
    const int first = (int)(task % tasks_per_image(p)) * p->scan.channels;
    real *sums = SCAN_REGION(t->ws, scratch) + (size_t)worker * p->scan.scratch_size;
    for (int h = first; h < first + p->scan.channels && h < p->config.channels; h++) {
        clear_row(p, t->y, b, h, 0);
        for (size_t r = 0; r < R; r++) {
            walk w = walk_of(p, t->ws, (int)r, h);
            scan_one(t, &w, b, h, 0, t->states + ((b * H + (size_t)h) * R + r) * p->scan.state,
                     sums);
        }
    }
}

void scan_push(const ssm2d_kind_plan *p, ssm2d_workspace *ws, real *states, const real *u, real *y)
{
    job t = {.plan = p, .ws = ws, .u = u, .y = y, .states = states};
    pool_run(p->base.context->pool, p->base.options.batch * tasks_per_image(p), push_task, &t);
}

/* The adjoint of one direction of one channel of one image; adds to `gradient` =
 * [dcoef][dc][dcentre]. */
static void back_one(const job *t, const walk *w, size_t b, int h, real *gradient, real *scratch)
{
    const ssm2d_kind_plan *p = t->plan;
    const state_functions *f = functions(p);
    const plane_strides in = p->base.in, out = p->conv_out;
    const size_t state = p->scan.state;
    const int m = p->scan.block;
    /* kept[k]: the states before row k*m */
    real *block = scratch, *kept = block + (size_t)m * state;
    real *drow = kept + (size_t)p->scan.blocks * state, *left = drow + state, *sums = left + state;
    real *unread = sums + (size_t)p->base.cols * (size_t)p->base.lanes;
    real *dcoef = gradient, *dc = dcoef + COEFS * (size_t)p->wide,
         *dcentre = dc + 2 * (size_t)p->wide;

    memset(kept, 0, state * sizeof(real));
    for (int k = 1; k < p->scan.blocks; k++) {
        memcpy(kept + (size_t)k * state, kept + (size_t)(k - 1) * state, state * sizeof(real));
        for (int i = (k - 1) * m; i < k * m; i++)
            f->scan_row(unread, 1, t->u + begin(p, w, in, b, h, i), step(p, w, in),
                        kept + (size_t)k * state, w->coef, w->c, w->centre, w->border, p->base.cols,
                        p->width, sums);
    }
    memset(drow, 0, state * sizeof(real));
    for (int k = p->scan.blocks - 1; k >= 0; k--) {
        int first = k * m, end = min_int(first + m, p->base.rows);
        memcpy(block, kept + (size_t)k * state, state * sizeof(real));
        for (int i = first; i + 1 < end; i++) {
            real *next = block + (size_t)(i + 1 - first) * state;
            memcpy(next, next - state, state * sizeof(real));
            f->scan_row(unread, 1, t->u + begin(p, w, in, b, h, i), step(p, w, in), next, w->coef,
                        w->c, w->centre, w->border, p->base.cols, p->width, sums);
        }
        for (int i = end - 1; i >= first; i--)
            f->scan_row_back(t->du ? t->du + begin(p, w, in, b, h, i) : NULL, step(p, w, in), dcoef,
                             dc, dcentre, t->dy + begin(p, w, out, b, h, i), step(p, w, out),
                             t->u + begin(p, w, in, b, h, i), step(p, w, in),
                             block + (size_t)(i - first) * state, drow, w->coef, w->c, w->centre,
                             w->border, p->base.cols, p->width, left, sums);
    }
}

static void back_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const size_t chunks = (size_t)p->scan.chunks, chunk = task % chunks,
                 batch = p->base.options.batch;
    const size_t H = (size_t)p->config.channels, R = (size_t)p->config.directions;
    const int first = (int)(task / chunks) * p->scan.channels;
    real *scratch = SCAN_REGION(t->ws, scratch) + (size_t)worker * p->scan.scratch_size;
    for (int h = first; h < first + p->scan.channels && h < p->config.channels; h++)
        for (size_t r = 0; r < R; r++) {
            walk w = walk_of(p, t->ws, (int)r, h);
            real *gradient =
                SCAN_REGION(t->ws, sums) + ((chunk * R + r) * H + (size_t)h) * p->scan.gradient;
            memset(gradient, 0, p->scan.gradient * sizeof(real));
            for (size_t b = batch * chunk / chunks; b < batch * (chunk + 1) / chunks; b++)
                back_one(t, &w, b, h, gradient, scratch);
        }
}

/* Sums the gradients of system k and its rows of C over chunks, directions and channels, in a fixed
 * order. */
static void sum_task(void *arg, size_t k, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const size_t W = (size_t)p->wide, H = (size_t)p->config.channels,
                 R = (size_t)p->config.directions, gradient_size = p->scan.gradient;
    real *dcoef = REGION(real, t->ws, dcoef) + k * COEFS * W;
    memset(dcoef, 0, COEFS * W * sizeof(real));
    for (size_t c = first_c_row(&p->config, k); c < (size_t)p->c_rows;
         c = next_c_row(&p->config, k, c)) {
        memset(REGION(real, t->ws, dc) + 2 * c * W, 0, 2 * W * sizeof(real));
        REGION(real, t->ws, dcentre)[c] = 0;
    }
    for (size_t chunk = 0; chunk < (size_t)p->scan.chunks; chunk++)
        for (size_t r = 0; r < R; r++) {
            const assignment a = assign_systems(&p->config, (int)r);
            for (size_t h = (size_t)assigned_channel(a, (int)k, 0); h < H; h += (size_t)a.period) {
                const size_t c = (size_t)c_row_of(&p->config, (int)r, (int)h);
                const real *from =
                    SCAN_REGION(t->ws, sums) + ((chunk * R + r) * H + h) * gradient_size;
                for (size_t i = 0; i < COEFS * W; i++) dcoef[i] += from[i];
                from += COEFS * W;
                for (size_t i = 0; i < 2 * W; i++)
                    REGION(real, t->ws, dc)[2 * c * W + i] += from[i];
                REGION(real, t->ws, dcentre)[c] += from[2 * W];
            }
        }
}

void scan_backward(const ssm2d_kind_plan *p, ssm2d_workspace *ws, const real *u, const real *dy,
                   real *du, int want_params)
{
    job t = {.plan = p, .ws = ws, .u = u, .dy = dy, .du = du};
    pool_run(p->base.context->pool, tasks_per_image(p) * (size_t)p->scan.chunks, back_task, &t);
    if (!want_params) return;
    pool_run(p->base.context->pool, (size_t)p->systems, sum_task, &t);
    if (!p->config.skip) return;
    const size_t H = (size_t)p->config.channels, R = (size_t)p->config.directions,
                 gradient_size = p->scan.gradient;
    for (size_t h = 0; h < H; h++) {
        real sum = 0;
        for (size_t chunk = 0; chunk < (size_t)p->scan.chunks; chunk++)
            sum += SCAN_REGION(ws, sums)[(chunk * R * H + h) * gradient_size + gradient_size - 1];
        REGION(real, ws, dd)[h] = sum;
    }
}
