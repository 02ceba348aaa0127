/* scan_step - one row of the 2-D SSM whose coefficients are raised to a step of the receiving cell,
 * for one vector of channels (scan_step_row in scan_table.h). States of a source's own row and
 * column, r and q, and elsewhere, P and Q; l is the cell on the left, u the cell above:
 *     r = g1*(a1*r_l + e_h*x_l)     P = g*(a1*P_l + a2*(Q_l + q_l))     e_h = a1*b1 + a2*b2
 *     q = g1*(a4*q_u + e_v*x_u)     Q = g*(a3*(P_u + r_u) + a4*Q_u)     e_v = a3*b1 + a4*b2
 *     y += sum over n of c1*(b1*x + r + P) + c2*(b2*x + q + Q)          x = u, or dt*u */

static void scan_gates(real *gates, const real *dt, const real *rate, int cols, int states)
{
    for (int j = 0; j < cols; j++) {
        const vec now = -load(dt + j * LANES);
        for (int i = 0; i < 4 * states; i++, gates += LANES)
            store(gates, scan_exp(now * load(rate + i * LANES)));
    }
}

static void scan_gates_back(real *ddt, real *drate, const real *dgates, const real *gates,
                            const real *dt, const real *rate, int cols, int states)
{
    for (int j = 0; j < cols; j++) {
        const vec now = load(dt + j * LANES);
        vec sum = load(ddt + j * LANES);
        for (int i = 0; i < 4 * states; i++, gates += LANES, dgates += LANES) {
            const vec t = load(dgates) * load(gates);
            sum = sub_mul(sum, t, load(rate + i * LANES));
            store(drate + i * LANES, sub_mul(load(drate + i * LANES), t, now));
        }
        store(ddt + j * LANES, sum);
    }
}

enum { STEP_R, STEP_P, STEP_Q, STEP_QQ };

