/* sigmoid - the logistic function and SiLU, x times the sigmoid of x, with their slopes; of a
 * vector. */

INLINE vec sigmoid_of(vec x) { return 1 / (1 + vec_exp(not_above(not_below(-x, -FAR), FAR))); }
INLINE vec sigmoid_slope(vec y) { return y * (1 - y); }
INLINE vec silu_of(vec x) { return x * sigmoid_of(x); }

INLINE vec silu_slope(vec x)
{
    vec s = sigmoid_of(x);
    return s * (1 + x * (1 - s));
}
