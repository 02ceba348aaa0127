/* amx - whether this process may use the tile registers of AMX. */
#ifndef SSM2D_CORE_AMX_H
#define SSM2D_CORE_AMX_H

/* Whether the processor has tiles and multiplies bfloat16 in them, and the system lets this process
 * use them, for which the first call asks it. Answers that a hypervisor may hide (CPUID leaf 0x1D)
 * do not matter. Where this is 1, tile instructions are legal on every thread, also after fork. */
int amx_permitted(void);

#endif
