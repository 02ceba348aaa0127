/* unpack_tree - whole folders of an archive. The files are written to a new folder without syncing
 * each; the caller moves it into place once it is complete. */
#define _GNU_SOURCE /* syncfs */
#include "io/unpack.h"

#include "core/status.h"
#include "io/file_open.h"
#include "io/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 8 };

/* Opens a folder that is no link, for listing; the caller closes it. */
static DIR *list(int folder, const char *name)
{
    const int fd = folder_fd(folder, name, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0) close(fd);
    return dir;
}

static int is_self(const char *name) { return !strcmp(name, ".") || !strcmp(name, ".."); }

static void remove_below(int folder, const char *name, int depth)
{
    DIR *dir = depth <= MAX_DEPTH ? list(folder, name) : NULL;
    for (struct dirent *found; dir && (found = readdir(dir));) {
        if (is_self(found->d_name)) continue;
        if (unlinkat(dirfd(dir), found->d_name, 0))
            remove_below(dirfd(dir), found->d_name, depth + 1);
    }
    if (dir) closedir(dir);
    unlinkat(folder, name, AT_REMOVEDIR);
}

void unpack_remove(int folder, const char *name)
{
    struct stat info;
    if (!fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) && S_ISDIR(info.st_mode))
        remove_below(folder, name, 1);
}

static size_t count_below(int folder, const char *name, int depth)
{
    size_t count = 0;
    DIR *dir = depth <= MAX_DEPTH ? list(folder, name) : NULL;
    for (struct dirent *found; dir && (found = readdir(dir));) {
        struct stat info;
        if (is_self(found->d_name)
            || fstatat(dirfd(dir), found->d_name, &info, AT_SYMLINK_NOFOLLOW))
            continue;
        if (S_ISDIR(info.st_mode))
            count += count_below(dirfd(dir), found->d_name, depth + 1);
        else
            count += S_ISREG(info.st_mode) != 0;
    }
    if (dir) closedir(dir);
    return count;
}

size_t unpack_count(int folder, const char *name) { return count_below(folder, name, 1); }

#ifdef SSM2D_ARCHIVE
#include <archive.h>
#include <archive_entry.h>

typedef struct job {
    const char *path; /* of the archive */
    struct archive *a;
    const unpack_bounds *bounds;
    int root; /* the new folder */
    size_t files, bytes;
    ssm2d_error *error;
} job;

static ssm2d_status refuse(const job *j, const char *entry, const char *why)
{
    char shown[128];
    return fail(j->error, SSM2D_ERROR_ARGUMENT, "%s: %s: %s: the archive is not the published one",
                text_path(j->path), text_show(entry, strlen(entry), shown, sizeof shown), why);
}

/* The name after the prefix if the entry is wanted, else NULL. */
static const char *wanted(const job *j, const char *name)
{
    const size_t length = strlen(j->bounds->prefix);
    if (strncmp(name, j->bounds->prefix, length)) return NULL;
    name += length;
    for (const char *const *u = j->bounds->under; *u; u++) {
        const size_t n = strlen(*u);
        if (!strncmp(name, *u, n) && (!name[n] || name[n] == '/')) return name;
    }
    return NULL;
}

/* Whether every part of a name is one that an image data set has: not empty, not hidden, and short;
 * `..` is hidden. */
static int is_safe(const char *name)
{
    int depth = 1;
    if (strlen(name) >= NAME_MAX) return 0;
    for (const char *part = name;; part++, depth++) {
        if (!*part || *part == '.' || *part == '/') return 0;
        part = strchr(part, '/');
        if (!part) return depth < MAX_DEPTH;
    }
}

/* Makes the folders of a name, below the root. */
static ssm2d_status make_folders(const job *j, const char *name)
{
    char path[NAME_MAX];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof path, "%.*s", (int)(slash - name), name);
        if (mkdirat(j->root, path, 0777) && errno != EEXIST)
            return fail_errno(j->error, path, "cannot be made");
    }
    return SSM2D_OK;
}

