#define _GNU_SOURCE /* O_TMPFILE */
#include "io/file_open.h"

#include "core/status.h"
#include "io/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const int use_flags[] = {
    [FILE_READ] = O_RDONLY | O_NONBLOCK,
    [FILE_READ_ANY] = O_RDONLY,
    [FILE_READ_OWN] = O_RDONLY | O_NONBLOCK | O_NOFOLLOW,
    [FILE_LOCK] = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW,
    [FILE_APPEND] = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOFOLLOW,
    [FILE_CONTINUE] = O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOFOLLOW,
    [FILE_REPLACE] = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
    [FILE_OVERWRITE] = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
    [FILE_TEMPORARY] = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW};

/* Makes reads and writes of a file that was opened with O_NONBLOCK blocking. */
static int set_blocking(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

static int check(int fd, file_use use, struct stat *info)
{
    if (fstat(fd, info)) return FILE_SYSTEM;
    if (S_ISDIR(info->st_mode)) return FILE_IS_FOLDER;
    if (use == FILE_READ_ANY) return 0;
    if (!S_ISREG(info->st_mode)) return FILE_NOT_REGULAR;
    /* writing would change the file under its other names too */
    const int writes = use >= FILE_APPEND;
    if (writes && info->st_nlink > 1) return FILE_HAS_LINKS;
    return set_blocking(fd) ? FILE_SYSTEM : 0;
}

/* Removes the file that is to be replaced. Its other names, or the target of a link, stay. */
static int remove_existing(int folder, const char *name, file_use use)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW)) return 0;
    if (S_ISDIR(info.st_mode)) return FILE_IS_FOLDER;
    if (use == FILE_REPLACE && !S_ISREG(info.st_mode)) return FILE_NOT_REGULAR;
    return unlinkat(folder, name, 0) && errno != ENOENT ? FILE_SYSTEM : 0;
}

int file_fd(int folder, const char *name, file_use use, struct stat *info)
{
    struct stat own;
    if (use == FILE_REPLACE || use == FILE_OVERWRITE) {
        const int bad = remove_existing(folder, name, use);
        if (bad) return bad;
    }
    const int fd = openat(folder, name, use_flags[use] | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0 && (use_flags[use] & O_NONBLOCK)) {
        /* ELOOP: a link that is not to be followed, ENXIO: a socket, or a pipe without a reader */
        const int is_link = errno == ELOOP && (use_flags[use] & O_NOFOLLOW);
        if (is_link || errno == ENXIO) return FILE_NOT_REGULAR;
        if (errno == EISDIR) return FILE_IS_FOLDER;
    }
    if (fd < 0) return FILE_SYSTEM;
    const int bad = check(fd, use, info ? info : &own);
    if (!bad) return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return bad;
}

ssm2d_status file_refused(int result, const char *path, const char *what, ssm2d_error *error)
{
    switch (result) {
    case FILE_NOT_REGULAR:
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is not a regular file", text_path(path));
    case FILE_IS_FOLDER:
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a folder: give a file", text_path(path));
    case FILE_HAS_LINKS:
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has other names (hard links), and would be changed under all of them: "
                    "replace it by a copy",
                    text_path(path));
    default: return fail_errno(error, path, what);
    }
}

ssm2d_status file_open_fd(int folder, const char *name, const char *path, file_use use, int *fd,
                          ssm2d_error *error)
{
    const int result = file_fd(folder, name, use, NULL);
    *fd = result < 0 ? -1 : result;
    if (result >= 0) return SSM2D_OK;
    if (use < FILE_LOCK) return file_refused(result, path, "cannot be opened", error);
    if (result != FILE_NOT_REGULAR) return file_refused(result, path, "cannot be written", error);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is not a regular file: remove it",
                text_path(path));
}

int folder_fd(int folder, const char *name, int follow)
{
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
}

int nameless_fd(const char *folder)
{
#ifdef O_TMPFILE
    return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#else
    (void)folder;
    return -1;
#endif
}

int null_fd(int flags) { return open("/dev/null", flags); }
