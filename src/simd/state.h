/* state - the recursions of the layer, for real (COMPLEX 0) or complex (COMPLEX 1) systems.
 * Included once for each.
 *
 * With the normalisation folded into the coefficients (g of docs/layer.md, at the border and
 * inside), for one coordinate:
 *     first row     r' = rho*r + e_h*u            first column   q' = chi*q + e_v*u
 *     inside        P' = sigma*P + tau*(Q + q)                   Q' = phi*(P + r) + psi*Q
 * r and P move to the right, q and Q down. The kernel is the response to one impulse: its first row
 * is r, its first column q, and h, v below stand for r or P, q or Q. Adjoints of complex products
 * use the conjugate, so that a gradient is d/d(re) + i*d/d(im). */

#if COMPLEX
#define F(name) name##_complex
#define NUM     num_complex
typedef struct NUM {
    vec re, im;
} NUM;
INLINE NUM F(get)(const real *p, int width) { return (NUM){load(p), load(p + width)}; }
INLINE void F(put)(real *p, int width, NUM a) { store(p, a.re), store(p + width, a.im); }
INLINE NUM F(zero)(void) { return (NUM){(vec){0}, (vec){0}}; }
INLINE NUM F(plus)(NUM a, NUM b) { return (NUM){a.re + b.re, a.im + b.im}; }
INLINE NUM F(times)(NUM a, NUM b)
{
    return (NUM){mul_sub(a.re, b.re, a.im * b.im), mul_add(a.re, b.im, a.im * b.re)};
}
INLINE NUM F(scaled)(NUM a, real s) { return (NUM){a.re * s, a.im * s}; }
/* sum + a*b */
INLINE NUM F(mac)(NUM sum, NUM a, NUM b)
{
    return (NUM){sub_mul(mul_add(a.re, b.re, sum.re), a.im, b.im),
                 mul_add(a.im, b.re, mul_add(a.re, b.im, sum.im))};
}
/* sum + conj(a)*b: the adjoint of multiplying by a */
INLINE NUM F(mac_adjoint)(NUM sum, NUM a, NUM b)
{
    return (NUM){mul_add(a.im, b.im, mul_add(a.re, b.re, sum.re)),
                 sub_mul(mul_add(a.re, b.im, sum.im), a.im, b.re)};
}
/* sum + a*s for a real s; also its adjoint with respect to a */
INLINE NUM F(mac_scalar)(NUM sum, NUM a, real s)
{
    return (NUM){mul_add(a.re, all(s), sum.re), mul_add(a.im, all(s), sum.im)};
}
/* a*b + c*d, and a*b + c*s for a real s */
INLINE NUM F(times_plus)(NUM a, NUM b, NUM c, NUM d) { return F(mac)(F(times)(a, b), c, d); }
INLINE NUM F(times_plus_scalar)(NUM a, NUM b, NUM c, real s)
{
    return F(mac_scalar)(F(times)(a, b), c, s);
}
INLINE NUM F(conj)(NUM a) { return (NUM){a.re, -a.im}; }
/* sum + Re(a*b), sum + Re(conj(a)*b) */
INLINE vec F(mac_re)(vec sum, NUM a, NUM b)
{
    return sub_mul(mul_add(a.re, b.re, sum), a.im, b.im);
}
INLINE vec F(mac_re_adjoint)(vec sum, NUM a, NUM b)
{
    return mul_add(a.im, b.im, mul_add(a.re, b.re, sum));
}
#else
#define F(name) name##_real
#define NUM     num_real
typedef vec NUM;
INLINE NUM F(get)(const real *p, int width) { return (void)width, load(p); }
INLINE void F(put)(real *p, int width, NUM a) { (void)width, store(p, a); }
INLINE NUM F(zero)(void) { return (NUM){0}; }
INLINE NUM F(plus)(NUM a, NUM b) { return a + b; }
INLINE NUM F(times)(NUM a, NUM b) { return a * b; }
INLINE NUM F(scaled)(NUM a, real s) { return a * s; }
INLINE NUM F(mac_adjoint)(NUM sum, NUM a, NUM b) { return mul_add(a, b, sum); }
INLINE NUM F(mac_scalar)(NUM sum, NUM a, real s) { return mul_add(a, all(s), sum); }
INLINE NUM F(times_plus)(NUM a, NUM b, NUM c, NUM d) { return mul_add(a, b, c * d); }
INLINE NUM F(times_plus_scalar)(NUM a, NUM b, NUM c, real s) { return mul_add(a, b, c * s); }
INLINE NUM F(conj)(NUM a) { return a; }
INLINE vec F(mac_re)(vec sum, NUM a, NUM b) { return mul_add(a, b, sum); }
INLINE vec F(mac_re_adjoint)(vec sum, NUM a, NUM b) { return mul_add(a, b, sum); }
#endif

