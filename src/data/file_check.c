#include "data/file_check.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/image.h"
#include "io/text.h"

#include <limits.h>

void file_check_some(const dataset *d, size_t max_looks, size_t max_pixels, size_t *looked,
                     size_t *bad, ssm2d_error *error)
{
    const ssm2d_context *context = dataset_context(d);
    const image_read_options how = {.max_pixels = max_pixels, .regular = 1};
    const size_t count = dataset_about(d)->count, looks = count < max_looks ? count : max_looks;
    *looked = *bad = 0;
    for (size_t k = 0; k < looks; k++) {
        char path[PATH_MAX];
        image_reader *reader;
        image_info info;
        ssm2d_error why;
        /* the first and the last are among them */
        const size_t i = looks > 1 ? k * (count - 1) / (looks - 1) : 0;
        if (!dataset_file(d, i, path, sizeof path)) continue;
        ++*looked;
        if (!image_open_with(context, path, &how, &reader, &info, &why)) {
            image_close(reader);
            continue;
        }
        if (!*bad) *error = why;
        ++*bad;
    }
}

/* ---- all files ------------------------------------------------------------------------------- */

enum { PART = 64 }; /* files between two looks at the hooks, per thread */

typedef struct looked {
    uint64_t key;
    ssm2d_status status;
    ssm2d_error why;
} looked;

typedef struct looking {
    const dataset *data;
    const file_check_hooks *hooks;
    size_t max_pixels, first, step; /* image `first + i * step` is task i */
    looked *files;                  /* [tasks] */
} looking;

static int eighth(void *user, size_t rows, size_t cols)
{
    (void)user;
    (void)rows;
    (void)cols;
    return 8;
}

static ssm2d_status decode(const ssm2d_context *context, const char *path,
                           const image_read_options *how, ssm2d_error *error)
{
    image_reader *reader;
    image_info info;
    ssm2d_status status = image_open_with(context, path, how, &reader, &info, error);
    if (status) return status;
    uint8_t *row = mem_alloc(context, image_row_bytes(&info));
    if (!row) status = fail_memory(error, "reading %s", text_path(path));
    for (size_t r = 0; r < info.rows && !status; r++) status = image_read_row(reader, row, error);
    mem_free(context, row);
    image_close(reader);
    return status;
}

static void look_at(void *arg, size_t task, int worker)
{
    const looking *l = arg;
    looked *f = &l->files[task];
    char path[PATH_MAX];
    (void)worker;
    f->key = 0;
    f->status = SSM2D_OK;
    if (!dataset_file(l->data, l->first + task * l->step, path, sizeof path)) return;
    const checked_files *checked = l->hooks->checked;
    const uint64_t key = checked_files_key(path, l->max_pixels);
    if (checked && checked_files_has(checked, key)) return;
    image_read_options how = {.max_pixels = l->max_pixels, .regular = 1, .reduce = eighth};
    f->status = decode(dataset_context(l->data), path, &how, &f->why);
    if (f->status) { /* once more in its own size, for a message that counts its own rows */
        how.reduce = NULL;
        f->status = decode(dataset_context(l->data), path, &how, &f->why);
    }
    if (!f->status) f->key = key;
}

/* Takes over what the tasks found, in the order of the data set. */
static ssm2d_status gather(const looking *l, size_t tasks, file_check *result, ssm2d_error *error)
{
    for (size_t i = 0; i < tasks; i++) {
        const looked *f = &l->files[i];
        if (f->status == SSM2D_ERROR_MEMORY) return fail(error, f->status, "%s", f->why.line);
        result->files++;
        if (!f->status && l->hooks->checked) checked_files_add(l->hooks->checked, f->key);
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
    looking l = {.data = d, .hooks = hooks, .max_pixels = max_pixels, .step = step};
    if (!dataset_file(d, 0, path, sizeof path)) return SSM2D_OK;
    l.files = mem_alloc(context, part * sizeof *l.files);
    ssm2d_status status = l.files ? SSM2D_OK : fail_memory(error, "checking images");
    for (size_t at = hooks->share; at < count && !status && !result->stopped;) {
        const size_t tasks = min_size(part, div_up_size(count - at, step));
        l.first = at;
        pool_run(context->pool, tasks, look_at, &l);
        status = gather(&l, tasks, result, error);
        at += tasks * step;
        if (hooks->progress) hooks->progress(hooks->user, min_size(at, count));
        if (hooks->stop && hooks->stop(hooks->user)) result->stopped = 1;
    }
    mem_free(context, l.files);
    return status;
}
