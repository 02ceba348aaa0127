#include "core/context.h"
#include "core/status.h"
#include "core/suggest.h"
#include "data/dataset_impl.h"
#include "io/image.h"
#include "io/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const dataset_impl *const table[] = {
#define DATASET(name) &dataset_##name,
#include "data/datasets.def"
#undef DATASET
};
enum { TABLE = sizeof table / sizeof *table, MAX_DATASETS = 64 };
_Static_assert((int)TABLE <= (int)MAX_DATASETS, "raise MAX_DATASETS");

const dataset_impl *const *dataset_extra;

/* The i-th kind, from 0; NULL past the last. */
static const dataset_impl *impl_at(int i)
{
    const dataset_impl *const *extra = dataset_extra;
    if (i < TABLE) return i < 0 ? NULL : table[i];
    while (extra && *extra && i-- > TABLE) extra++;
    return extra ? *extra : NULL;
}

/* The kind named by the first `length` bytes of `name`, or NULL. */
static const dataset_impl *impl_named(const char *name, size_t length)
{
    const dataset_impl *impl;
    for (int i = 0; (impl = impl_at(i)); i++)
        if (strlen(impl->name) == length && !memcmp(impl->name, name, length)) return impl;
    return NULL;
}

int dataset_get(int i, const char **name, const char **help)
{
    const dataset_impl *impl = impl_at(i);
    if (!impl) return 0;
    *name = impl->name;
    *help = impl->help;
    return 1;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Appends to a text of `size` bytes, truncating it. */
static void append(char *text, size_t size, const char *separator, const char *word,
                   const char *end)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s%s", separator, word, end);
}

/* The error for a `where` that is neither a name nor a folder. */
static ssm2d_status refuse(const char *where, ssm2d_error *error)
{
    const dataset_impl *impl;
    const char *names[MAX_DATASETS + 1] = {NULL};
    char list[256] = "", wrong[64];
    for (int i = 0; i < MAX_DATASETS && (impl = impl_at(i)); i++) {
        names[i] = impl->name;
        append(list, sizeof list, ", ", impl->name, impl->default_folder ? "" : ":FOLDER");
    }
    const char *near =
        closest_name(text_show(where, strcspn(where, ":"), wrong, sizeof wrong), names);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT, "data: there is no \"%s\": did you mean %s?",
                    wrong, near);
    return fail(error, SSM2D_ERROR_ARGUMENT, "data: %s is not a folder: give one%s",
                text_path(where), list);
}

/* The error for a folder without a known data set, and for a file. */
static ssm2d_status refuse_folder(const char *where, int is_folder, ssm2d_error *error)
{
    const dataset_impl *impl;
    char list[256] = "";
    for (int i = 0; (impl = impl_at(i)); i++)
        if (impl->found) append(list, sizeof list, *list ? "; " : "", impl->contents, "");
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s: expected %s", text_path(where),
                is_folder ? "contains no known data set" : "is not a folder", list);
}

/* Finds the kind of data set at `where`, and its folder. */
static ssm2d_status choose(const char *where, const dataset_impl **chosen, const char **folder,
                           ssm2d_error *error)
{
    struct stat info;
    const size_t length = strcspn(where, ":");
    const dataset_impl *impl = impl_named(where, length);
    if (impl) {
        *chosen = impl;
        *folder = where[length] ? where + length + 1 : impl->default_folder;
        if (!*folder || !**folder)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "data: %s needs a folder: give %s:FOLDER, or ./%s for one of that name",
                        where, impl->name, where);
        return SSM2D_OK;
    }
    if (stat(where, &info)) {
        if (errno == ENOENT || errno == ENOTDIR) return refuse(where, error);
        return fail_errno(error, where, "cannot be opened");
    }
    *folder = where;
    for (int i = 0; S_ISDIR(info.st_mode) && (impl = impl_at(i)); i++)
        if (impl->found && impl->found(where)) {
            *chosen = impl;
            return SSM2D_OK;
        }
    return refuse_folder(where, S_ISDIR(info.st_mode), error);
}

/* The folder in `where`; NULL for a name without one. */
static const char *folder_in(const char *where)
{
    const size_t length = strcspn(where, ":");
    if (!impl_named(where, length)) return where;
    return where[length] && where[length + 1] ? where + length + 1 : NULL;
}