#define WIDE                ((size_t)width * (COMPLEX + 1)) /* W of simd_table.h */
#define COEF(name)          F(get)(coef + name * WIDE + v, width)
#define ADD_TO(where, what) F(put)((where) + v, width, F(plus)(F(get)((where) + v, width), what))
/* States of a row: [width / LANES][cols][2][W of a vector]. All columns of one vector of
 * coordinates are contiguous, so that a pass over them reads no cache line that another vector
 * uses. */
#define STATE_OF(rows, j, which)                                                                   \
    ((rows)                                                                                        \
     + (2 * ((size_t)(v / LANES) * (size_t)cols + (size_t)(j)) + (which))                          \
           * (size_t)(LANES * (COMPLEX + 1)))
#define H_OF(rows, j) STATE_OF(rows, j, 0) /* first of the pair at column j: h, q or r */
#define V_OF(rows, j) STATE_OF(rows, j, 1) /* second: v, Q or P */

static void F(kernel_row)(real *now, const real *before, const real *coef, int i, int cols,
                          int width)
{
    for (int v = 0; v < width; v += LANES) {
        NUM h = F(zero)(), down;
        F(put)(H_OF(now, 0), LANES, h);
        if (i == 0) {
            F(put)(V_OF(now, 0), LANES, h);
            for (int j = 1; j < cols; j++) {
                h = j == 1 ? COEF(E_H) : F(times)(COEF(RHO), h);
                F(put)(H_OF(now, j), LANES, h);
                F(put)(V_OF(now, j), LANES, F(zero)());
            }
            continue;
        }
        NUM sigma = COEF(SIGMA), tau = COEF(TAU), phi = COEF(PHI), psi = COEF(PSI);
        down = i == 1 ? COEF(E_V) : F(times)(COEF(CHI), F(get)(V_OF(before, 0), LANES));
        F(put)(V_OF(now, 0), LANES, down);
        for (int j = 1; j < cols; j++) {
            h = F(times_plus)(tau, down, sigma, h);
            down = F(times_plus)(psi, F(get)(V_OF(before, j), LANES), phi,
                                 F(get)(H_OF(before, j), LANES));
            F(put)(H_OF(now, j), LANES, h);
            F(put)(V_OF(now, j), LANES, down);
        }
    }
}

static void F(kernel_emit)(real *out, ptrdiff_t stride, const real *now, const real *c, int first,
                           int cols, int width)
{
    for (int j = first; j < cols; j++) {
        vec sum = {0};
        for (int v = 0; v < width; v += LANES) {
            sum = F(mac_re)(sum, F(get)(c + v, width), F(get)(H_OF(now, j), LANES));
            sum = F(mac_re)(sum, F(get)(c + WIDE + v, width), F(get)(V_OF(now, j), LANES));
        }
        out[j * stride] = sum_lanes(sum);
    }
}

static void F(kernel_emit_back)(real *dnow, real *dc, const real *dout, ptrdiff_t stride,
                                const real *now, const real *c, int first, int cols, int width)
{
    for (int v = 0; v < width; v += LANES) {
        NUM c1 = F(conj)(F(get)(c + v, width)), c2 = F(conj)(F(get)(c + WIDE + v, width)),
            dc1 = F(zero)(), dc2 = F(zero)();
        for (int j = first; j < cols; j++) {
            real d = dout[j * stride];
            F(put)(H_OF(dnow, j), LANES, F(mac_scalar)(F(get)(H_OF(dnow, j), LANES), c1, d));
            F(put)(V_OF(dnow, j), LANES, F(mac_scalar)(F(get)(V_OF(dnow, j), LANES), c2, d));
            dc1 = F(mac_scalar)(dc1, F(get)(H_OF(now, j), LANES), d);
            dc2 = F(mac_scalar)(dc2, F(get)(V_OF(now, j), LANES), d);
        }
        ADD_TO(dc, F(conj)(dc1));
        ADD_TO(dc + WIDE, F(conj)(dc2));
    }
}

