/* cpu - the instruction set to use: the best of the machine, or the one that the user asks for. */
#ifndef SSM2D_CORE_CPU_H
#define SSM2D_CORE_CPU_H

#include "ssm2d.h"

typedef enum cpu_level { CPU_BASELINE, CPU_AVX2, CPU_AVX512, CPU_LEVELS } cpu_level;

extern const char *const cpu_names[CPU_LEVELS];

cpu_level cpu_best(void);
/* wanted: a name; NULL: SSM2D_CPU in the environment, else the best. Refuses unknown names, and
 * instruction sets that the machine lacks. */
ssm2d_status cpu_choose(const char *wanted, cpu_level *level, ssm2d_error *error);

#endif