int dataset_rebase(const char *where, const char *base, char *out, size_t size)
{
    const char *folder = folder_in(where);
    if (!folder || *folder == '/') return 0;
    while (folder[0] == '.' && folder[1] == '/') folder += 2 + strspn(folder + 2, "/");
    const size_t prefix = (size_t)(folder_in(where) - where), length = strlen(base);
    if (prefix + length + 1 + strlen(folder) >= size) return 0;
    snprintf(out, size, "%.*s%s%s%s", (int)prefix, where, base,
             length && base[length - 1] == '/' ? "" : "/", folder);
    return 1;
}

const char *dataset_kind(const char *where)
{
    const dataset_impl *impl = NULL;
    const char *folder;
    return choose(where, &impl, &folder, NULL) ? NULL : impl->name;
}

dataset_format dataset_format_of(const char *where)
{
    const dataset_impl *impl = NULL;
    const char *folder;
    return choose(where, &impl, &folder, NULL) ? FORMAT_NAMED : impl->format;
}

void dataset_title(const char *where, char *title, size_t size)
{
    const size_t length = strcspn(where, ":");
    const dataset_impl *impl = impl_named(where, length);
    const char *folder = where + (impl && where[length] ? length + 1 : 0);
    if (impl && (impl->format == FORMAT_NAMED || !*folder)) {
        snprintf(title, size, "%s", impl->name);
        return;
    }
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') end--;
    size_t begin = end == 1 ? 0 : end; /* the root folder's name is / */
    while (begin && folder[begin - 1] != '/') begin--;
    snprintf(title, size, "%.*s", (int)(end - begin), folder + begin);
}

int dataset_present(const char *where)
{
    struct stat info;
    const char *folder = folder_in(where);
    return !folder || !stat(folder, &info);
}

ssm2d_status dataset_splits(const char *where, int *splits, ssm2d_error *error)
{
    const dataset_impl *impl = NULL;
    const char *folder = NULL;
    ssm2d_status status = choose(where, &impl, &folder, error);
    *splits = 0;
    if (!status)
        *splits = impl->splits ? impl->splits(folder) : DATASET_HAS(TRAIN) | DATASET_HAS(TEST);
    return status;
}

ssm2d_status dataset_open(const ssm2d_context *context, const char *where, dataset_split split,
                          dataset **out, ssm2d_error *error)
{
    const dataset_impl *impl = NULL;
    const char *folder = NULL;
    *out = NULL;
    ssm2d_status status = choose(where, &impl, &folder, error);
    if (status) return status;
    if (split == DATASET_VAL && !impl->splits)
        return fail(
            error, SSM2D_ERROR_ARGUMENT,
            "%s: has no validation split: use train or test (ssm2d train --val-fraction holds "
            "out training images)",
            text_path(where));
    dataset *d = mem_alloc(context, sizeof *d);
    if (!d) return fail_memory(error, "opening %s", text_path(where));
    *d = (dataset){.context = context,
                   .impl = impl,
                   .split = split,
                   .max_pixels = IMAGE_MAX_PIXELS,
                   .users = 1};
    status = impl->open(d, folder, split, error);
    d->info.format = impl->format;
    if (!status && !d->info.count)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no images", text_path(folder));
    if (status) {
        dataset_close(d);
        return status;
    }
    *out = d;
    return SSM2D_OK;
}

void dataset_close(dataset *d)
{
    if (!d || --d->users) return;
    const ssm2d_context *context = d->context;
    if (d->whole)
        dataset_close(d->whole);
    else
        d->impl->close(d);
    mem_free(context, d->names);
    mem_free(context, d->ids);
    mem_free(context, d->index);
    mem_free(context, d);
}

/* ---- images ---------------------------------------------------------------------------------- */

const dataset_info *dataset_about(const dataset *d) { return &d->info; }
const ssm2d_context *dataset_context(const dataset *d) { return d->context; }

/* The data set that stores image *i of d; *i becomes the index in it. */
static const dataset *stored_in(const dataset *d, size_t *i)
{
    for (; d->whole; d = d->whole) *i = d->index[*i];
    return d;
}

int dataset_file(const dataset *d, size_t i, char *path, size_t size)
{
    d = stored_in(d, &i);
    return d->impl->path && d->impl->path(d, i, path, size);
}

ssm2d_status dataset_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error)
{
    d = stored_in(d, &i);
    return d->impl->fetch(d, i, to, pixels, error);
}

ssm2d_status dataset_fetch_map(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                               ssm2d_error *error)
{
    d = stored_in(d, &i);
    return d->impl->fetch_map(d, i, to, pixels, error);
}

