/* tile_traps - runs compiled AMX code on processors without AMX: each tile instruction raises
 * SIGILL, and the handler does what Intel's manual says of it, computing float32 with integers. So
 * what the compiler made of the intrinsics is tested everywhere: configuration, operands, and that
 * what is read has been written before. */
#ifndef SSM2D_TESTS_TILE_TRAPS_H
#define SSM2D_TESTS_TILE_TRAPS_H

#include "soft_float.h"

#include <signal.h>
#include <stddef.h>

#if defined(__x86_64__) && defined(__linux__)

#include <ucontext.h>

enum { TRAP_TILES = 8, TRAP_SIDE = 16, TRAP_LINE = 64 };

/* What the handler has seen. bad: the line of the first thing that is wrong, or 0. */
static struct {
    uint32_t tile[TRAP_TILES][TRAP_SIDE][TRAP_SIDE];
    int configured, bad;
    long instructions, products;
} traps;

static struct sigaction trap_before;

#define TRAP_WRONG()                                                                               \
    do {                                                                                           \
        if (!traps.bad) traps.bad = __LINE__;                                                      \
    } while (0)

static greg_t trap_register(const ucontext_t *u, int number)
{
    static const int place[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};
    return u->uc_mcontext.gregs[place[number]];
}

/* An operand in memory, and where the instruction ends. */
typedef struct trap_operand {
    char *base; /* with the displacement */
    greg_t index;
    const uint8_t *end;
} trap_operand;

static trap_operand trap_address(const ucontext_t *u, const uint8_t *at, int x, int b)
{
    const int mod = at[0] >> 6, rm = at[0] & 7;
    trap_operand o = {0};
    greg_t base = 0;
    int wide = mod == 2;
    at++;
    if (rm == 4) {
        const int index = (*at >> 3 & 7) | x, low = *at & 7;
        if (index != 4) o.index = (greg_t)((uint64_t)trap_register(u, index) << (*at >> 6));
        wide |= mod == 0 && low == 5;
        if (!(mod == 0 && low == 5)) base = trap_register(u, low | b);
        at++;
    } else if (mod == 0 && rm == 5) { /* relative to the next instruction */
        base = (greg_t)(uintptr_t)(at + 4);
        wide = 1;
    } else {
        base = trap_register(u, rm | b);
    }
    if (wide) {
        int32_t displacement;
        memcpy(&displacement, at, 4);
        base += displacement;
        at += 4;
    } else if (mod == 1) {
        base += (int8_t)*at++;
    }
    o.base = (char *)(uintptr_t)base;
    o.end = at;
    return o;
}

static void trap_configure(const char *from)
{
    unsigned char want[TRAP_LINE] = {1};
    for (int i = 0; i < TRAP_TILES; i++) want[16 + 2 * i] = TRAP_LINE, want[48 + i] = TRAP_SIDE;
    if (memcmp(from, want, sizeof want)) TRAP_WRONG();
    memset(traps.tile, 0, sizeof traps.tile);
    traps.configured = 1;
}

static float trap_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void trap_multiply(int sums, int left, int right)
{
    if (sums == left || sums == right || left == right) TRAP_WRONG();
    for (int i = 0; i < TRAP_SIDE; i++)
        for (int j = 0; j < TRAP_SIDE; j++) {
            float half[2] = {0, 0}, *sum = (float *)&traps.tile[sums][i][j];
            for (int k = 0; k < TRAP_SIDE; k++) {
                const uint32_t a = traps.tile[left][i][k], b = traps.tile[right][k][j];
                half[0] = soft_mul_add(trap_float(a << 16), trap_float(b << 16), half[0]);
                half[1] =
                    soft_mul_add(trap_float(a & 0xffff0000), trap_float(b & 0xffff0000), half[1]);
            }
            *sum = soft_add(*sum, soft_add(half[0], half[1]));
        }
    traps.products++;
}

static void trap_instruction(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    const uint8_t *at = (const uint8_t *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    (void)number, (void)info;
    const int x = at[1] & 0x40 ? 0 : 8, b = at[1] & 0x20 ? 0 : 8, prefix = at[2] & 3,
              third = ~at[2] >> 3 & 15, code = at[3], tile = at[4] >> 3 & 7,
              is_memory = at[4] < 0xc0;
    if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || (code != 0x49 && code != 0x4b && code != 0x5c)) {
        sigaction(SIGILL, &trap_before, NULL); /* not ours: it is raised again */
        return;
    }
    const trap_operand o =
        is_memory ? trap_address(u, at + 4, x, b) : (trap_operand){.end = at + 5};
    if (code == 0x49 && is_memory && prefix == 0)
        trap_configure(o.base);
    else if (!traps.configured)
        TRAP_WRONG();
    else if (code == 0x49 && prefix == 0)
        traps.configured = 0;
    else if (code == 0x49 && prefix == 3)
        memset(traps.tile[tile], 0, sizeof traps.tile[tile]);
    else if (code == 0x4b && prefix >= 2)
        for (int i = 0; i < TRAP_SIDE; i++) {
            char *row = o.base + i * o.index;
            if (prefix == 3)
                memcpy(traps.tile[tile][i], row, TRAP_LINE);
            else
                memcpy(row, traps.tile[tile][i], TRAP_LINE);
        }
    else if (code == 0x5c && prefix == 2)
        trap_multiply(tile, at[4] & 7, third);
    else
        TRAP_WRONG();
    traps.instructions++;
    u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)o.end;
}

static void traps_start(void)
{
    struct sigaction action = {.sa_sigaction = trap_instruction, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    memset(&traps, 0, sizeof traps);
    sigaction(SIGILL, &action, &trap_before);
}

static void traps_end(void) { sigaction(SIGILL, &trap_before, NULL); }

#endif
#endif
