/* transport - sends bytes between processes: the part of MPI that a cluster needs.
 *
 * Each transport is a file. transport_mpi.c is a separate module (ssm2d_mpi_*.so) that is loaded
 * only if a launcher has started several processes. The tool therefore starts as fast as without
 * MPI, needs none of its libraries, and one build serves Open MPI and MPICH.
 *
 * Operations are started, and tested for completion later, so that a waiting cluster can detect
 * that nothing will arrive. Functions return 0, or MPI's error code. */
#ifndef SSM2D_CLUSTER_TRANSPORT_H
#define SSM2D_CLUSTER_TRANSPORT_H

#include <stddef.h>

/* Holds an MPI_Request, which is a pointer or an integer. `active` is 0 when it is complete. */
typedef struct transport_request {
    union {
        void *pointer;
        long number;
    } handle;
    int active;
    int peer; /* the rank at the other end, or -1; for the caller, not for the transport */
} transport_request;

typedef struct transport {
    char name[96]; /* library and version */
    int rank, size;
    int on_node; /* processes on this machine */
    /* processes on this machine that share a processor with this one, itself included */
    int sharing;
    /* Bytes are at most INT_MAX, tags 0 to 32767. */
    int (*send)(const void *data, size_t bytes, int to, int tag, transport_request *r);
    int (*receive)(void *data, size_t bytes, int from, int tag, transport_request *r);
    /* Sums data over all processes, in MPI's order; all call it in the same order */
    int (*sum)(float *data, size_t count, transport_request *r);
    int (*test)(transport_request *r); /* clears r->active when it is complete */
    void (*leave)(void);               /* called by all */
} transport;

/* The symbol that a module exports. Its name changes whenever the structs above change, so that a
 * module of another version is refused before it writes into them. `why` gets a line when the
 * result is not 0. */
typedef int (*transport_open)(transport *t, char *why, size_t size);
#define TRANSPORT_OPEN "ssm2d_transport_open_3"

/* Loads the module for the launcher's MPI. Returns 0, or writes why it cannot. */
int transport_load(int prefers_mpich, transport *t, char *why, size_t size);

#endif
