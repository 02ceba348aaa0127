#include "io/file.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/file_open.h"
#include "io/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 16, NAME_TRIES = 100 };

/* A temporary name is this and RANDOM_CHARS of these digits. */
static const char prefix[] = ".ssm2d-", digits[] = "0123456789abcdefghijklmnopqrstuv";
enum { PREFIX_LENGTH = sizeof prefix - 1, RANDOM_CHARS = 10 };

/* Opens a stream on fd, which is closed on failure. */
static ssm2d_status open_stream(const char *path, int fd, const char *mode, FILE **stream,
                                ssm2d_error *error)
{
    *stream = fdopen(fd, mode);
    if (*stream) return SSM2D_OK;
    ssm2d_status status = fail_errno(error, path, "cannot be opened");
    close(fd);
    return status;
}

static ssm2d_status open_use(const char *path, file_use use, const char *mode, FILE **stream,
                             ssm2d_error *error)
{
    int fd;
    const ssm2d_status status = file_open_fd(AT_FDCWD, path, path, use, &fd, error);
    return status ? status : open_stream(path, fd, mode, stream, error);
}

ssm2d_status file_open(const char *path, FILE **stream, ssm2d_error *error)
{
    return open_use(path, FILE_READ_ANY, "rb", stream, error);
}

ssm2d_status file_open_regular(const char *path, FILE **stream, ssm2d_error *error)
{
    return open_use(path, FILE_READ, "rb", stream, error);
}

ssm2d_status file_append(const char *path, int empty, FILE **stream, ssm2d_error *error)
{
    return open_use(path, empty ? FILE_REPLACE : FILE_APPEND, "ab", stream, error);
}

/* Replaces *bytes by a block of capacity + 1 bytes that starts with the `have` bytes read so
 * far. */
static ssm2d_status grow(const ssm2d_context *context, const char *path, char **bytes, size_t have,
                         size_t capacity, ssm2d_error *error)
{
    char *larger = capacity < SIZE_MAX ? mem_alloc(context, capacity + 1) : NULL;
    if (!larger) return fail_memory(error, "%s: %zu bytes", text_path(path), capacity);
    if (*bytes) memcpy(larger, *bytes, have);
    mem_free(context, *bytes);
    *bytes = larger;
    return SSM2D_OK;
}

static ssm2d_status read_use(const ssm2d_context *context, const char *path, file_use use,
                             size_t max_bytes, char **bytes, size_t *size, ssm2d_error *error)
{
    *bytes = NULL;
    *size = 0;
    struct stat info;
    ssm2d_status status = SSM2D_OK;
    const int fd = file_fd(AT_FDCWD, path, use, &info);
    if (fd < 0) return file_refused(fd, path, "cannot be opened", error);

    /* 0: a pipe or a device, whose size is not known */
    const size_t file_size = S_ISREG(info.st_mode) ? (size_t)info.st_size : 0;
    size_t have = 0, capacity = min_size(file_size ? file_size : FIRST_BYTES, max_bytes);
    char *all = NULL;
    if (file_size > max_bytes) {
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has %zu bytes: at most %zu are read",
                      text_path(path), file_size, max_bytes);
        goto done;
    }
    status = grow(context, path, &all, 0, capacity, error);
    if (status) goto done;
    for (;;) {
        char beyond; /* the next byte, when the block is full: the file is longer */
        ssize_t got =
            have < capacity ? read(fd, all + have, capacity - have) : read(fd, &beyond, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            status = fail_errno(error, path, "cannot be read");
            goto done;
        }
        if (got == 0) break;
        if (have < capacity) {
            have += (size_t)got;
            continue;
        }
        if (capacity == max_bytes) {
            status =
                fail(error, SSM2D_ERROR_ARGUMENT, "%s: has more than %zu bytes, which is the limit",
                     text_path(path), max_bytes);
            goto done;
        }
        capacity = capacity > max_bytes / 2 ? max_bytes : 2 * capacity;
        status = grow(context, path, &all, have, capacity, error);
        if (status) goto done;
        all[have++] = beyond;
    }
    if (have < file_size) {
        status = fail(error, SSM2D_ERROR_SYSTEM,
                      "%s: ended after %zu of %zu bytes: it was changed while it was read",
                      text_path(path), have, file_size);
        goto done;
    }
    all[have] = 0;
    *bytes = all;
    *size = have;
    all = NULL;
done:
    mem_free(context, all);
    close(fd);
    return status;
}

