#include "cluster/board.h"

#include "core/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static size_t bytes_of(int size) { return sizeof(board) + (size_t)size * sizeof(board_place); }

board_ticket *board_ticket_create(void)
{
    void *m =
        mmap(NULL, sizeof(board_ticket), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return m == MAP_FAILED ? NULL : m;
}

static board *map(int fd, int size)
{
    void *m = mmap(NULL, bytes_of(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return m == MAP_FAILED ? NULL : m;
}

board *board_create(int size, int *fd)
{
    *fd = memfd_create("ssm2d-board", MFD_CLOEXEC);
    if (*fd < 0) return NULL;
    board *b = ftruncate(*fd, (off_t)bytes_of(size)) ? NULL : map(*fd, size);
    if (b) return b;
    close(*fd);
    *fd = -1;
    return NULL;
}

board *board_open(long process, int fd, int size)
{
    char path[64];
    struct stat s;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", process, fd);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    const int fits = !fstat(file, &s) && s.st_size == (off_t)bytes_of(size);
    board *b = fits ? map(file, size) : NULL;
    close(file);
    if (b && b->size == size) return b;
    if (b) board_close(b, size);
    return NULL;
}

void board_close(board *b, int size) { munmap(b, bytes_of(size)); }

int abort_wait(atomic_int *flag, double seconds)
{
    const double end = clock_seconds() + seconds;
    while (atomic_load(flag) != ABORT_REPORTED && clock_seconds() < end)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return abort_claim(flag);
}
