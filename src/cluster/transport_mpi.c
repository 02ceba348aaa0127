/* transport_mpi - the transport over MPI, built as a module for each MPI that is found.
 *
 * Only one thread of a process calls it. Errors are returned, not fatal: the cluster reports which
 * process is lost. */
#include "cluster/transport.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static MPI_Comm world = MPI_COMM_NULL;

_Static_assert(sizeof(MPI_Request) <= sizeof(((transport_request *)0)->handle),
               "an MPI_Request does not fit a transport_request");

static void keep(transport_request *r, const MPI_Request *request)
{
    memcpy(&r->handle, request, sizeof *request);
    r->active = 1;
}

static int send_bytes(const void *data, size_t bytes, int to, int tag, transport_request *r)
{
    MPI_Request request;
    const int bad = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, world, &request);
    if (!bad) keep(r, &request);
    return bad;
}

static int receive_bytes(void *data, size_t bytes, int from, int tag, transport_request *r)
{
    MPI_Request request;
    const int bad = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, world, &request);
    if (!bad) keep(r, &request);
    return bad;
}

static int sum_floats(float *data, size_t count, transport_request *r)
{
    MPI_Request request;
    const int bad =
        MPI_Iallreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM, world, &request);
    if (!bad) keep(r, &request);
    return bad;
}

static int test_request(transport_request *r)
{
    MPI_Request request;
    int done = 0;
    if (!r->active) return 0;
    memcpy(&request, &r->handle, sizeof request);
    const int bad = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (bad) return bad;
    keep(r, &request);
    r->active = !done;
    return 0;
}

static void leave(void)
{
    MPI_Comm_free(&world);
    MPI_Finalize();
}

static int overlap(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;
    CPU_AND(&both, a, b);
    return CPU_COUNT(&both) > 0;
}

/* Counts the processes on this machine, and those that share its processors. */
static int look_around(transport *t)
{
    MPI_Comm node;
    cpu_set_t own, *all = NULL;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own)) memset(&own, -1, sizeof own);
    int bad = MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, t->rank, MPI_INFO_NULL, &node);
    if (bad) return bad;
    bad = MPI_Comm_size(node, &t->on_node);
    if (!bad) bad = MPI_Alloc_mem((MPI_Aint)sizeof own * (MPI_Aint)t->on_node, MPI_INFO_NULL, &all);
    if (!bad)
        bad = MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, node);
    t->sharing = 0;
    for (int i = 0; i < t->on_node && !bad; i++) t->sharing += overlap(&own, &all[i]);
    if (all) MPI_Free_mem(all);
    MPI_Comm_free(&node);
    return bad;
}

__attribute__((visibility("default"))) int ssm2d_transport_open_3(transport *t, char *why,
                                                                  size_t size);

int ssm2d_transport_open_3(transport *t, char *why, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length, level, bad;
    *t = (transport){.send = send_bytes,
                     .receive = receive_bytes,
                     .sum = sum_floats,
                     .test = test_request,
                     .leave = leave};
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0; /* the rest says where it was built */
    for (char *c = version; *c; c++)
        if (*c == '\t') *c = ' ';
    snprintf(t->name, sizeof t->name, "%s", version);
    bad = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (!bad) bad = MPI_Comm_dup(MPI_COMM_WORLD, &world);
    if (!bad) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
        MPI_Comm_rank(world, &t->rank);
        MPI_Comm_size(world, &t->size);
        bad = look_around(t);
    }
    if (bad) snprintf(why, size, "%s could not be started: error %d", t->name, bad);
    return bad;
}
