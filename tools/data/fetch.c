#define _GNU_SOURCE /* renameat2 */
#include "fetch.h"

#include "core/status.h"
#include "io/file.h"
#include "io/file_open.h"
#include "io/md5.h"
#include "io/text.h"
#include "io/unpack.h"
#include "npm_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lock_name[] = "lock";

ssm2d_status fetch_path(const char *folder, const char *name, char path[PATH_MAX],
                        ssm2d_error *error)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    if (length > 0 && length < PATH_MAX) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", text_path(folder));
}

/* ---- files ----------------------------------------------------------------------------------- */

/* What differs from the published file; "" if nothing does. */
enum { DIFFERENCE = 128 };
static ssm2d_status compare(const data_file *f, const char *path, char difference[DIFFERENCE],
                            ssm2d_error *error)
{
    char sum[MD5_TEXT];
    struct stat info;
    *difference = 0;
    if (lstat(path, &info)) return fail_errno(error, path, "cannot be read");
    if (f->entries) {
        const size_t count = unpack_count(AT_FDCWD, path);
        if (count != f->entries)
            snprintf(difference, DIFFERENCE, "%zu files, expected %zu", count, f->entries);
    } else if (f->md5) {
        ssm2d_status status = md5_file(path, sum, error);
        if (status) return status;
        if (strcmp(sum, f->md5))
            snprintf(difference, DIFFERENCE, "the MD5 %s, expected %s", sum, f->md5);
    } else if (stat(path, &info) || !S_ISREG(info.st_mode))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is not a regular file", text_path(path));
    else if (f->size && (size_t)info.st_size != f->size)
        snprintf(difference, DIFFERENCE, "%zu bytes, expected %zu", (size_t)info.st_size, f->size);
    return SSM2D_OK;
}

ssm2d_status fetch_exists(const fetch_job *j, int i, int *exists, ssm2d_error *error)
{
    const data_file *f = &j->source->files[i];
    char path[PATH_MAX], difference[DIFFERENCE];
    struct stat info;
    *exists = 0;
    ssm2d_status status = fetch_path(j->folder, f->name, path, error);
    if (status || lstat(path, &info)) return status;
    if ((status = compare(f, path, difference, error))) return status;
    *exists = !*difference;
    if (*exists) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: exists with %s of the published data: remove it, or give another folder",
                text_path(path), difference);
}

ssm2d_status fetch_count_missing(const fetch_job *j, int *missing, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    *missing = 0;
    for (int i = 0; j->source->files[i].name && !status; i++) {
        int exists;
        status = fetch_exists(j, i, &exists, error);
        *missing += !exists;
    }
    return status;
}

/* Renames a file without replacing another. */
static int move(int from_folder, const char *from, const char *to)
{
    struct stat info;
    if (!renameat2(from_folder, from, AT_FDCWD, to, RENAME_NOREPLACE)) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (!lstat(to, &info)) return errno = EEXIST, -1; /* a file system without that flag */
    return renameat(from_folder, from, AT_FDCWD, to);
}

ssm2d_status fetch_take(const fetch_job *j, int i, const char *name, int *wrong, ssm2d_error *error)
{
    const data_file *f = &j->source->files[i];
    char from[PATH_MAX], to[PATH_MAX], difference[DIFFERENCE];
    ssm2d_status status = fetch_path(j->work, name, from, error);
    if (!status) status = fetch_path(j->folder, f->name, to, error);
    if (!status) status = compare(f, from, difference, error);
    if (status) return status;
    if (*difference) {
        *wrong = 1;
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has %s of the published data",
                    text_path(from), difference);
    }
    return move(j->opened, name, to) ? fail_errno(error, to, "cannot be written") : SSM2D_OK;
}

void fetch_report(const fetch_job *j, int i)
{
    const data_file *f = &j->source->files[i];
    char path[PATH_MAX];
    if (fetch_path(j->folder, f->name, path, NULL)) return;
    text_print(stdout, path);
    if (f->md5)
        printf(": MD5 %s, as published\n", f->md5);
    else if (f->entries)
        printf(": %zu files\n", f->entries);
    else
        printf(": written\n");
    fflush(stdout);
}

/* ---- the working folder ---------------------------------------------------------------------- */

static ssm2d_status lock_work(fetch_job *j, ssm2d_error *error)
{
    char path[PATH_MAX];
    ssm2d_status status = fetch_path(j->work, lock_name, path, error);
    if (status) return status;
    const int opened = folder_fd(AT_FDCWD, j->work, 0);
    if (opened < 0)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: is a link, or cannot be opened: remove it",
                    text_path(j->work));
    status = file_open_fd(opened, lock_name, path, FILE_LOCK, &j->lock, error);
    if (!status && flock(j->lock, LOCK_EX | LOCK_NB))
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: another call is fetching into this folder",
                      text_path(j->folder));
    if (status)
        close(opened);
    else
        j->opened = opened;
    return status;
}

ssm2d_status fetch_begin(fetch_job *j, ssm2d_error *error)
{
    char name[64];
    struct stat info;
    snprintf(name, sizeof name, ".fetching-%s", j->source->name);
    j->new_folder = lstat(j->folder, &info) != 0;
    ssm2d_status status = fetch_path(j->folder, name, j->work, error);
    if (!status) status = folder_make(j->work, error);
    return status ? status : lock_work(j, error);
}

void fetch_end(fetch_job *j, int complete)
{
    if (j->opened >= 0) {
        if (complete) unlinkat(j->opened, npm_log_name, 0);
        unlinkat(j->opened, lock_name, 0);
        rmdir(j->work);
        if (j->new_folder && !complete) rmdir(j->folder); /* if it is empty */
        close(j->opened);
    }
    if (j->lock >= 0) close(j->lock);
    j->opened = j->lock = -1;
}
