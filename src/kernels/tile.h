/* tile - moving channels between strided arrays and tiles of whole vectors.
 *
 * All vectors of a cell are moved together, so that channels that are neighbours in memory are read in one go. */

static void gather(real *tile, size_t vector_step, const real *src, size_t cells, ptrdiff_t cell_stride, ptrdiff_t lane_stride,
                   int channels)
{
    const int whole = lane_stride == 1 ? channels / LANES : 0;
    for (size_t i = 0; i < cells; i++) {
        const real *from = src + (ptrdiff_t)i * cell_stride;
        real *to = tile + i * LANES;
        for (int v = 0; v < whole; v++) store(to + (size_t)v * vector_step, load(from + v * LANES));
        for (int first = whole * LANES; first < channels; first += LANES)
            for (int l = 0; l < LANES; l++)
                to[(size_t)(first / LANES) * vector_step + l] = first + l < channels ? from[(first + l) * lane_stride] : 0;
    }
}

static void scatter(real *dst, const real *tile, size_t vector_step, size_t cells, ptrdiff_t cell_stride, ptrdiff_t lane_stride,
                    int channels, int add)
{
    const int whole = lane_stride == 1 ? channels / LANES : 0;
    for (size_t i = 0; i < cells; i++) {
        real *to = dst + (ptrdiff_t)i * cell_stride;
        const real *from = tile + i * LANES;
        for (int v = 0; v < whole; v++) {
            vec out = load(from + (size_t)v * vector_step);
            store(to + v * LANES, add ? load(to + v * LANES) + out : out);
        }
        for (int h = whole * LANES; h < channels; h++) {
            real out = from[(size_t)(h / LANES) * vector_step + (size_t)(h % LANES)];
            to[h * lane_stride] = add ? to[h * lane_stride] + out : out;
        }
    }
}
