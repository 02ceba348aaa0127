/* fail_at - the one call that fails, for libraries and programs that count calls.
 *
 *     FAIL_AT=K        the K-th call fails, from 1; without it none does
 *     FAIL_MARK=PATH   a file that is made when the call has failed, so that a caller knows when
 *                      there are no more */
#ifndef SSM2D_TESTS_FAIL_AT_H
#define SSM2D_TESTS_FAIL_AT_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether this call is the one that fails. The file is created with a direct system call, as open
 * may be one of the functions that are counted. */
static inline int fail_now(void)
{
    static atomic_long calls;
    const char *at = getenv("FAIL_AT"), *mark = getenv("FAIL_MARK");
    if (!at || atomic_fetch_add(&calls, 1) + 1 != atol(at)) return 0;
    if (mark) {
        const long fd = syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT, 0666);
        if (fd >= 0) syscall(SYS_close, (int)fd);
    }
    return 1;
}

#endif