INLINE void scan_step_forward_row(const int cellwise, const scan_step_row *s)
{
    const int N = s->states;
    const vec same = all(s->same), other = all(s->other);
    vec x_left = all(0);
    for (int i = 0; i < 4 * N; i++) store(s->left + i * LANES, all(0));
    for (int j = 0; j < s->cols; j++) {
        const vec u = load(s->u + j * s->step), x = s->dt ? u * load(s->dt + j * LANES) : u;
        const vec x_up = load(s->x_up + j * LANES);
        const real *a = s->gates + (ptrdiff_t)j * 4 * N * LANES, *b = s->b, *c = s->c;
        const real *cc = cellwise ? s->c_cell + (ptrdiff_t)j * 2 * N * LANES : NULL;
        real *up = s->up + (ptrdiff_t)j * 4 * N * LANES, *left = s->left;
        real *kept = s->kept ? s->kept + (ptrdiff_t)j * 4 * N * LANES : up;
        vec sum1 = all(0), sum2 = all(0);
        for (int n = 0; n < N; n++) {
            const vec a1 = load(a), a2 = load(a + LANES), a3 = load(a + 2 * LANES),
                      a4 = load(a + 3 * LANES), b1 = load(b), b2 = load(b + LANES);
            const vec e_h = mul_add(a1, b1, a2 * b2), e_v = mul_add(a3, b1, a4 * b2);
            const vec r = same * mul_add(a1, load(left + STEP_R * LANES), e_h * x_left);
            const vec w_left = load(left + STEP_Q * LANES) + load(left + STEP_QQ * LANES);
            const vec P = other * mul_add(a1, load(left + STEP_P * LANES), a2 * w_left);
            const vec w_up = load(up + STEP_R * LANES) + load(up + STEP_P * LANES);
            const vec q = same * mul_add(a4, load(up + STEP_Q * LANES), e_v * x_up);
            const vec Q = other * mul_add(a4, load(up + STEP_QQ * LANES), a3 * w_up);
            vec c1 = load(c), c2 = load(c + LANES);
            if (cellwise) c1 += load(cc), c2 += load(cc + LANES), cc += 2 * LANES;
            store(left + STEP_R * LANES, r), store(left + STEP_P * LANES, P);
            store(left + STEP_Q * LANES, q), store(left + STEP_QQ * LANES, Q);
            store(up + STEP_R * LANES, r), store(up + STEP_P * LANES, P);
            store(up + STEP_Q * LANES, q), store(up + STEP_QQ * LANES, Q);
            if (s->kept) {
                store(kept + STEP_R * LANES, r), store(kept + STEP_P * LANES, P);
                store(kept + STEP_Q * LANES, q), store(kept + STEP_QQ * LANES, Q);
            }
            sum1 = mul_add(c1, mul_add(b1, x, r + P), sum1);
            sum2 = mul_add(c2, mul_add(b2, x, q + Q), sum2);
            a += 4 * LANES, b += 2 * LANES, c += 2 * LANES;
            left += 4 * LANES, up += 4 * LANES, kept += 4 * LANES;
        }
        store(s->x_up + j * LANES, x);
        x_left = x;
        if (s->y) {
            real *y = s->y + j * s->step;
            store(y, mul_add(load(s->skip), u, load(y) + (sum1 + sum2)));
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

/* rho, Pi, chi and The are the gradients of r, P, q and Q. dright has g1*a1*rho, g*a1*Pi and
 * g*a2*Pi of the cell on the right, ddown g1*a4*chi, g*a3*The and g*a4*The of the cell below. */
INLINE void scan_step_back_row(const int cellwise, const scan_step_row *s, const scan_step_back *r)
{
    const int N = s->states;
    const vec same = all(s->same), other = all(s->other);
    vec dx_right = all(0), dskip = load(r->dskip);
    for (int i = 0; i < 3 * N; i++) store(r->dright + i * LANES, all(0));
    for (int j = s->cols; j--;) {
        const vec u = load(s->u + j * s->step), dt = s->dt ? load(s->dt + j * LANES) : all(1);
        const vec x = s->dt ? u * dt : u, dy = load(r->dy + j * s->step);
        vec x_left = j ? load(s->u + (j - 1) * s->step) : all(0);
        if (j && s->dt) x_left *= load(s->dt + (j - 1) * LANES);
        const vec x_up = load(r->x_before + j * LANES);
        const ptrdiff_t at = (ptrdiff_t)j * N * LANES;
        const real *a = s->gates + 4 * at, *b = s->b, *c = s->c, *now = r->kept + 4 * at;
        const real *up = r->up_before + 4 * at, *left = now - 4 * N * LANES;
        real *dright = r->dright, *ddown = r->ddown + 3 * at, *dgates = r->dgates + 4 * at;
        real *db = r->db, *dc = r->dc;
        const real *cc = cellwise ? s->c_cell + 2 * at : NULL;
        real *dcc = cellwise ? r->dc_cell + 2 * at : NULL;
        vec dx = dx_right + load(r->dx_down + j * LANES), dx_l = all(0), dx_u = all(0);
        for (int n = 0; n < N; n++) {
            const vec a1 = load(a), a2 = load(a + LANES), a3 = load(a + 2 * LANES),
                      a4 = load(a + 3 * LANES), b1 = load(b), b2 = load(b + LANES);
            vec c1 = load(c), c2 = load(c + LANES);
            if (cellwise) c1 += load(cc), c2 += load(cc + LANES), cc += 2 * LANES;
            const vec d1 = c1 * dy, d2 = c2 * dy;
            const vec from_row = d1 + load(ddown + LANES);      /* g*a3*The */
            const vec from_col = d2 + load(dright + 2 * LANES); /* g*a2*Pi */
            const vec rho = same * (from_row + load(dright)),
                      Pi = other * (from_row + load(dright + LANES)),
                      chi = same * (from_col + load(ddown)),
                      The = other * (from_col + load(ddown + 2 * LANES));
            const vec r_l = j ? load(left + STEP_R * LANES) : all(0),
                      P_l = j ? load(left + STEP_P * LANES) : all(0),
                      w_l = j ? load(left + STEP_Q * LANES) + load(left + STEP_QQ * LANES) : all(0);
            const vec q_u = load(up + STEP_Q * LANES), Q_u = load(up + STEP_QQ * LANES),
                      w_u = load(up + STEP_R * LANES) + load(up + STEP_P * LANES);
            const vec rho_x = rho * x_left, chi_x = chi * x_up;
            vec t = mul_add(rho, r_l, load(dgates));
            store(dgates, mul_add(Pi, P_l, mul_add(rho_x, b1, t)));
            t = mul_add(Pi, w_l, load(dgates + LANES));
            store(dgates + LANES, mul_add(rho_x, b2, t));
            t = mul_add(The, w_u, load(dgates + 2 * LANES));
            store(dgates + 2 * LANES, mul_add(chi_x, b1, t));
            t = mul_add(chi, q_u, load(dgates + 3 * LANES));
            store(dgates + 3 * LANES, mul_add(The, Q_u, mul_add(chi_x, b2, t)));
            t = mul_add(d1, x, load(db));
            store(db, mul_add(a1, rho_x, mul_add(a3, chi_x, t)));
            t = mul_add(d2, x, load(db + LANES));
            store(db + LANES, mul_add(a2, rho_x, mul_add(a4, chi_x, t)));
            const vec out1 =
                mul_add(b1, x, load(now + STEP_R * LANES) + load(now + STEP_P * LANES));
            const vec out2 =
                mul_add(b2, x, load(now + STEP_Q * LANES) + load(now + STEP_QQ * LANES));
            store(dc, mul_add(dy, out1, load(dc)));
            store(dc + LANES, mul_add(dy, out2, load(dc + LANES)));
            if (cellwise) {
                store(dcc, mul_add(dy, out1, load(dcc)));
                store(dcc + LANES, mul_add(dy, out2, load(dcc + LANES)));
                dcc += 2 * LANES;
            }
            dx = mul_add(d1, b1, mul_add(d2, b2, dx));
            dx_l = mul_add(mul_add(a1, b1, a2 * b2), rho, dx_l);
            dx_u = mul_add(mul_add(a3, b1, a4 * b2), chi, dx_u);
            store(dright, a1 * rho), store(dright + LANES, a1 * Pi);
            store(dright + 2 * LANES, a2 * Pi);
            store(ddown, a4 * chi), store(ddown + LANES, a3 * The);
            store(ddown + 2 * LANES, a4 * The);
            a += 4 * LANES, b += 2 * LANES, c += 2 * LANES, now += 4 * LANES, up += 4 * LANES;
            left += 4 * LANES, dright += 3 * LANES, ddown += 3 * LANES, dgates += 4 * LANES;
            db += 2 * LANES, dc += 2 * LANES;
        }
        store(r->dx_down + j * LANES, dx_u);
        dx_right = dx_l;
        real *du = r->du + j * s->step;
        store(du, mul_add(load(s->skip), dy, mul_add(dx, dt, load(du))));
        if (s->dt) store(r->ddt + j * LANES, mul_add(dx, u, load(r->ddt + j * LANES)));
        dskip = mul_add(dy, u, dskip);
    }
    store(r->dskip, dskip);
}

static void scan_step_back_one(const scan_step_row *s, const scan_step_back *r)
{
    if (s->c_cell)
        scan_step_back_row(1, s, r);
    else
        scan_step_back_row(0, s, r);
}
