/* scan_step - one row of the 2-D SSM whose coefficients are raised to a step of the receiving cell,
 * for one vector of channels (scan_step_row in scan_table.h). States of a source's own row and
 * column, r and q, and elsewhere, P and Q; l is the cell on the left, u the cell above:
 *     r = g1*(a1*r_l + e_h*x_l)     P = g*(a1*P_l + a2*(Q_l + q_l))     e_h = a1*b1 + a2*b2
 *     q = g1*(a4*q_u + e_v*x_u)     Q = g*(a3*(P_u + r_u) + a4*Q_u)     e_v = a3*b1 + a4*b2
 *     y += sum over n of c1*(b1*x + r + P) + c2*(b2*x + q + Q)          x = u, or dt*u
 * The loop over cells is the inner one, so that what moves along the row stays in registers. */

static void scan_gates(real *gates, const real *dt, const real *rate, int cols, int states)
{
    for (int n = 0; n < states; n++, rate += 4 * LANES) {
        const vec r1 = load(rate), r2 = load(rate + LANES), r3 = load(rate + 2 * LANES),
                  r4 = load(rate + 3 * LANES);
        for (int j = 0; j < cols; j++, gates += 4 * LANES) {
            const vec now = -load(dt + j * LANES);
            store(gates, scan_exp(now * r1)), store(gates + LANES, scan_exp(now * r2));
            store(gates + 2 * LANES, scan_exp(now * r3));
            store(gates + 3 * LANES, scan_exp(now * r4));
        }
    }
}

static void scan_gates_back(real *ddt, real *drate, const real *dgates, const real *gates,
                            const real *dt, const real *rate, int cols, int states)
{
    for (int n = 0; n < states; n++, rate += 4 * LANES, drate += 4 * LANES) {
        vec sum[4], by[4];
        for (int m = 0; m < 4; m++)
            sum[m] = load(drate + m * LANES), by[m] = load(rate + m * LANES);
        for (int j = 0; j < cols; j++, gates += 4 * LANES, dgates += 4 * LANES) {
            const vec now = load(dt + j * LANES);
            vec d = load(ddt + j * LANES);
#pragma GCC unroll 4
            for (int m = 0; m < 4; m++) {
                const vec t = load(dgates + m * LANES) * load(gates + m * LANES);
                d = sub_mul(d, t, by[m]);
                sum[m] = sub_mul(sum[m], t, now);
            }
            store(ddt + j * LANES, d);
        }
        for (int m = 0; m < 4; m++) store(drate + m * LANES, sum[m]);
    }
}

enum { STEP_R, STEP_P, STEP_Q, STEP_QQ };

INLINE vec scan_state(const real *states, int k) { return load(states + k * LANES); }

INLINE void scan_step_forward_row(const int cellwise, const scan_step_row *s)
{
    const int N = s->states, cols = s->cols;
    const vec same = all(s->same), other = all(s->other);
    const real *a = s->gates, *up = s->before, *cc = s->c_cell;
    real *now = s->now;
    for (int j = 0; j < cols; j++) {
        const vec u = load(s->u + j * s->step);
        store(s->x_now + j * LANES, s->dt ? u * load(s->dt + j * LANES) : u);
        if (!s->y || !s->skip) continue;
        real *y = s->y + j * s->step;
        store(y, mul_add(load(s->skip), u, load(y)));
    }
    for (int n = 0; n < N; n++) {
        const vec b1 = load(s->b + 2 * n * LANES), b2 = load(s->b + (2 * n + 1) * LANES);
        const vec c1_all = load(s->c + 2 * n * LANES), c2_all = load(s->c + (2 * n + 1) * LANES);
        vec r = all(0), P = all(0), w = all(0), x_left = all(0);
        for (int j = 0; j < cols; j++, a += 4 * LANES, up += 4 * LANES, now += 4 * LANES) {
            const vec a1 = load(a), a2 = load(a + LANES), a3 = load(a + 2 * LANES),
                      a4 = load(a + 3 * LANES);
            const vec e_h = mul_add(a1, b1, a2 * b2), e_v = mul_add(a3, b1, a4 * b2);
            const vec x_up = load(s->x_before + j * LANES);
            const vec w_up = scan_state(up, STEP_R) + scan_state(up, STEP_P);
            r = same * mul_add(a1, r, e_h * x_left);
            P = other * mul_add(a1, P, a2 * w);
            const vec q = same * mul_add(a4, scan_state(up, STEP_Q), e_v * x_up);
            const vec Q = other * mul_add(a4, scan_state(up, STEP_QQ), a3 * w_up);
            w = q + Q;
            x_left = load(s->x_now + j * LANES);
            store(now + STEP_R * LANES, r), store(now + STEP_P * LANES, P);
            store(now + STEP_Q * LANES, q), store(now + STEP_QQ * LANES, Q);
            if (!s->y) continue;
            vec c1 = c1_all, c2 = c2_all;
            if (cellwise) c1 += load(cc), c2 += load(cc + LANES), cc += 2 * LANES;
            real *y = s->y + j * s->step;
            const vec out = mul_add(c1, mul_add(b1, x_left, r + P), load(y));
            store(y, mul_add(c2, mul_add(b2, x_left, w), out));
        }
    }
}

