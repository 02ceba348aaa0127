/* scan_diagonal - one row of a selective scan with a diagonal state, for one vector of channels;
 * the argument structs are in scan_table.h.
 *
 * With x = u, a_g = exp(dt_g * A_g[n]) and s_g = dt_g * B_g[n] * x, all of the receiving cell:
 *     LINE    h = a*left + s                               left goes on in the next row
 *     TWICE   g = a*left(g) + s,  h = a*up(h) + g
 *     PAIR    h = f0*(a0*up + s0) + f1*(a1*left + s1)      f0, f1 depend on the border
 *     SHARED  PAIR with A = -1 for every n, and B_0 = B_1
 *     y += gain * sum over n of C[n]*h + D*u
 * and adjoints: lam is the gradient of h, dup and dleft what it gives to its predecessors. */

INLINE vec scan_scaled_exp(vec dt, real factor) { return factor * scan_exp(-dt); }

INLINE void scan_forward_row(const int form, const scan_line *s)
{
    const int N = s->states, pair = form == SCAN_PAIR || form == SCAN_SHARED;
    const size_t slots = form == SCAN_TWICE ? 2 * (size_t)N : (size_t)N;
    if (form != SCAN_LINE)
        for (int n = 0; n < N; n++) store(s->left + n * LANES, all(0));
    for (int j = 0; j < s->cols; j++) {
        const vec x = load(s->u + j * s->step), dt0 = load(s->dt[0] + j * LANES);
        const vec dt1 = pair ? load(s->dt[1] + j * LANES) : dt0;
        const real *b0 = s->b[0] + j * s->map_step, *c = s->c + j * s->map_step;
        const real *b1 = s->b[1] + (form == SCAN_PAIR ? j * s->map_step : 0);
        const real f0 = (j ? s->rest : s->first)[0], f1 = (j ? s->rest : s->first)[1];
        const vec x0 = pair ? f0 * dt0 * x : dt0 * x, x1 = pair ? f1 * dt1 * x : x0;
        vec e0 = x, e1 = x, both = x, sum = all(0);
        if (form == SCAN_SHARED) {
            e0 = scan_scaled_exp(dt0, f0), e1 = scan_scaled_exp(dt1, f1);
            both = x0 + x1;
        }
        real *up = s->up + (form == SCAN_LINE ? 0 : (ptrdiff_t)j * N * LANES);
        real *kept = s->kept ? s->kept + (ptrdiff_t)((size_t)j * slots) * LANES : NULL;
        for (int n = 0; n < N; n++) {
            const vec left = load(s->left + n * LANES);
            vec h, g = left;
            if (form == SCAN_SHARED) {
                h = mul_add(e0, load(up + n * LANES), mul_add(e1, left, both * b0[n]));
                g = h;
            } else {
                const vec a0 = scan_exp(dt0 * load(s->a[0] + n * LANES));
                if (form == SCAN_PAIR) {
                    const vec a1 = scan_exp(dt1 * load(s->a[1] + n * LANES));
                    h = mul_add(x0, all(b0[n]), x1 * b1[n]);
                    h = mul_add(f1 * a1, left, mul_add(f0 * a0, load(up + n * LANES), h));
                    g = h;
                } else {
                    g = mul_add(a0, left, x0 * b0[n]);
                    h = form == SCAN_TWICE ? mul_add(a0, load(up + n * LANES), g) : g;
                }
            }
            store(s->left + n * LANES, g);
            if (form != SCAN_LINE) store(up + n * LANES, h);
            if (kept) store(kept + n * LANES, h);
            if (kept && form == SCAN_TWICE) store(kept + (N + n) * LANES, g);
            sum = mul_add(all(c[n]), h, sum);
        }
        if (s->y) {
            real *y = s->y + j * s->step;
            store(y, mul_add(load(s->d), x, mul_add(all(s->gain), sum, load(y))));
        }
    }
}

