#include "io/unpack.h"

#include "core/status.h"

#ifdef SSM2D_ARCHIVE
#include "io/file.h"
#include "io/file_open.h"
#include "io/text.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

int unpack_possible(void) { return 1; }

static ssm2d_status damaged(const char *path, struct archive *a, ssm2d_error *error)
{
    const char *why = archive_error_string(a);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: cannot be unpacked: %s", text_path(path),
                why ? why : "it is damaged");
}

/* Writes the entry that was read last. */
static ssm2d_status write_entry(const ssm2d_context *context, const char *path, struct archive *a,
                                const char *to, size_t max_bytes, ssm2d_error *error)
{
    atomic_file file;
    char buffer[1 << 16];
    size_t size = 0;
    la_ssize_t got;
    ssm2d_status status = atomic_open(context, to, &file, error);
    if (status) return status;
    while (!status && (got = archive_read_data(a, buffer, sizeof buffer))) {
        if (got < 0)
            status = damaged(path, a, error);
        else if ((size += (size_t)got) > max_bytes)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has a file of more than %zu bytes",
                          text_path(path), max_bytes);
        else
            status = atomic_write(&file, buffer, (size_t)got, error);
    }
    return atomic_end(&file, status, error);
}

static ssm2d_status read_entries(const ssm2d_context *context, const char *path, struct archive *a,
                                 const char *const *names, size_t count, size_t max_bytes,
                                 const char *folder, ssm2d_error *error)
{
    struct archive_entry *entry;
    size_t found = 0;
    ssm2d_status status = SSM2D_OK;
    int code = ARCHIVE_OK;
    while (
        !status && found < count
        && ((code = archive_read_next_header(a, &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN)) {
        const char *name = archive_entry_pathname(entry);
        for (size_t i = 0; name && !status && i < count; i++) {
            char to[PATH_MAX];
            const char *slash = strrchr(names[i], '/');
            if (strcmp(name, names[i]) || archive_entry_filetype(entry) != AE_IFREG) continue;
            const int length =
                snprintf(to, sizeof to, "%s/%s", folder, slash ? slash + 1 : names[i]);
            if (length < 0 || (size_t)length >= sizeof to)
                status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name of the folder is too long",
                              text_path(folder));
            else
                status = write_entry(context, path, a, to, max_bytes, error);
            found++;
        }
    }
    if (status) return status;
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN && code != ARCHIVE_EOF)
        return damaged(path, a, error);
    if (found < count)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has %zu of the %zu files expected, %s ..",
                    text_path(path), found, count, names[0]);
    return SSM2D_OK;
}

/* Opens an archive; the caller closes *fd unless it is -1, after freeing *a, which may be NULL. */
static ssm2d_status open_archive(const char *path, int follow, int format(struct archive *),
                                 struct archive **a, int *fd, ssm2d_error *error)
{
    *fd = -1;
    *a = archive_read_new();
    if (!*a) return fail_memory(error, "unpacking %s", text_path(path));
    ssm2d_status status =
        file_open_fd(AT_FDCWD, path, path, follow ? FILE_READ : FILE_READ_OWN, fd, error);
    if (!status
        && (archive_read_support_filter_gzip(*a) || format(*a)
            || archive_read_open_fd(*a, *fd, 1 << 16)))
        status = damaged(path, *a, error);
    return status;
}

static void close_archive(struct archive *a, int fd)
{
    archive_read_free(a);
    if (fd >= 0) close(fd);
}

ssm2d_status unpack_files(const ssm2d_context *context, const char *path, int follow,
                          const char *const *names, size_t count, size_t max_bytes,
                          const char *folder, ssm2d_error *error)
{
    struct archive *a;
    int fd;
    ssm2d_status status =
        open_archive(path, follow, archive_read_support_format_tar, &a, &fd, error);
    if (!status) status = read_entries(context, path, a, names, count, max_bytes, folder, error);
    close_archive(a, fd);
    return status;
}

ssm2d_status unpack_single(const ssm2d_context *context, const char *path, int follow,
                           size_t max_bytes, const char *to, ssm2d_error *error)
{
    struct archive *a;
    struct archive_entry *entry;
    int fd;
    ssm2d_status status =
        open_archive(path, follow, archive_read_support_format_raw, &a, &fd, error);
    if (!status && archive_read_next_header(a, &entry) != ARCHIVE_OK)
        status = damaged(path, a, error);
    if (!status) status = write_entry(context, path, a, to, max_bytes, error);
    close_archive(a, fd);
    return status;
}

#else
int unpack_possible(void) { return 0; }

static ssm2d_status missing(ssm2d_error *error)
{
    return fail(
        error, SSM2D_ERROR_UNSUPPORTED,
        "this ssm2d was built without libarchive: install libarchive-dev and build it again");
}

ssm2d_status unpack_files(const ssm2d_context *context, const char *path, int follow,
                          const char *const *names, size_t count, size_t max_bytes,
                          const char *folder, ssm2d_error *error)
{
    (void)context, (void)path, (void)follow, (void)names, (void)count, (void)max_bytes;
    (void)folder;
    return missing(error);
}

ssm2d_status unpack_single(const ssm2d_context *context, const char *path, int follow,
                           size_t max_bytes, const char *to, ssm2d_error *error)
{
    (void)context, (void)path, (void)follow, (void)max_bytes, (void)to;
    return missing(error);
}
#endif
