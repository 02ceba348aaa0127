/* launcher - whether this process was started together with others, and by which launcher, from the
 * environment that mpirun, srun and others set. MPI is neither needed nor started. */
#ifndef SSM2D_CLUSTER_LAUNCHER_H
#define SSM2D_CLUSTER_LAUNCHER_H

typedef struct launcher {
    const char *name;     /* NULL: this process was started alone */
    int rank, size;       /* size 0: only MPI knows */
    int is_mpich;         /* the launcher is for MPICH and its derivatives, not for Open MPI */
    const char *variable; /* the variable that has the rank */
} launcher;

/* variable: getenv, or a test's replacement. */
launcher launcher_find(char *(*variable)(const char *name));

#endif