INLINE void scan_back_row(const int form, const scan_line *s, const scan_line_back *r)
{
    const int N = s->states, pair = form == SCAN_PAIR || form == SCAN_SHARED;
    const ptrdiff_t slots = form == SCAN_TWICE ? 2 * N : N;
    const int maps = form == SCAN_PAIR ? 3 * N : 2 * N;
    vec dd = load(r->dd);
    if (form != SCAN_LINE)
        for (int n = 0; n < N; n++) store(r->dleft + n * LANES, all(0));
    for (int j = s->cols; j--;) {
        const vec x = load(s->u + j * s->step), dt0 = load(s->dt[0] + j * LANES);
        const vec dt1 = pair ? load(s->dt[1] + j * LANES) : dt0;
        const real *b0 = s->b[0] + j * s->map_step, *c = s->c + j * s->map_step;
        const real *b1 = s->b[1] + (form == SCAN_PAIR ? j * s->map_step : 0);
        const real f0 = (j ? s->rest : s->first)[0], f1 = (j ? s->rest : s->first)[1];
        const vec dy = load(r->dy + j * s->step), dyc = s->gain * dy;
        const real *h_row = r->kept + j * slots * LANES;
        const real *left_row =
            j ? h_row - slots * LANES + (form == SCAN_TWICE ? N * LANES : 0) : r->left_before;
        const real *up_row = form == SCAN_LINE ? NULL : r->up_before + j * r->up_step;
        real *dup = r->dup + (form == SCAN_LINE ? 0 : j * N * LANES);
        real *dmap = r->dmap + (ptrdiff_t)j * maps * LANES;
        vec e0 = x, e1 = x, ddt0 = all(0), ddt1 = all(0), dx = all(0);
        if (form == SCAN_SHARED) e0 = scan_exp(-dt0), e1 = scan_exp(-dt1);
        for (int n = 0; n < N; n++) {
            const int at = n * LANES;
            const vec left = left_row ? load(left_row + at) : all(0);
            const vec lam = form == SCAN_LINE ? mul_add(all(c[n]), dyc, load(r->dleft + at))
                            : form == SCAN_TWICE
                                ? mul_add(all(c[n]), dyc, load(dup + at))
                                : mul_add(all(c[n]), dyc, load(r->dleft + at) + load(dup + at));
            real *dc = dmap + maps * LANES - N * LANES + at;
            store(dc, mul_add(dyc, load(h_row + at), load(dc)));
            if (pair) {
                const vec up = load(up_row + at), l0 = f0 * lam, l1 = f1 * lam;
                const int shared = form == SCAN_SHARED;
                const vec a0 = shared ? e0 : scan_exp(dt0 * load(s->a[0] + at));
                const vec a1 = shared ? e1 : scan_exp(dt1 * load(s->a[1] + at));
                const vec g0 = l0 * a0, g1 = l1 * a1, t0 = g0 * up, t1 = g1 * left;
                const vec lb0 = l0 * b0[n], lb1 = l1 * (shared ? b0[n] : b1[n]);
                store(dup + at, g0);
                store(r->dleft + at, g1);
                ddt0 = mul_add(lb0, x, ddt0);
                ddt1 = mul_add(lb1, x, ddt1);
                if (shared) {
                    ddt0 -= t0;
                    ddt1 -= t1;
                    store(dmap + at, mul_add(mul_add(l0, dt0, l1 * dt1), x, load(dmap + at)));
                } else {
                    ddt0 = mul_add(t0, load(s->a[0] + at), ddt0);
                    ddt1 = mul_add(t1, load(s->a[1] + at), ddt1);
                    store(r->da[0] + at, mul_add(t0, dt0, load(r->da[0] + at)));
                    store(r->da[1] + at, mul_add(t1, dt1, load(r->da[1] + at)));
                    real *db1 = dmap + N * LANES + at;
                    store(dmap + at, mul_add(l0 * dt0, x, load(dmap + at)));
                    store(db1, mul_add(l1 * dt1, x, load(db1)));
                }
                dx = mul_add(lb0, dt0, mul_add(lb1, dt1, dx));
            } else {
                const vec rate = load(s->a[0] + at), a = scan_exp(dt0 * rate);
                const vec ds = form == SCAN_TWICE ? lam + load(r->dleft + at) : lam;
                vec t = ds * left;
                if (form == SCAN_TWICE) {
                    t = mul_add(lam, load(up_row + at), t);
                    store(dup + at, a * lam);
                }
                store(r->dleft + at, a * ds);
                t *= a;
                ddt0 = mul_add(t, rate, mul_add(ds * b0[n], x, ddt0));
                store(r->da[0] + at, mul_add(t, dt0, load(r->da[0] + at)));
                store(dmap + at, mul_add(ds * dt0, x, load(dmap + at)));
                dx = mul_add(ds * b0[n], dt0, dx);
            }
        }
        store(r->ddt[0] + j * LANES, ddt0);
        if (pair) store(r->ddt[1] + j * LANES, ddt1);
        real *du = r->du + j * s->step;
        store(du, mul_add(load(s->d), dy, load(du) + dx));
        dd = mul_add(dy, x, dd);
    }
    store(r->dd, dd);
}

#define SCAN_ROWS(form, FORM)                                                                      \
    static void scan_forward_##form(const scan_line *s) { scan_forward_row(FORM, s); }             \
    static void scan_back_##form(const scan_line *s, const scan_line_back *r)                      \
    {                                                                                              \
        scan_back_row(FORM, s, r);                                                                 \
    }
SCAN_ROWS(line, SCAN_LINE)
SCAN_ROWS(twice, SCAN_TWICE)
SCAN_ROWS(pair, SCAN_PAIR)
SCAN_ROWS(shared, SCAN_SHARED)
#undef SCAN_ROWS
