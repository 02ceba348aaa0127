/* tiles_amx - the eight tile registers of AMX, each of 16 rows of 64 bytes. tiles_emulated.h has
 * the same functions.
 *
 * Between tile_start and tile_end the calling thread owns the registers. They are released after
 * every product, so that signal handlers and switches to other threads save nothing of them. The
 * number of a register is part of an instruction, hence macros. */

typedef struct tile_file {
    char unused;
} tile_file;

/* What tile instructions read is written before: gcc does not know that they read memory. */
#define tile_fence() __asm__ volatile("" : : : "memory")

INLINE void tile_start(tile_file *t)
{
    /* Palette 1; bytes of a row from byte 16, rows from byte 48. It is static because gcc believes
     * that only its first 8 bytes are read, and would leave out the rest of a local one. */
    static const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1,
                .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    (void)t;
    tile_fence();
    _tile_loadconfig(&config);
}

INLINE void tile_end(tile_file *t)
{
    (void)t;
    _tile_release();
}

/* Evaluates a call of an intrinsic, for registers that are not passed along. */
#define TILE_CALL(t, call)                                                                         \
    do {                                                                                           \
        (void)(t);                                                                                 \
        call;                                                                                      \
    } while (0)

#define tile_zero(t, number)                TILE_CALL(t, _tile_zero(number))
#define tile_load(t, number, from, stride)  TILE_CALL(t, _tile_loadd(number, from, (long)(stride)))
#define tile_store(t, number, to, stride)   TILE_CALL(t, _tile_stored(number, to, (long)(stride)))
#define tile_multiply(t, sums, left, right) TILE_CALL(t, _tile_dpbf16ps(sums, left, right))
