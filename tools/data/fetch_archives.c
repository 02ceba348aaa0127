/* fetch_archives - data sets as their authors publish them, from an address or from local files.
 *
 * Archives are verified before they are unpacked: downloads always, local ones unless every file in
 * them has an MD5 of its own, as they may have been packed again (Debian does). */
#include "core/status.h"
#include "fetch.h"
#include "io/file_open.h"
#include "io/text.h"
#include "io/unpack.h"
#include "tools/progress.h"
#include "tools/stop_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_FILE = 1 << 28,    /* bytes of one unpacked file */
    MAX_PICTURE = 1 << 24, /* of one of many */
    MAX_TREE = 1 << 30,
    MAX_TREE_FILES = 200000,
    MEGABYTE = 1000000
};

static const char tree_name[] = "unpacked"; /* in the working folder */

/* ---- unpacking ------------------------------------------------------------------------------- */

static int stop(void *user)
{
    (void)user;
    return stop_requested(NULL);
}

/* Removes what was unpacked into the working folder. */
static void clear(const fetch_job *j)
{
    unpack_remove(j->opened, tree_name);
    for (const data_file *f = j->source->files; f->name; f++)
        if (!f->entries) unlinkat(j->opened, f->name, 0);
}

static ssm2d_status unpack_tar(const fetch_job *j, const data_archive *a, const char *path,
                               int local, ssm2d_error *error)
{
    char names[MAX_DATA_FILES][128];
    const char *list[MAX_DATA_FILES];
    size_t count = 0;
    for (const data_file *f = j->source->files; f->name; f++, count++) {
        snprintf(names[count], sizeof names[count], "%s%s", a->prefix, f->name);
        list[count] = names[count];
    }
    return unpack_files(j->context, path, local, list, count, MAX_FILE, j->work, error);
}

static ssm2d_status unpack_zip(fetch_job *j, const data_archive *a, const char *path, int local,
                               ssm2d_error *error)
{
    const char *under[MAX_DATA_FILES + 1] = {0};
    for (int i = 0; j->source->files[i].name; i++) under[i] = j->source->files[i].name;
    const unpack_bounds bounds = {a->prefix, under, MAX_TREE_FILES, MAX_PICTURE, MAX_TREE,
                                  stop,      NULL};
    return unpack_tree(path, local, &bounds, j->opened, tree_name, &j->stopped, error);
}

/* Unpacks an archive and moves its files into place; `only`: its file, or -1 for all of them. */
static ssm2d_status take_files(fetch_job *j, const data_archive *a, int only, const char *path,
                               int local, ssm2d_error *error)
{
    char to[PATH_MAX];
    int wrong = 0;
    ssm2d_status status = SSM2D_OK;
    clear(j); /* an earlier call may have been killed */
    if (a->kind == ARCHIVE_SINGLE) {
        status = fetch_path(j->work, j->source->files[only].name, to, error);
        if (!status) status = unpack_single(j->context, path, local, MAX_FILE, to, error);
    } else if (a->kind == ARCHIVE_TAR)
        status = unpack_tar(j, a, path, local, error);
    else
        status = unpack_zip(j, a, path, local, error);
    for (int i = 0; !status && !j->stopped && j->source->files[i].name; i++) {
        char name[PATH_MAX];
        int exists;
        if (only >= 0 && i != only) continue;
        status = fetch_exists(j, i, &exists, error);
        if (status || exists) continue;
        snprintf(name, sizeof name, "%s%s%s", a->kind == ARCHIVE_ZIP ? tree_name : "",
                 a->kind == ARCHIVE_ZIP ? "/" : "", j->source->files[i].name);
        status = fetch_take(j, i, name, &wrong, error);
        if (!status) fetch_report(j, i);
    }
    clear(j);
    return status;
}

/* ---- archives -------------------------------------------------------------------------------- */

/* Whether each file of the archive has a checksum. */
static int files_have_sums(const fetch_job *j)
{
    for (const data_file *f = j->source->files; f->name; f++)
        if (!f->md5) return 0;
    return 1;
}

/* *right: whether a local archive is the published one. */
static ssm2d_status verify(const published *file, const char *path, int *right, char sum[SUM_TEXT],
                           ssm2d_error *error)
{
    int fd;
    ssm2d_status status = file_open_fd(AT_FDCWD, path, path, FILE_READ, &fd, error);
    if (status) return status;
    *right = published_verify(file, fd, sum);
    if (*right < 0) status = fail_errno(error, path, "cannot be read");
    close(fd);
    return status;
}

