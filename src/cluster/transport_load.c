/* transport_load - finds the module for an MPI and loads it. */
#include "cluster/transport.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are tried: the launcher's own MPI, the one of mpicc, the other. */
static const char *const modules[2][3] = {
    {"ssm2d_mpi_openmpi.so", "ssm2d_mpi.so", "ssm2d_mpi_mpich.so"},
    {"ssm2d_mpi_mpich.so", "ssm2d_mpi.so", "ssm2d_mpi_openmpi.so"}};

/* The folder of the program. */
static int own_folder(char *folder, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    if (length <= 0 || (size_t)length >= size - 1) return 0;
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (!slash) return 0;
    *slash = 0;
    return 1;
}

/* Looks in the program's folder, where a build puts it, and where it is installed. */
static int find_module(int prefers_mpich, char *path, size_t size)
{
    static const char *const places[] = {"", SSM2D_MODULES "/"};
    char folder[PATH_MAX];
    const char *given = getenv("SSM2D_MPI");
    if (given && *given) return snprintf(path, size, "%s", given) < (int)size;
    if (!own_folder(folder, sizeof folder)) return 0;
    for (size_t m = 0; m < 3; m++)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            const int length =
                snprintf(path, size, "%s/%s%s", folder, places[p], modules[prefers_mpich != 0][m]);
            if (length < (int)size && !access(path, R_OK)) return 1;
        }
    return 0;
}

int transport_load(int prefers_mpich, transport *t, char *why, size_t size)
{
    char path[2 * PATH_MAX];
    transport_open start;
    if (!find_module(prefers_mpich, path, sizeof path)) {
        snprintf(why, size,
                 "this ssm2d was built without MPI: build it where mpicc is (Debian: "
                 "libopenmpi-dev or libmpich-dev), or start one process without %s",
                 prefers_mpich ? "mpiexec" : "mpirun");
        return 1;
    }
    /* RTLD_GLOBAL: the plugins of older MPIs need its symbols */
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!module) {
        const char *what = dlerror();
        snprintf(why, size, "MPI cannot be used: %s", what ? what : path);
        return 1;
    }
    void *symbol = dlsym(module, TRANSPORT_OPEN);
    if (!symbol) {
        snprintf(why, size,
                 "MPI cannot be used: %s: is of another version of ssm2d, or no module of it: "
                 "install both from one build",
                 path);
        return 1;
    }
    memcpy(&start, &symbol, sizeof start);
    return start(t, why, size);
}
