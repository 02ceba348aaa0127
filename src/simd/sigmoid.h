/* sigmoid - the logistic function and SiLU (x * sigmoid(x)) of a vector, with their derivatives. */

INLINE vec sigmoid_of(vec x) { return 1 / (1 + vec_exp(not_above(not_below(-x, -FAR), FAR))); }
INLINE vec sigmoid_slope(vec y) { return y * (1 - y); }

/* SiLU and its derivative, given s = sigmoid_of(x). sigmoid_of clamps x at -FAR, and its value
 * there times a large negative x would not be small, so x is clamped as well. */
INLINE vec silu_from(vec x, vec s) { return not_below(x, -FAR) * s; }
/* SiLU - y */
INLINE vec silu_from_minus(vec x, vec s, vec y) { return mul_sub(not_below(x, -FAR), s, y); }
INLINE vec silu_slope_from(vec x, vec s)
{
    return s * mul_add(not_above(not_below(x, -FAR), FAR), 1 - s, all(1));
}

INLINE vec silu_of(vec x) { return silu_from(x, sigmoid_of(x)); }
INLINE vec silu_slope(vec x) { return silu_slope_from(x, sigmoid_of(x)); }