static void F(kernel_row_back)(real *dbefore, real *dcoef, real *dnow, const real *now,
                               const real *before, const real *coef, int i, int cols, int width)
{
    for (int v = 0; v < width; v += LANES) {
        if (i == 0) {
            NUM rho = COEF(RHO), drho = F(zero)(), dh = F(zero)();
            for (int j = cols - 1; j >= 1; j--) {
                dh = F(mac_adjoint)(F(get)(H_OF(dnow, j), LANES), rho, dh);
                if (j > 1) drho = F(mac_adjoint)(drho, F(get)(H_OF(now, j - 1), LANES), dh);
            }
            ADD_TO(dcoef + E_H * WIDE, dh);
            ADD_TO(dcoef + RHO * WIDE, drho);
            continue;
        }
        NUM sigma = COEF(SIGMA), tau = COEF(TAU), phi = COEF(PHI), psi = COEF(PSI);
        NUM dsigma = F(zero)(), dtau = F(zero)(), dphi = F(zero)(), dpsi = F(zero)();
        NUM right = F(zero)(); /* the gradient of h one column to the right */
        for (int j = cols - 1; j >= 0; j--) {
            NUM dh = F(mac_adjoint)(F(get)(H_OF(dnow, j), LANES), sigma, right);
            NUM dv = F(mac_adjoint)(F(get)(V_OF(dnow, j), LANES), tau, right);
            dsigma = F(mac_adjoint)(dsigma, F(get)(H_OF(now, j), LANES), right);
            dtau = F(mac_adjoint)(dtau, F(get)(V_OF(now, j), LANES), right);
            right = dh;
            if (j > 0) {
                F(put)
                (H_OF(dbefore, j), LANES, F(mac_adjoint)(F(get)(H_OF(dbefore, j), LANES), phi, dv));
                F(put)
                (V_OF(dbefore, j), LANES, F(mac_adjoint)(F(get)(V_OF(dbefore, j), LANES), psi, dv));
                dphi = F(mac_adjoint)(dphi, F(get)(H_OF(before, j), LANES), dv);
                dpsi = F(mac_adjoint)(dpsi, F(get)(V_OF(before, j), LANES), dv);
            } else if (i == 1) {
                ADD_TO(dcoef + E_V * WIDE, dv);
            } else {
                F(put)
                (V_OF(dbefore, 0), LANES,
                 F(mac_adjoint)(F(get)(V_OF(dbefore, 0), LANES), COEF(CHI), dv));
                ADD_TO(dcoef + CHI * WIDE,
                       F(mac_adjoint)(F(zero)(), F(get)(V_OF(before, 0), LANES), dv));
            }
        }
        ADD_TO(dcoef + SIGMA * WIDE, dsigma);
        ADD_TO(dcoef + TAU * WIDE, dtau);
        ADD_TO(dcoef + PHI * WIDE, dphi);
        ADD_TO(dcoef + PSI * WIDE, dpsi);
    }
}

static void F(scan_row)(real *y, ptrdiff_t y_stride, const real *u, ptrdiff_t u_stride, real *row,
                        const real *coef, const real *c, real centre, real border, int cols,
                        int width, real *sums)
{
    for (int v = 0; v < width; v += LANES) {
        NUM rho = COEF(RHO), sigma = COEF(SIGMA), tau = COEF(TAU), phi = COEF(PHI), psi = COEF(PSI),
            chi = COEF(CHI);
        NUM e_h = COEF(E_H), e_v = COEF(E_V), c1 = F(get)(c + v, width),
            c2 = F(get)(c + WIDE + v, width);
        NUM r = F(zero)(), P = F(zero)();
        for (int j = 0; j < cols; j++) {
            real in = u[j * u_stride];
            NUM q = F(get)(H_OF(row, j), LANES), Q = F(get)(V_OF(row, j), LANES);
            vec sum = v ? load(sums + j * LANES) : (vec){0};
            sum = F(mac_re)(sum, c1, F(mac_scalar)(P, r, border));
            sum = F(mac_re)(sum, c2, F(mac_scalar)(Q, q, border));
            store(sums + j * LANES, sum);
            F(put)(V_OF(row, j), LANES, F(times_plus)(psi, Q, phi, F(plus)(P, r)));
            P = F(times_plus)(sigma, P, tau, F(plus)(Q, q));
            F(put)(H_OF(row, j), LANES, F(times_plus_scalar)(chi, q, e_v, in));
            r = F(times_plus_scalar)(rho, r, e_h, in);
        }
    }
    for (int j = 0; j < cols; j++)
        y[j * y_stride] += mul_add_1(centre, u[j * u_stride], sum_lanes(load(sums + j * LANES)));
}

