/* scan_roesser - one row of the selective Roesser model, for one vector of channels
 * (scan_roesser_row in scan_table.h). With Sl the state S^r of the cell above, Su the state S^d of
 * the cell on the left:
 *     S^r = t_rl*Sl + t_ru*Su + s_r*k*v     S^d = t_dl*Sl + t_du*Su + s_d*k*v
 *     y += sum over states of q*(m_l*Sl + m_u*Su) */

static void scan_roesser_forward(const scan_roesser_row *s)
{
    const int N = s->states;
    for (int n = 0; n < N; n++) store(s->left + n * LANES, all(0));
    for (int j = 0; j < s->cols; j++) {
        vec g[ROESSER_GATES], sum = all(0);
        for (int i = 0; i < ROESSER_GATES; i++)
            g[i] = load(s->gates + ((ptrdiff_t)j * ROESSER_GATES + i) * LANES);
        const vec v = load(s->v + j * s->v_step);
        for (int n = 0; n < N; n++) {
            const ptrdiff_t at = ((ptrdiff_t)j * N + n) * LANES;
            const vec l = load(s->up + at), u = load(s->left + n * LANES);
            const vec source = load(s->k + at) * v;
            const vec r = mul_add(g[ROESSER_T_RL], l, g[ROESSER_T_RU] * u);
            const vec d = mul_add(g[ROESSER_T_DL], l, g[ROESSER_T_DU] * u);
            if (s->kept) store(s->kept + 2 * at, l), store(s->kept + 2 * at + LANES, u);
            sum = mul_add(load(s->q + at), mul_add(g[ROESSER_M_L], l, g[ROESSER_M_U] * u), sum);
            store(s->up + at, mul_add(g[ROESSER_S_R], source, r));
            store(s->left + n * LANES, mul_add(g[ROESSER_S_D], source, d));
        }
        if (s->y) store(s->y + j * s->step, mul_add(all(s->scale), sum, load(s->y + j * s->step)));
    }
}

static void scan_roesser_back_one(const scan_roesser_row *s, const scan_roesser_back *r)
{
    const int N = s->states;
    for (int n = 0; n < N; n++) store(r->dright + n * LANES, all(0));
    for (int j = s->cols; j--;) {
        vec g[ROESSER_GATES], dg[ROESSER_GATES], dv = load(r->dv + j * s->v_step);
        for (int i = 0; i < ROESSER_GATES; i++) {
            g[i] = load(s->gates + ((ptrdiff_t)j * ROESSER_GATES + i) * LANES);
            dg[i] = all(0);
        }
        const vec v = load(s->v + j * s->v_step), dy = s->scale * load(r->dy + j * s->step);
        for (int n = 0; n < N; n++) {
            const ptrdiff_t at = ((ptrdiff_t)j * N + n) * LANES;
            const vec l = load(s->kept + 2 * at), u = load(s->kept + 2 * at + LANES);
            const vec lam_r = load(r->ddown + at), lam_d = load(r->dright + n * LANES);
            const vec k = load(s->k + at), source = k * v, G = load(s->q + at) * dy;
            const vec lam = mul_add(g[ROESSER_S_R], lam_r, g[ROESSER_S_D] * lam_d);
            dg[ROESSER_T_RL] = mul_add(lam_r, l, dg[ROESSER_T_RL]);
            dg[ROESSER_T_RU] = mul_add(lam_r, u, dg[ROESSER_T_RU]);
            dg[ROESSER_T_DL] = mul_add(lam_d, l, dg[ROESSER_T_DL]);
            dg[ROESSER_T_DU] = mul_add(lam_d, u, dg[ROESSER_T_DU]);
            dg[ROESSER_S_R] = mul_add(lam_r, source, dg[ROESSER_S_R]);
            dg[ROESSER_S_D] = mul_add(lam_d, source, dg[ROESSER_S_D]);
            dg[ROESSER_M_L] = mul_add(G, l, dg[ROESSER_M_L]);
            dg[ROESSER_M_U] = mul_add(G, u, dg[ROESSER_M_U]);
            store(r->dq + at, dy * mul_add(g[ROESSER_M_L], l, g[ROESSER_M_U] * u));
            store(r->dk + at, lam * v);
            dv = mul_add(lam, k, dv);
            const vec down = mul_add(g[ROESSER_T_RL], lam_r, g[ROESSER_T_DL] * lam_d);
            const vec right = mul_add(g[ROESSER_T_RU], lam_r, g[ROESSER_T_DU] * lam_d);
            store(r->ddown + at, mul_add(g[ROESSER_M_L], G, down));
            store(r->dright + n * LANES, mul_add(g[ROESSER_M_U], G, right));
        }
        store(r->dv + j * s->v_step, dv);
        for (int i = 0; i < ROESSER_GATES; i++)
            store(r->dgates + ((ptrdiff_t)j * ROESSER_GATES + i) * LANES, dg[i]);
    }
}

static void scan_sigmoid(real *y, const real *x, size_t n)
{
    for (size_t i = 0; i < n * (size_t)LANES; i += (size_t)LANES) {
        const vec v = load(x + i), e = scan_exp(smaller(-v, v));
        store(y + i, choose(v < 0, e, all(1)) / (1 + e));
    }
}

static void scan_tanh(real *y, const real *x, size_t n)
{
    for (size_t i = 0; i < n * (size_t)LANES; i += (size_t)LANES) {
        const vec v = load(x + i), e = scan_exp(2 * smaller(-v, v)), t = (1 - e) / (1 + e);
        store(y + i, choose(v < 0, -t, t));
    }
}

#define SCAN_TABLE                                                                                 \
    {                                                                                              \
        .softplus = scan_softplus, .product = scan_product, .sum_lanes = scan_sum_lanes,           \
        .forward = {scan_forward_line, scan_forward_twice, scan_forward_pair,                      \
                    scan_forward_shared},                                                          \
        .back = {scan_back_line, scan_back_twice, scan_back_pair, scan_back_shared},               \
        .gates = scan_gates, .gates_back = scan_gates_back, .step_forward = scan_step_forward,     \
        .step_back = scan_step_back_one, .roesser_forward = scan_roesser_forward,                  \
        .roesser_back = scan_roesser_back_one, .sigmoid = scan_sigmoid, .tanh = scan_tanh          \
    }
