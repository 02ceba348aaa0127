#include "core/cpu.h"

#include "core/status.h"

#include <stdlib.h>
#include <string.h>

const char *const cpu_names[CPU_LEVELS] = {"baseline", "avx2", "avx512"};

cpu_level cpu_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        return CPU_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return CPU_AVX2;
#endif
    return CPU_BASELINE;
}

ssm2d_status cpu_choose(const char *wanted, cpu_level *level, ssm2d_error *error)
{
    const char *from = "cpu";
    if (!wanted) {
        wanted = getenv("SSM2D_CPU");
        from = "SSM2D_CPU";
    }
    *level = cpu_best();
    if (!wanted || !*wanted) return SSM2D_OK;
    for (cpu_level l = CPU_BASELINE; l < CPU_LEVELS; l++) {
        if (strcmp(wanted, cpu_names[l]) != 0) continue;
#ifdef SSM2D_EMULATE_AVX512
        if (l == CPU_AVX512) *level = l;
#endif
        if (l > *level)
            return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s=%s: this machine has only %s", from,
                        wanted, cpu_names[*level]);
        *level = l;
        return SSM2D_OK;
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s=%s: use baseline, avx2 or avx512", from, wanted);
}