static void F(scan_row_back)(real *du, ptrdiff_t du_stride, real *dcoef, real *dc, real *dcentre,
                             const real *dy, ptrdiff_t dy_stride, const real *u, ptrdiff_t u_stride,
                             const real *row, real *drow, const real *coef, const real *c,
                             real centre, real border, int cols, int width, real *left, real *sums)
{
    for (int v = 0; v < width; v += LANES) {
        NUM rho = COEF(RHO), sigma = COEF(SIGMA), tau = COEF(TAU), e_h = COEF(E_H);
        NUM r = F(zero)(), P = F(zero)();
        for (int j = 0; j < cols; j++) { /* recompute the states that move right */
            F(put)(H_OF(left, j), LANES, r);
            F(put)(V_OF(left, j), LANES, P);
            P = F(times_plus)(sigma, P, tau,
                              F(plus)(F(get)(V_OF(row, j), LANES), F(get)(H_OF(row, j), LANES)));
            r = F(times_plus_scalar)(rho, r, e_h, u[j * u_stride]);
        }
        NUM phi = COEF(PHI), psi = COEF(PSI), chi = COEF(CHI), e_v = COEF(E_V);
        NUM c1 = F(conj)(F(get)(c + v, width)), c2 = F(conj)(F(get)(c + WIDE + v, width));
        NUM drho = F(zero)(), dsigma = F(zero)(), dtau = F(zero)(), dphi = F(zero)(),
            dpsi = F(zero)(), dchi = F(zero)();
        NUM de_h = F(zero)(), de_v = F(zero)(), dc1 = F(zero)(), dc2 = F(zero)();
        NUM dr = F(zero)(), dP = F(zero)(); /* gradients of the states after column j */
        for (int j = cols - 1; j >= 0; j--) {
            real in = u[j * u_stride], out = dy[j * dy_stride];
            NUM q = F(get)(H_OF(row, j), LANES), Q = F(get)(V_OF(row, j), LANES);
            NUM dq = F(get)(H_OF(drow, j), LANES), dQ = F(get)(V_OF(drow, j), LANES);
            r = F(get)(H_OF(left, j), LANES), P = F(get)(V_OF(left, j), LANES);
            vec sum = v ? load(sums + j * LANES) : (vec){0};
            sum = F(mac_re_adjoint)(F(mac_re_adjoint)(sum, e_h, dr), e_v, dq);
            store(sums + j * LANES, sum);
            de_h = F(mac_scalar)(de_h, dr, in);
            de_v = F(mac_scalar)(de_v, dq, in);
            dc1 = F(mac_scalar)(dc1, F(mac_scalar)(P, r, border), out);
            dc2 = F(mac_scalar)(dc2, F(mac_scalar)(Q, q, border), out);
            drho = F(mac_adjoint)(drho, r, dr);
            dchi = F(mac_adjoint)(dchi, q, dq);
            dsigma = F(mac_adjoint)(dsigma, P, dP);
            dtau = F(mac_adjoint)(dtau, F(plus)(Q, q), dP);
            dphi = F(mac_adjoint)(dphi, F(plus)(P, r), dQ);
            dpsi = F(mac_adjoint)(dpsi, Q, dQ);
            NUM through_phi = F(mac_adjoint)(F(zero)(), phi, dQ),
                through_tau = F(mac_adjoint)(F(zero)(), tau, dP);
            NUM from_c1 = F(scaled)(c1, out), from_c2 = F(scaled)(c2, out);
            dr = F(mac_adjoint)(F(mac_scalar)(through_phi, from_c1, border), rho, dr);
            dP = F(mac_adjoint)(F(plus)(through_phi, from_c1), sigma, dP);
            F(put)
            (H_OF(drow, j), LANES,
             F(mac_adjoint)(F(mac_scalar)(through_tau, from_c2, border), chi, dq));
            F(put)(V_OF(drow, j), LANES, F(mac_adjoint)(F(plus)(through_tau, from_c2), psi, dQ));
        }
        ADD_TO(dcoef + RHO * WIDE, drho);
        ADD_TO(dcoef + SIGMA * WIDE, dsigma);
        ADD_TO(dcoef + TAU * WIDE, dtau);
        ADD_TO(dcoef + PHI * WIDE, dphi);
        ADD_TO(dcoef + PSI * WIDE, dpsi);
        ADD_TO(dcoef + CHI * WIDE, dchi);
        ADD_TO(dcoef + E_H * WIDE, de_h);
        ADD_TO(dcoef + E_V * WIDE, de_v);
        ADD_TO(dc, F(conj)(dc1));
        ADD_TO(dc + WIDE, F(conj)(dc2));
    }
    real d = 0;
    for (int j = 0; j < cols; j++) {
        real out = dy[j * dy_stride];
        d = mul_add_1(out, u[j * u_stride], d);
        if (du) du[j * du_stride] += mul_add_1(centre, out, sum_lanes(load(sums + j * LANES)));
    }
    *dcentre += d;
}

/* clang-format off */
#define STATE_TABLE(suffix)                                                                        \
    {kernel_row_##suffix, kernel_emit_##suffix, kernel_emit_back_##suffix,                         \
     kernel_row_back_##suffix, scan_row_##suffix, scan_row_back_##suffix}
/* clang-format on */

#undef F
#undef NUM
#undef WIDE
#undef COEF
#undef ADD_TO
#undef STATE_OF
#undef H_OF
#undef V_OF
