#include "data/file_check.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/hash.h"
#include "core/status.h"
#include "io/file.h"
#include "io/image.h"
#include "io/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- list of checked files ------------------------------------------------------------------- */

enum { MAX_KEYS = 1 << 23 }; /* 64 MiB */

static const char magic[16] = "ssm2d images 1\n";

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

checked_files checked_files_read(const ssm2d_context *context, const char *path)
{
    checked_files c = {.context = context};
    char *bytes = NULL;
    size_t size = 0;
    const size_t max = sizeof magic + (size_t)MAX_KEYS * sizeof *c.keys;
    if (!path || file_read_regular(context, path, max, &bytes, &size, NULL)) return c;
    const size_t count = size < sizeof magic ? 0 : (size - sizeof magic) / sizeof *c.keys;
    if (count && !memcmp(bytes, magic, sizeof magic))
        c.keys = mem_alloc(context, count * sizeof *c.keys);
    if (c.keys) {
        memcpy(c.keys, bytes + sizeof magic, count * sizeof *c.keys);
        qsort(c.keys, count, sizeof *c.keys, compare); /* the file is not trusted */
        c.count = c.sorted = c.capacity = count;
    }
    mem_free(context, bytes);
    return c;
}

/* Identifies a file by its path, size and modification time; 0 if it does not exist. */
static uint64_t file_key(const char *path, size_t max_pixels)
{
    struct stat info;
    uint64_t hash = HASH_START;
    if (stat(path, &info) || !S_ISREG(info.st_mode)) return 0;
    const uint64_t values[] = {(uint64_t)info.st_size, (uint64_t)info.st_mtim.tv_sec,
                               (uint64_t)info.st_mtim.tv_nsec, max_pixels};
    hash_add(&hash, path, strlen(path));
    hash_add(&hash, values, sizeof values);
    return hash ? hash : 1;
}

static int has_key(const checked_files *c, uint64_t key)
{
    return key && c->sorted && bsearch(&key, c->keys, c->sorted, sizeof key, compare);
}

/* Does nothing if out of memory, or if the list is full. */
static void add_key(checked_files *c, uint64_t key)
{
    if (!key || c->count >= MAX_KEYS) return;
    uint64_t *keys = mem_grow(c->context, c->keys, sizeof *keys, c->count, 1, &c->capacity);
    if (!keys) return;
    c->keys = keys;
    c->keys[c->count++] = key;
}

int checked_files_write(checked_files *c, const char *path)
{
    atomic_file file;
    if (!path || c->count == c->sorted) return 0;
    qsort(c->keys, c->count, sizeof *c->keys, compare);
    c->sorted = c->count;
    if (atomic_open(c->context, path, &file, NULL)) return 0;
    ssm2d_status status = atomic_write(&file, magic, sizeof magic, NULL);
    if (!status) status = atomic_write(&file, c->keys, c->count * sizeof *c->keys, NULL);
    return !atomic_end(&file, status, NULL);
}

void checked_files_free(checked_files *c)
{
    mem_free(c->context, c->keys);
    *c = (checked_files){0};
}

/* ---- some files ------------------------------------------------------------------------------ */

void file_check_some(const dataset *d, size_t max_files, size_t max_pixels, size_t *checked,
                     size_t *bad, ssm2d_error *error)
{
    const ssm2d_context *context = dataset_context(d);
    const image_read_options how = {.max_pixels = max_pixels, .regular = 1};
    const size_t count = dataset_about(d)->count, files = count < max_files ? count : max_files;
    *checked = *bad = 0;
    for (size_t k = 0; k < files; k++) {
        char path[PATH_MAX];
        image_reader *reader;
        image_info info;
        ssm2d_error why;
        /* evenly spaced, from the first to the last */
        const size_t i = files > 1 ? k * (count - 1) / (files - 1) : 0;
        if (!dataset_file(d, i, path, sizeof path)) continue;
        ++*checked;
        if (!image_open(context, path, &how, &reader, &info, &why)) {
            image_close(reader);
            continue;
        }
        if (!*bad) *error = why;
        ++*bad;
    }
}

/* ---- all files ------------------------------------------------------------------------------- */

enum { PART = 64 }; /* files per thread between two calls of the hooks */

typedef struct checked_file {
    uint64_t key; /* of a readable file that is not in the list; else 0 */
    ssm2d_status status;
    ssm2d_error why;
} checked_file;

typedef struct job {
    const dataset *data;
    const file_check_hooks *hooks;
    size_t max_pixels, first, step; /* task i checks image first + i * step */
    checked_file *files;            /* [tasks] */
} job;

static int eighth(void *user, size_t rows, size_t cols)
{
    (void)user;
    (void)rows;
    (void)cols;
    return 8;
}

static void check_file(void *arg, size_t task, int worker)
{
    const job *j = arg;
    checked_file *f = &j->files[task];
    char path[PATH_MAX];
    image_info info;
    (void)worker;
    f->key = 0;
    f->status = SSM2D_OK;
    if (!dataset_file(j->data, j->first + task * j->step, path, sizeof path)) return;
    const checked_files *checked = j->hooks->checked;
    const uint64_t key = file_key(path, j->max_pixels);
    if (checked && has_key(checked, key)) return;
    image_read_options how = {.max_pixels = j->max_pixels, .regular = 1, .reduce = eighth};
    f->status = image_read_rows(dataset_context(j->data), path, &how, &info, NULL, NULL, &f->why);
    if (f->status) { /* again at full size, so that the message has the right row */
        how.reduce = NULL;
        f->status =
            image_read_rows(dataset_context(j->data), path, &how, &info, NULL, NULL, &f->why);
    }
    if (!f->status) f->key = key;
}

/* Adds the results of the tasks, in the order of the data set. */
static ssm2d_status gather(const job *j, size_t tasks, file_check *result, ssm2d_error *error)
{
    for (size_t i = 0; i < tasks; i++) {
        const checked_file *f = &j->files[i];
        if (f->status == SSM2D_ERROR_MEMORY) return fail(error, f->status, "%s", f->why.line);
        result->files++;
        if (!f->status && j->hooks->checked) add_key(j->hooks->checked, f->key);
        if (!f->status) continue;
        if (result->bad < FILE_CHECK_SHOWN) result->first[result->bad] = f->why;
        result->bad++;
    }
    return SSM2D_OK;
}

ssm2d_status file_check_all(ssm2d_context *context, const dataset *d, size_t max_pixels,
                            const file_check_hooks *hooks, file_check *result, ssm2d_error *error)
{
    const size_t count = dataset_about(d)->count, step = max_size(hooks->shares, 1);
    const size_t part = PART * (size_t)pool_threads(context->pool);
    char path[PATH_MAX];
    job j = {.data = d, .hooks = hooks, .max_pixels = max_pixels, .step = step};
    if (!dataset_file(d, 0, path, sizeof path)) return SSM2D_OK;
    j.files = mem_alloc(context, part * sizeof *j.files);
    ssm2d_status status = j.files ? SSM2D_OK : fail_memory(error, "checking images");
    for (size_t at = hooks->share; at < count && !status && !result->stopped;) {
        const size_t tasks = min_size(part, div_up_size(count - at, step));
        j.first = at;
        pool_run(context->pool, tasks, check_file, &j);
        status = gather(&j, tasks, result, error);
        at += tasks * step;
        if (hooks->progress) hooks->progress(hooks->user, min_size(at, count));
        if (hooks->stop && hooks->stop(hooks->user)) result->stopped = 1;
    }
    mem_free(context, j.files);
    return status;
}
