/* failing_io - a library for LD_PRELOAD with which one call that writes fails: the disk is full, or
 * broken. fail_at.h says which of these calls: opening a file for writing, write, fsync, ftruncate,
 * rename, renameat, linkat; streams of fdopen, and standard output, are counted by their writes.
 *
 *     FAIL_WITH=N      errno of the failure; a full disk when not given
 *     FAIL_SHORT=1     a write that is to fail writes half of its bytes first */
#define _GNU_SOURCE
#include "fail_at.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(default) /* the build hides all names that are not declared public */

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

/* Whether this call is the one that fails; sets errno then. */
static int fails(void)
{
    const char *with = getenv("FAIL_WITH");
    if (!fail_now()) return 0;
    errno = with ? atoi(with) : ENOSPC;
    return 1;
}

static int opens(int at, const char *path, int flags, mode_t mode)
{
    if ((flags & O_ACCMODE) != O_RDONLY && fails()) return -1;
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

#define MODE(flags, mode)                                                                          \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                       \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = va_arg(args, mode_t);                                                               \
        va_end(args);                                                                              \
    }

int open(const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opens(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opens(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opens(at, path, flags, mode);
}

int fsync(int fd) { return fails() ? -1 : (int)syscall(SYS_fsync, fd); }

int ftruncate(int fd, off_t size) { return fails() ? -1 : (int)syscall(SYS_ftruncate, fd, size); }

int rename(const char *from, const char *to)
{
    return fails() ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int at, const char *from, int other, const char *to)
{
    return fails() ? -1 : (int)syscall(SYS_renameat2, at, from, other, to, 0);
}

int linkat(int at, const char *from, int other, const char *to, int flags)
{
    return fails() ? -1 : (int)syscall(SYS_linkat, at, from, other, to, flags);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The C library's streams write without calling write by its name. Those of fdopen are replaced by
 * streams whose writing is ours; they have no descriptor of their own, so that fileno has to find
 * it. */
enum { STREAMS = 64 };
static struct {
    FILE *stream;
    int fd;
} streams[STREAMS];

static ssize_t cookie_write(void *cookie, const char *bytes, size_t size)
{
    const int fd = (int)(long)cookie;
    const int failed = fails(), why = errno;
    if (failed && getenv("FAIL_SHORT") && size > 1) {
        for (size_t done = 0; done < size / 2;) {
            const long got = syscall(SYS_write, fd, bytes + done, size / 2 - done);
            if (got <= 0) break;
            done += (size_t)got;
        }
    }
    if (failed) {
        errno = why;
        return 0; /* an error, for a cookie */
    }
    for (size_t done = 0; done < size;) {
        const long got = syscall(SYS_write, fd, bytes + done, size - done);
        if (got <= 0) return (ssize_t)done;
        done += (size_t)got;
    }
    return (ssize_t)size;
}

static int cookie_close(void *cookie)
{
    const int fd = (int)(long)cookie;
    pthread_mutex_lock(&guard);
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].stream && streams[i].fd == fd) streams[i].stream = NULL;
    pthread_mutex_unlock(&guard);
    return (int)syscall(SYS_close, fd);
}

FILE *fdopen(int fd, const char *mode)
{
    static FILE *(*original)(int, const char *);
    if (!original) *(void **)&original = dlsym(RTLD_NEXT, "fdopen");
    if (*mode == 'r') return original(fd, mode);
    FILE *stream =
        fopencookie((void *)(long)fd, mode,
                    (cookie_io_functions_t){.write = cookie_write, .close = cookie_close});
    pthread_mutex_lock(&guard);
    for (int i = 0; stream && i < STREAMS; i++)
        if (!streams[i].stream) {
            streams[i].stream = stream;
            streams[i].fd = fd;
            break;
        }
    pthread_mutex_unlock(&guard);
    return stream;
}

/* Standard output is a variable of glibc, which printf and related functions read. */
__attribute__((constructor)) static void replace_output(void)
{
    FILE *stream = fdopen(STDOUT_FILENO, "w");
    if (stream) stdout = stream;
}

int fileno(FILE *stream)
{
    static int (*original)(FILE *);
    int fd = -1;
    if (!original) *(void **)&original = dlsym(RTLD_NEXT, "fileno");
    pthread_mutex_lock(&guard);
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].stream == stream) fd = streams[i].fd;
    pthread_mutex_unlock(&guard);
    return fd >= 0 ? fd : original(stream);
}
