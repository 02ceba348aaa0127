/* tile - moving channels between strided arrays and tiles of whole vectors. */

static void gather(real *tile, const real *src, size_t cells, ptrdiff_t cell_stride, ptrdiff_t lane_stride, int count)
{
    if (lane_stride == 1 && count == LANES) {
        for (size_t i = 0; i < cells; i++) store(tile + i * LANES, load(src + (ptrdiff_t)i * cell_stride));
        return;
    }
    for (size_t i = 0; i < cells; i++) {
        const real *from = src + (ptrdiff_t)i * cell_stride;
        for (int l = 0; l < LANES; l++) tile[i * LANES + l] = l < count ? from[l * lane_stride] : 0;
    }
}

static void scatter(real *dst, const real *tile, size_t cells, ptrdiff_t cell_stride, ptrdiff_t lane_stride, int count, int add)
{
    if (lane_stride == 1 && count == LANES) {
        for (size_t i = 0; i < cells; i++) {
            real *to = dst + (ptrdiff_t)i * cell_stride;
            vec v = load(tile + i * LANES);
            store(to, add ? load(to) + v : v);
        }
        return;
    }
    for (size_t i = 0; i < cells; i++) {
        real *to = dst + (ptrdiff_t)i * cell_stride;
        for (int l = 0; l < count; l++) to[l * lane_stride] = tile[i * LANES + l] + (add ? to[l * lane_stride] : 0);
    }
}