ssm2d_status file_read(const ssm2d_context *context, const char *path, size_t max_bytes,
                       char **bytes, size_t *size, ssm2d_error *error)
{
    return read_use(context, path, FILE_READ_ANY, max_bytes, bytes, size, error);
}

ssm2d_status file_read_regular(const ssm2d_context *context, const char *path, size_t max_bytes,
                               char **bytes, size_t *size, ssm2d_error *error)
{
    return read_use(context, path, FILE_READ, max_bytes, bytes, size, error);
}

/* The length of path up to and including the last slash; 0 when there is none. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Writes a random name in path's folder to out. The name's length does not depend on the file's,
 * which may already be as long as names can be. */
static ssm2d_status name_temporary(const char *path, char *out, ssm2d_error *error)
{
    unsigned char random[RANDOM_CHARS];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return fail_errno(error, path, "cannot make the name of a temporary file");
    size_t length = folder_length(path);
    memcpy(out, path, length);
    memcpy(out + length, prefix, PREFIX_LENGTH);
    length += PREFIX_LENGTH;
    for (size_t i = 0; i < RANDOM_CHARS; i++) out[length + i] = digits[random[i] % 32];
    out[length + RANDOM_CHARS] = 0;
    return SSM2D_OK;
}

/* Opens a file without a name in path's folder; returns -1 if the system does not support it. The
 * file vanishes when the process ends before the commit. buffer: space for the folder's name. Tests
 * set SSM2D_TMPFILE=0 to use temporary names, as on other systems. */
static int open_nameless(const char *path, char *buffer)
{
    const char *wanted = getenv("SSM2D_TMPFILE");
    if (wanted && !strcmp(wanted, "0")) return -1;
    size_t length = folder_length(path);
    memcpy(buffer, length ? path : ".", length ? length : 1);
    buffer[length ? length : 1] = 0;
    return access("/proc/self/fd", X_OK) ? -1 : nameless_fd(buffer);
}

/* Gives a nameless file its temporary name, through /proc. Returns 0 on success, as linkat does. */
static int name_file(const atomic_file *file)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(file->stream));
    return linkat(AT_FDCWD, link, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW);
}

/* Locks a file while it is open, so that temporaries_remove sees that its process is alive. Returns
 * 0 if that function has already removed it. A system without locks is not an error. */
static int lock_file(int fd) { return !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK; }

ssm2d_status atomic_open(const ssm2d_context *context, const char *path, atomic_file *file,
                         ssm2d_error *error)
{
    *file = (atomic_file){.context = context};
    size_t length = strlen(path);
    struct stat info;
    if (!length || path[length - 1] == '/')
        return fail(error, SSM2D_ERROR_ARGUMENT, "\"%s\": is not the name of a file to write",
                    text_path(path));
    if (!stat(path, &info) && !S_ISREG(info.st_mode))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is %s: give the name of a file to write",
                    text_path(path), S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    ssm2d_status status = SSM2D_OK;
    int fd = -1;
    file->path = mem_alloc(context, length + 1);
    file->temporary = mem_alloc(context, length + 32);
    if (!file->path || !file->temporary) {
        status = fail_memory(error, "%s: name", text_path(path));
        goto done;
    }
    memcpy(file->path, path, length);
    fd = open_nameless(path, file->temporary);
    file->nameless = fd >= 0;
    if (file->nameless) {
        lock_file(fd);
        status = name_temporary(path, file->temporary, error);
    }
    for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
        status = name_temporary(path, file->temporary, error);
        if (status) goto done;
        fd = file_fd(AT_FDCWD, file->temporary, FILE_TEMPORARY, NULL);
        if (fd < 0 && errno != EEXIST) break;
        if (fd >= 0 && !lock_file(fd)) {
            close(fd);
            fd = -1;
            errno = EEXIST;
        }
    }
    if (fd < 0) {
        status = fail_errno(error, path, "cannot be written");
        goto done;
    }
    if (!status) file->stream = fdopen(fd, "wb");
    if (!file->stream) {
        if (!status) status = fail_errno(error, path, "cannot be written");
        close(fd);
        if (!file->nameless) unlink(file->temporary);
    }
done:
    if (status) {
        mem_free(context, file->path);
        mem_free(context, file->temporary);
        *file = (atomic_file){0};
    }
    return status;
}

ssm2d_status atomic_write(atomic_file *file, const void *bytes, size_t size, ssm2d_error *error)
{
    if (!size || fwrite(bytes, 1, size, file->stream) == size) return SSM2D_OK;
    return fail_errno(error, file->path, "cannot be written");
}

/* Syncs the folder, without which a rename may be lost in a power failure. A folder that cannot be
 * opened or synced is no failure: the file is in place. */