static void scan_step_forward(const scan_step_row *s)
{
    if (s->c_cell)
        scan_step_forward_row(1, s);
    else
        scan_step_forward_row(0, s);
}

/* rho, Pi, chi and The are the gradients of r, P, q and Q. What they give to the cell on the left:
 * g1*a1*rho to its r, g*a1*Pi to its P, and g*a2*Pi to its q and Q; ddown has g1*a4*chi, g*a3*The
 * and g*a4*The of the cell below. */
INLINE void scan_step_back_row(const int cellwise, const scan_step_row *s, const scan_step_back *r)
{
    const int N = s->states, cols = s->cols;
    const vec same = all(s->same), other = all(s->other);
    for (int j = 0; j < cols; j++) {
        store(r->dx + j * LANES, load(r->dx_down + j * LANES));
        store(r->dx_down + j * LANES, all(0));
    }
    for (int n = 0; n < N; n++) {
        const ptrdiff_t first = (ptrdiff_t)n * cols;
        const vec b1 = load(s->b + 2 * n * LANES), b2 = load(s->b + (2 * n + 1) * LANES);
        const vec c1_all = load(s->c + 2 * n * LANES), c2_all = load(s->c + (2 * n + 1) * LANES);
        vec db1 = load(r->db + 2 * n * LANES), db2 = load(r->db + (2 * n + 1) * LANES);
        vec dc1 = load(r->dc + 2 * n * LANES), dc2 = load(r->dc + (2 * n + 1) * LANES);
        vec from_r = all(0), from_P = all(0), from_w = all(0), dx_right = all(0);
        const real *now = s->now + (first + cols - 1) * 4 * LANES;
        vec r_now = scan_state(now, STEP_R), P_now = scan_state(now, STEP_P),
            w_now = scan_state(now, STEP_Q) + scan_state(now, STEP_QQ),
            x = load(s->x_now + (cols - 1) * LANES);
        for (int j = cols; j--;) {
            const ptrdiff_t at = (first + j) * LANES;
            const real *a = s->gates + 4 * at, *up = s->before + 4 * at;
            const vec a1 = load(a), a2 = load(a + LANES), a3 = load(a + 2 * LANES),
                      a4 = load(a + 3 * LANES), dy = load(r->dy + j * s->step);
            vec c1 = c1_all, c2 = c2_all;
            if (cellwise) c1 += load(s->c_cell + 2 * at), c2 += load(s->c_cell + 2 * at + LANES);
            real *ddown = r->ddown + 3 * at, *dgates = r->dgates + 4 * at;
            const vec d1 = c1 * dy, d2 = c2 * dy;
            const vec of_row = d1 + load(ddown + LANES), of_col = d2 + from_w;
            const vec rho = same * (of_row + from_r), Pi = other * (of_row + from_P),
                      chi = same * (of_col + load(ddown)),
                      The = other * (of_col + load(ddown + 2 * LANES));
            vec r_l = all(0), P_l = all(0), w_l = all(0), x_l = all(0);
            if (j) {
                const real *left = s->now + 4 * (at - LANES);
                r_l = scan_state(left, STEP_R), P_l = scan_state(left, STEP_P);
                w_l = scan_state(left, STEP_Q) + scan_state(left, STEP_QQ);
                x_l = load(s->x_now + (j - 1) * LANES);
            }
            const vec q_u = scan_state(up, STEP_Q), Q_u = scan_state(up, STEP_QQ),
                      w_u = scan_state(up, STEP_R) + scan_state(up, STEP_P);
            const vec rho_x = rho * x_l, chi_x = chi * load(s->x_before + j * LANES);
            const vec g1 = mul_add(rho, r_l, load(dgates)),
                      g2 = mul_add(Pi, w_l, load(dgates + LANES)),
                      g3 = mul_add(The, w_u, load(dgates + 2 * LANES)),
                      g4 = mul_add(chi, q_u, load(dgates + 3 * LANES));
            store(dgates, mul_add(Pi, P_l, mul_add(rho_x, b1, g1)));
            store(dgates + LANES, mul_add(rho_x, b2, g2));
            store(dgates + 2 * LANES, mul_add(chi_x, b1, g3));
            store(dgates + 3 * LANES, mul_add(The, Q_u, mul_add(chi_x, b2, g4)));
            const vec out1 = dy * mul_add(b1, x, r_now + P_now), out2 = dy * mul_add(b2, x, w_now);
            db1 = mul_add(a1, rho_x, mul_add(a3, chi_x, mul_add(d1, x, db1)));
            db2 = mul_add(a2, rho_x, mul_add(a4, chi_x, mul_add(d2, x, db2)));
            dc1 += out1, dc2 += out2;
            if (cellwise) {
                real *dcc = r->dc_cell + 2 * at;
                store(dcc, load(dcc) + out1), store(dcc + LANES, load(dcc + LANES) + out2);
            }
            real *dx = r->dx + j * LANES, *dx_down = r->dx_down + j * LANES;
            store(dx, mul_add(d1, b1, mul_add(d2, b2, load(dx) + dx_right)));
            store(dx_down, mul_add(mul_add(a3, b1, a4 * b2), chi, load(dx_down)));
            dx_right = mul_add(a1, b1, a2 * b2) * rho;
            from_r = a1 * rho, from_P = a1 * Pi, from_w = a2 * Pi;
            store(ddown, a4 * chi), store(ddown + LANES, a3 * The);
            store(ddown + 2 * LANES, a4 * The);
            r_now = r_l, P_now = P_l, w_now = w_l, x = x_l;
        }
        store(r->db + 2 * n * LANES, db1), store(r->db + (2 * n + 1) * LANES, db2);
        store(r->dc + 2 * n * LANES, dc1), store(r->dc + (2 * n + 1) * LANES, dc2);
    }
    vec dskip = s->skip ? load(r->dskip) : all(0);
    for (int j = 0; j < cols; j++) {
        const vec u = load(s->u + j * s->step), dy = load(r->dy + j * s->step);
        vec dx = load(r->dx + j * LANES);
        real *du = r->du + j * s->step;
        if (s->dt) {
            store(r->ddt + j * LANES, mul_add(dx, u, load(r->ddt + j * LANES)));
            dx *= load(s->dt + j * LANES);
        }
        if (s->skip) dx = mul_add(load(s->skip), dy, dx);
        store(du, load(du) + dx);
        dskip = mul_add(dy, u, dskip);
    }
    if (s->skip) store(r->dskip, dskip);
}

static void scan_step_back_one(const scan_step_row *s, const scan_step_back *r)
{
    if (s->c_cell)
        scan_step_back_row(1, s, r);
    else
        scan_step_back_row(0, s, r);
}
