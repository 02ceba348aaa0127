/* cpu - which instruction set to use: the best the machine has, or what the user asks for to reach
 * every path. */
#ifndef SSM2D_CORE_CPU_H
#define SSM2D_CORE_CPU_H

#include "ssm2d.h"

typedef enum cpu_level { CPU_BASELINE, CPU_AVX2, CPU_AVX512, CPU_LEVELS } cpu_level;

extern const char *const cpu_names[CPU_LEVELS];

cpu_level cpu_best(void);
/* wanted: a name, or NULL for SSM2D_CPU in the environment, else the best. Refuses unknown names
 * and what is not there. */
ssm2d_status cpu_choose(const char *wanted, cpu_level *level, ssm2d_error *error);

#endif