int dataset_label(const dataset *d, size_t i)
{
    d = stored_in(d, &i);
    return d->impl->label(d, i);
}

void dataset_target(const dataset *d, size_t i, float *target)
{
    d = stored_in(d, &i);
    if (d->info.labels == LABEL_BINARY) {
        d->impl->attributes(d, i, target);
        return;
    }
    for (int c = 0; c < d->info.label_count; c++) target[c] = 0;
    target[d->impl->label(d, i)] = 1;
}

/* A grey model of colour images uses the means over the channels. */
normalisation dataset_norm(const dataset_info *info, int channels)
{
    normalisation n = info->norm;
    if (channels == 1 && info->channels == 3) {
        n.mean[0] = (n.mean[0] + n.mean[1] + n.mean[2]) / 3;
        n.std[0] = (n.std[0] + n.std[1] + n.std[2]) / 3;
    }
    return n;
}

/* ---- for implementations --------------------------------------------------------------------- */

/* Copies names, or "0", "1", .. if they are NULL, to one block. */
static ssm2d_status copy_names(const dataset *d, int count, const char *const *names,
                               const char ***out, ssm2d_error *error)
{
    enum { DIGITS = 12 };
    size_t bytes = (size_t)count * sizeof **out;
    for (int i = 0; i < count; i++) bytes += names ? strlen(names[i]) + 1 : DIGITS;
    const char **block = mem_alloc(d->context, bytes);
    if (!block) return fail_memory(error, "data: names of %d labels", count);
    char *text = (char *)(block + count);
    for (int i = 0; i < count; i++) {
        block[i] = text;
        if (names)
            strcpy(text, names[i]);
        else
            snprintf(text, DIGITS, "%d", i);
        text += strlen(text) + 1;
    }
    mem_free(d->context, *out);
    *out = block;
    return SSM2D_OK;
}

ssm2d_status dataset_name_labels(dataset *d, int count, const char *const *names,
                                 ssm2d_error *error)
{
    const ssm2d_status status = copy_names(d, count, names, &d->names, error);
    int replaced = 0;
    if (status) return status;
    /* JSON and drawing need valid UTF-8 */
    for (int i = 0; i < count; i++) replaced |= text_make_utf8((char *)d->names[i]);
    d->info.label_count = count;
    d->info.label_names = d->names;
    return replaced && !d->ids ? dataset_identify_labels(d, names, error) : SSM2D_OK;
}

ssm2d_status dataset_identify_labels(dataset *d, const char *const *ids, ssm2d_error *error)
{
    const ssm2d_status status = copy_names(d, d->info.label_count, ids, &d->ids, error);
    if (!status) d->info.label_ids = d->ids;
    return status;
}

const char *dataset_label_id(const dataset *d, int label)
{
    return (d->info.label_ids ? d->info.label_ids : d->info.label_names)[label];
}

ssm2d_status dataset_path(char *path, size_t size, const char *folder, const char *name,
                          ssm2d_error *error)
{
    const size_t length = strlen(folder);
    const int written = snprintf(path, size, "%s%s%s", folder,
                                 length && folder[length - 1] == '/' ? "" : "/", name);
    if (written >= 0 && (size_t)written < size) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the names in it are too long", text_path(folder));
}

int dataset_contains(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return !dataset_path(path, sizeof path, folder, name, NULL) && !access(path, F_OK);
}

/* ---- subsets --------------------------------------------------------------------------------- */

ssm2d_status dataset_subset(dataset *whole, const uint32_t *index, size_t count, dataset **out,
                            ssm2d_error *error)
{
    dataset *d = *out = mem_alloc(whole->context, sizeof *d);
    uint32_t *copy = mem_alloc(whole->context, count * sizeof *copy);
    if (!d || !copy) {
        mem_free(whole->context, d);
        mem_free(whole->context, copy);
        *out = NULL;
        return fail_memory(error, "data: part of %zu images", count);
    }
    memcpy(copy, index, count * sizeof *copy);
    *d = (dataset){.context = whole->context,
                   .impl = whole->impl,
                   .split = whole->split,
                   .info = whole->info,
                   .max_pixels = whole->max_pixels,
                   .whole = whole,
                   .index = copy,
                   .users = 1};
    d->info.count = count;
    whole->users++;
    return SSM2D_OK;
}

void dataset_limit_pixels(dataset *d, size_t max_pixels)
{
    for (; d; d = d->whole) d->max_pixels = max_pixels;
}
