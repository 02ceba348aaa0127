/* launcher - whether this process was started together with others, and by whom: what mpirun, srun
 * and their kin say in the environment. MPI is not needed for it, nor started. */
#ifndef SSM2D_CLUSTER_LAUNCHER_H
#define SSM2D_CLUSTER_LAUNCHER_H

typedef struct launcher {
    const char *name; /* NULL: this process was started by itself */
    int rank, size;   /* size 0: the launcher does not say, and MPI has to be asked */
    int is_mpich;     /* the launcher speaks to MPICH and its kin, not to Open MPI */
} launcher;

/* Looks at variables with this function, which is getenv but for tests. */
launcher launcher_find(char *(*variable)(const char *name));

#endif