static ssm2d_status copy(job *j, const char *name, int fd)
{
    char buffer[1 << 16];
    for (size_t size = 0;;) {
        const la_ssize_t got = archive_read_data(j->a, buffer, sizeof buffer);
        if (!got) return SSM2D_OK;
        if (got < 0) {
            const char *why = archive_error_string(j->a);
            return refuse(j, name, why ? why : "is damaged");
        }
        size += (size_t)got;
        j->bytes += (size_t)got;
        if (size > j->bounds->file_bytes) return refuse(j, name, "is too large");
        if (j->bytes > j->bounds->bytes) return refuse(j, name, "makes the files too large");
        for (la_ssize_t done = 0; done < got;) {
            const ssize_t put = write(fd, buffer + done, (size_t)(got - done));
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) return fail_errno(j->error, name, "cannot be written");
            done += put;
        }
    }
}

static ssm2d_status write_file(job *j, const char *name)
{
    int fd;
    if (++j->files > j->bounds->files) return refuse(j, name, "there are too many files");
    ssm2d_status status = make_folders(j, name);
    if (!status) status = file_open_fd(j->root, name, name, FILE_TEMPORARY, &fd, j->error);
    if (status) return status;
    status = copy(j, name, fd);
    if (close(fd) && !status) status = fail_errno(j->error, name, "cannot be written");
    return status;
}

static ssm2d_status take_entry(job *j, struct archive_entry *entry)
{
    const char *full = archive_entry_pathname(entry), *name;
    if (!full || !(name = wanted(j, full))) return SSM2D_OK;
    const int is_folder = archive_entry_filetype(entry) == AE_IFDIR;
    const size_t length = strlen(name);
    char path[NAME_MAX];
    if (is_folder && length && name[length - 1] == '/') {
        snprintf(path, sizeof path, "%.*s", (int)(length - 1), name);
        name = path;
    }
    if (!is_safe(name)) return refuse(j, full, "is no name of a file");
    if (is_folder) return SSM2D_OK; /* made with its files */
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        return refuse(j, full, "is a link or a special file");
    return write_file(j, name);
}

static ssm2d_status take_entries(job *j, int *stopped)
{
    struct archive_entry *entry;
    for (;;) {
        if (j->bounds->stop && j->bounds->stop(j->bounds->user)) return *stopped = 1, SSM2D_OK;
        const int code = archive_read_next_header(j->a, &entry);
        if (code == ARCHIVE_EOF) break;
        if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
            const char *why = archive_error_string(j->a);
            return refuse(j, "cannot be unpacked", why ? why : "is damaged");
        }
        ssm2d_status status = take_entry(j, entry);
        if (status) return status;
    }
    if (!j->files) return refuse(j, j->bounds->prefix, "has no files");
    return syncfs(j->root) ? fail_errno(j->error, j->path, "its files cannot be written")
                           : SSM2D_OK;
}

ssm2d_status unpack_tree(const char *path, int follow, const unpack_bounds *bounds, int folder,
                         const char *name, int *stopped, ssm2d_error *error)
{
    job j = {path, archive_read_new(), bounds, -1, 0, 0, error};
    int fd;
    *stopped = 0;
    if (!j.a) return fail_memory(error, "unpacking %s", text_path(path));
    ssm2d_status status =
        file_open_fd(AT_FDCWD, path, path, follow ? FILE_READ : FILE_READ_OWN, &fd, error);
    if (!status && (mkdirat(folder, name, 0777) || (j.root = folder_fd(folder, name, 0)) < 0))
        status = fail_errno(error, name, "cannot be made");
    if (!status && (archive_read_support_format_zip(j.a) || archive_read_open_fd(j.a, fd, 1 << 16)))
        status = refuse(&j, "cannot be unpacked", "is damaged");
    if (!status) status = take_entries(&j, stopped);
    archive_read_free(j.a);
    if (j.root >= 0) close(j.root);
    if (fd >= 0) close(fd);
    return status;
}

#else
ssm2d_status unpack_tree(const char *path, int follow, const unpack_bounds *bounds, int folder,
                         const char *name, int *stopped, ssm2d_error *error)
{
    (void)follow, (void)bounds, (void)folder, (void)name, (void)stopped;
    return fail(error, SSM2D_ERROR_UNSUPPORTED,
                "%s: this ssm2d was built without libarchive: install libarchive-dev and build it "
                "again",
                text_path(path));
}
#endif
