/* gemm_bias - the gradient of the bias, which gemm_tn computes beside that of the weights. */

/* db (+)= the sum of the rows of dy, two vectors of columns at a time */
static void tn_bias(real *db, const real *dy, size_t dy_row, size_t rows, size_t cols, int adds)
{
    size_t c = 0;
    for (; c + 2 * LANES <= cols; c += 2 * LANES) {
        vec one = {0}, two = {0};
        for (size_t r = 0; r < rows; r++) {
            one += load(dy + r * dy_row + c);
            two += load(dy + r * dy_row + c + LANES);
        }
        store(db + c, adds ? load(db + c) + one : one);
        store(db + c + LANES, adds ? load(db + c + LANES) + two : two);
    }
    for (; c < cols; c++) {
        real sum = 0;
        for (size_t r = 0; r < rows; r++) sum += dy[r * dy_row + c];
        db[c] = adds ? db[c] + sum : sum;
    }
}
