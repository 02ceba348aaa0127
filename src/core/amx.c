#define _GNU_SOURCE /* syscall */
#include "core/amx.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CPUID leaf 7: bits of EDX; XCR0: the state that the system saves. */
enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, TILE_STATE = 3 << 17, OSXSAVE = 1 << 27 };
/* Linux: asks for a state that is too large for signal stacks of old programs. The system refuses
 * where such a stack is in use. */
enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

static int has_tiles(void)
{
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & AMX_BF16) || !(d & AMX_TILE)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & TILE_STATE) == TILE_STATE;
}

int amx_permitted(void)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic int answer = UNKNOWN; /* the same from every thread */
    if (answer == UNKNOWN)
        answer = has_tiles() && !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
                     ? YES
                     : NO;
    return answer == YES;
}

#else

int amx_permitted(void) { return 0; }

#endif
