/* norm - layer norm of one row; the moments in two passes over elements that are in the first-level
 * cache by then. */

static void norm(real *y, real *stats, const real *x, const real *gamma, const real *beta, size_t n,
                 real eps)
{
    const size_t whole = n / LANES * LANES, rest = n - whole;
    const mask there = first_lanes(rest);
    vec sum = {0}, more = {0};
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        sum += load(x + i);
        more += load(x + i + LANES);
    }
    for (; i < whole; i += LANES) sum += load(x + i);
    if (rest) more += load_part(x + whole, rest);
    const real mean = sum_lanes(sum + more) / (real)n;
    sum = more = (vec){0};
    for (i = 0; i + 2 * LANES <= n; i += 2 * LANES) {
        vec a = load(x + i) - mean, b = load(x + i + LANES) - mean;
        sum = mul_add(a, a, sum);
        more = mul_add(b, b, more);
    }
    for (; i < whole; i += LANES) sum = mul_add(load(x + i) - mean, load(x + i) - mean, sum);
    if (rest) {
        vec a = keep(there, load_part(x + whole, rest) - mean);
        more = mul_add(a, a, more);
    }
    const real scale = 1 / real_sqrt(sum_lanes(sum + more) / (real)n + eps);
    for (i = 0; i < whole; i += LANES)
        store(y + i, mul_add((load(x + i) - mean) * scale, load(gamma + i), load(beta + i)));
    for (; i < n; i++) y[i] = mul_add_1((x[i] - mean) * scale, gamma[i], beta[i]);
    if (!stats) return;
    stats[0] = mean;
    stats[1] = scale;
}

/* dx = scale * (d - mean(d) - z mean(d z)) with z = (x - mean) scale and d = dy gamma */
static void norm_back(real *dx, real *dgamma, real *dbeta, const real *dy, const real *x,
                      const real *stats, const real *gamma, size_t n, int adds)
{
    const size_t whole = n / LANES * LANES;
    const real mean = stats[0], scale = stats[1];
    vec sum = {0}, along = {0};
    size_t i = 0;
    for (; i < whole; i += LANES) {
        vec d = load(dy + i), z = (load(x + i) - mean) * scale;
        store(dbeta + i, load(dbeta + i) + d);
        store(dgamma + i, mul_add(d, z, load(dgamma + i)));
        d *= load(gamma + i);
        sum += d;
        along = mul_add(d, z, along);
    }
    real sum_all = sum_lanes(sum), along_all = sum_lanes(along);
    for (; i < n; i++) {
        real d = dy[i], z = (x[i] - mean) * scale;
        dbeta[i] += d;
        dgamma[i] = mul_add_1(d, z, dgamma[i]);
        d *= gamma[i];
        sum_all += d;
        along_all = mul_add_1(d, z, along_all);
    }
    if (!dx) return;
    const real a = scale * sum_all / (real)n, b = scale * along_all / (real)n;
    for (i = 0; i < whole; i += LANES) {
        vec d = mul_sub(load(dy + i) * load(gamma + i), all(scale), all(a));
        d = sub_mul(d, (load(x + i) - mean) * scale, all(b));
        store(dx + i, adds ? load(dx + i) + d : d);
    }
    for (; i < n; i++) {
        real d = mul_add_1(dy[i] * gamma[i], scale, -a);
        d = mul_add_1((x[i] - mean) * scale, -b, d);
        dx[i] = d + (adds ? dx[i] : 0);
    }
}