/* Whether the file that archive i alone has, or any file, is missing. */
static ssm2d_status is_needed(const fetch_job *j, int i, int *needed, ssm2d_error *error)
{
    int exists;
    if (j->source->archives[i].kind != ARCHIVE_SINGLE) return fetch_count_missing(j, needed, error);
    ssm2d_status status = fetch_exists(j, i, &exists, error);
    *needed = !exists;
    return status;
}

static int only_file(const data_archive *a, int i) { return a->kind == ARCHIVE_SINGLE ? i : -1; }

static void show_progress(void *user, size_t done, size_t total)
{
    (void)total;
    progress_show(user, done / MEGABYTE);
}

/* Downloads an archive into the working folder, where an earlier call may have completed it. */
static ssm2d_status obtain(fetch_job *j, const data_archive *a, const char *url, ssm2d_error *error)
{
    char path[PATH_MAX], what[128], sum[SUM_TEXT];
    struct stat info;
    int right = 0;
    ssm2d_status status = fetch_path(j->work, a->file.name, path, error);
    if (status) return status;
    if (!fstatat(j->opened, a->file.name, &info, AT_SYMLINK_NOFOLLOW)) {
        if (S_ISREG(info.st_mode)) status = verify(&a->file, path, &right, sum, error);
        if (status || right) return status;
        if (unlinkat(j->opened, a->file.name, 0))
            return fail_errno(error, path, "cannot be removed");
    }
    printf("fetching %s (%.1f MB)\n", url, (double)a->file.size / MEGABYTE);
    fflush(stdout);
    snprintf(what, sizeof what, "ssm2d data get: %s: megabyte", a->file.name);
    progress p = progress_start(what, (size_t)(a->file.size / MEGABYTE + 1));
    const download d = {url, &a->file, j->timeout, show_progress, stop, &p};
    status = download_file(&d, j->opened, j->work, &j->stopped, error);
    progress_end(&p);
    return status;
}

ssm2d_status fetch_address(fetch_job *j, const char *address, ssm2d_error *error)
{
    const size_t length = strlen(address);
    const int whole = !j->source->archives[1].file.name && length && address[length - 1] != '/';
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; j->source->archives[i].file.name && !status && !j->stopped; i++) {
        const data_archive *a = &j->source->archives[i];
        char url[2048], path[PATH_MAX];
        int needed;
        status = is_needed(j, i, &needed, error);
        if (status || !needed) continue;
        const int size = snprintf(url, sizeof url, "%s%s%s", address,
                                  whole || !length || address[length - 1] == '/' ? "" : "/",
                                  whole ? "" : a->file.name);
        if (size >= (int)sizeof url)
            return fail(error, SSM2D_ERROR_ARGUMENT, "--from: the address is too long");
        status = obtain(j, a, url, error);
        if (!status) status = fetch_path(j->work, a->file.name, path, error);
        if (status || j->stopped) return status;
        status = take_files(j, a, only_file(a, i), path, 0, error);
        if (!j->stopped) unlinkat(j->opened, a->file.name, 0);
    }
    return status;
}

ssm2d_status fetch_local(fetch_job *j, const char *from, ssm2d_error *error)
{
    struct stat info;
    ssm2d_status status = SSM2D_OK;
    if (stat(from, &info)) return fail_errno(error, from, "cannot be opened");
    const int folder = S_ISDIR(info.st_mode);
    if (!folder && j->source->archives[1].file.name)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: is a file, and %s has several: give the folder with %s", text_path(from),
                    j->source->name, j->source->archives[0].file.name);
    for (int i = 0; j->source->archives[i].file.name && !status && !j->stopped; i++) {
        const data_archive *a = &j->source->archives[i];
        char path[PATH_MAX], sum[SUM_TEXT];
        int needed, right = 1;
        status = is_needed(j, i, &needed, error);
        if (status || !needed) continue;
        if (folder)
            status = fetch_path(from, a->file.name, path, error);
        else
            snprintf(path, sizeof path, "%s", from);
        if (!status && !files_have_sums(j)) status = verify(&a->file, path, &right, sum, error);
        if (!status && !right)
            status = fail(error, SSM2D_ERROR_ARGUMENT,
                          "%s: has the %s, expected %s of the published %s", text_path(path), sum,
                          a->file.sha256 ? a->file.sha256 : a->file.md5, a->file.name);
        if (!status) status = take_files(j, a, only_file(a, i), path, 1, error);
    }
    return status;
}
