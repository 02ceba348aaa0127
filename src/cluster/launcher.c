#include "cluster/launcher.h"

#include <limits.h>
#include <stdlib.h>

/* The integer in a variable, at least `low`; -1 if there is none. */
static int number_in(char *(*variable)(const char *name), const char *name, int low)
{
    const char *text = variable(name);
    char *end;
    if (!text || !*text) return -1;
    const long value = strtol(text, &end, 10);
    return *end || value < low || value > INT_MAX ? -1 : (int)value;
}

/* Variables that launchers set, the most specific first. For Slurm only those that srun sets for
 * the processes that it starts: a script in an allocation of eight tasks is still one process. */
static const struct known {
    const char *name, *rank, *size;
    int is_mpich;
    int rank_suffices; /* PMIx and some PMI set only the rank */
} known[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0, 0},
    {"hydra", "PMI_RANK", "PMI_SIZE", 1, 1},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", 1, 0},
    {"prterun", "PMIX_RANK", "PRTE_NUM_PROCS", 0, 1},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", 0, 0},
};

launcher launcher_find(char *(*variable)(const char *name))
{
    const int step = number_in(variable, "SLURM_STEP_NUM_TASKS", 1);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct known *k = &known[i];
        const int rank = number_in(variable, k->rank, 0), size = number_in(variable, k->size, 1);
        if (rank < 0) continue;
        if (size > 0) return (launcher){k->name, rank, size, k->is_mpich, k->rank};
        if (!k->rank_suffices) continue;
        /* srun sets the size as well */
        return (launcher){step > 0 ? "srun" : k->name, rank, step > 0 ? step : 0, k->is_mpich,
                          k->rank};
    }
    return (launcher){0};
}