static ssm2d_status sync_folder(atomic_file *file, ssm2d_error *error)
{
    size_t length = folder_length(file->path);
    memcpy(file->temporary, length ? file->path : ".", length ? length : 1);
    file->temporary[length ? length : 1] = 0;
    const int fd = folder_fd(AT_FDCWD, file->temporary, 1);
    if (fd < 0) return SSM2D_OK;
    ssm2d_status status = SSM2D_OK;
    if (fsync(fd) && (errno == EIO || errno == ENOSPC || errno == EDQUOT))
        status = fail_errno(error, file->path, "its folder cannot be synced");
    close(fd);
    return status;
}

ssm2d_status atomic_commit(atomic_file *file, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    /* the lock is kept until the file has its name */
    const int locked = fcntl(fileno(file->stream), F_DUPFD_CLOEXEC, 0);
    if (ferror(file->stream)) /* the errno of that write is lost */
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be written: an earlier write failed",
                      text_path(file->path));
    else if (fflush(file->stream) || fsync(fileno(file->stream)))
        status = fail_errno(error, file->path, "cannot be written");
    else if (file->nameless && name_file(file))
        status = fail_errno(error, file->path, "cannot be renamed into place");
    else
        file->nameless = 0;
    if (fclose(file->stream) && !status)
        status = fail_errno(error, file->path, "cannot be written");
    file->stream = NULL;
    if (!status && rename(file->temporary, file->path))
        status = fail_errno(error, file->path, "cannot be renamed into place");
    if (locked >= 0) close(locked);
    if (status && !file->nameless)
        unlink(file->temporary);
    else if (!status)
        status = sync_folder(file, error);
    mem_free(file->context, file->path);
    mem_free(file->context, file->temporary);
    *file = (atomic_file){0};
    return status;
}

void atomic_cancel(atomic_file *file)
{
    if (!file->stream) return;
    fclose(file->stream);
    if (!file->nameless) unlink(file->temporary);
    mem_free(file->context, file->path);
    mem_free(file->context, file->temporary);
    *file = (atomic_file){0};
}

ssm2d_status atomic_end(atomic_file *file, ssm2d_status status, ssm2d_error *error)
{
    if (!status) return atomic_commit(file, error);
    atomic_cancel(file);
    return status;
}

ssm2d_status file_write_text(const ssm2d_context *context, const char *path, const char *text,
                             ssm2d_error *error)
{
    atomic_file file;
    ssm2d_status status = atomic_open(context, path, &file, error);
    if (status) return status;
    status = atomic_write(&file, text, strlen(text), error);
    if (!status) status = atomic_write(&file, "\n", 1, error);
    return atomic_end(&file, status, error);
}

static int is_temporary(const char *name)
{
    return !strncmp(name, prefix, PREFIX_LENGTH) && strlen(name) == PREFIX_LENGTH + RANDOM_CHARS
           && strspn(name + PREFIX_LENGTH, digits) == RANDOM_CHARS;
}

void temporaries_remove(int folder)
{
    const int listing = folder_fd(folder, ".", 1);
    DIR *dir = listing >= 0 ? fdopendir(listing) : NULL;
    if (!dir && listing >= 0) close(listing);
    for (struct dirent *found; dir && (found = readdir(dir));) {
        if (!is_temporary(found->d_name)) continue;
        const int fd = file_fd(folder, found->d_name, FILE_READ_OWN, NULL);
        if (fd < 0) continue;
        if (lock_file(fd)) unlinkat(folder, found->d_name, 0);
        close(fd);
    }
    if (dir) closedir(dir);
}

int file_is_same(const char *one, const char *two)
{
    struct stat a, b;
    return !stat(one, &a) && !stat(two, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

ssm2d_status folder_make(const char *path, ssm2d_error *error)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (!length) return fail(error, SSM2D_ERROR_ARGUMENT, "\"\": is not the name of a folder");
    if (length >= sizeof part) {
        errno = ENAMETOOLONG;
        return fail_errno(error, path, "cannot be made");
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i]) continue;
        memcpy(part, path, i);
        part[i] = 0;
        struct stat info;
        if (!mkdir(part, 0777)) continue;
        int why = errno; /* for a folder that exists this may be EEXIST, but also EROFS or EACCES */
        if (!stat(part, &info)) {
            if (S_ISDIR(info.st_mode)) continue;
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a file, not a folder",
                        text_path(part));
        }
        errno = why;
        return fail_errno(error, part, "cannot be made");
    }
    return SSM2D_OK;
}
