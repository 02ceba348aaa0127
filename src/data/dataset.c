#include "core/context.h"
#include "core/status.h"
#include "data/dataset_impl.h"
#include "core/suggest.h"
#include "io/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Folders are tried in this order. */
static const dataset_kind *const kinds[] = {&dataset_fashion_mnist, &dataset_idx, &dataset_cifar10,
                                            &dataset_cifar100, &dataset_folder};
enum { KINDS = sizeof kinds / sizeof *kinds };

int dataset_kind_get(int i, const char **name, const char **help)
{
    if (i < 0 || i >= KINDS) return 0;
    *name = kinds[i]->name;
    *help = kinds[i]->help;
    return 1;
}

/* No such name, no such folder. */
static ssm2d_status refuse(const char *where, ssm2d_error *error)
{
    const char *names[KINDS + 1] = {NULL};
    char list[128] = "", wrong[64];
    for (int i = 0; i < KINDS; i++) {
        size_t used = strlen(list);
        names[i] = kinds[i]->name;
        snprintf(list + used, sizeof list - used, ", %s%s", kinds[i]->name,
                 kinds[i]->place ? "" : ":FOLDER");
    }
    const char *near =
        closest_name(text_show(where, strcspn(where, ":"), wrong, sizeof wrong), names);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT, "data: there is no \"%s\": did you mean %s?",
                    wrong, near);
    return fail(error, SSM2D_ERROR_ARGUMENT, "data: %s is no folder: give one%s", text_path(where),
                list);
}

static ssm2d_status choose(const char *where, const dataset_kind **kind, const char **folder,
                           ssm2d_error *error)
{
    struct stat info;
    size_t length = strcspn(where, ":");
    for (int i = 0; i < KINDS; i++) {
        if (strlen(kinds[i]->name) != length || memcmp(kinds[i]->name, where, length)) continue;
        *kind = kinds[i];
        *folder = where[length] ? where + length + 1 : kinds[i]->place;
        if (!*folder || !**folder)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "data: %s needs a folder: give %s:FOLDER, or ./%s for one of that name",
                        where, kinds[i]->name, where);
        return SSM2D_OK;
    }
    if (stat(where, &info)) {
        if (errno == ENOENT || errno == ENOTDIR) return refuse(where, error);
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be opened: %s", text_path(where),
                    strerror(errno));
    }
    *folder = where;
    for (int i = 0; i < KINDS && S_ISDIR(info.st_mode); i++)
        if (kinds[i]->found && kinds[i]->found(where)) {
            *kind = kinds[i];
            return SSM2D_OK;
        }
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: %s: expected train/CLASS/*.png|jpg, idx files or CIFAR's .bin files",
                text_path(where),
                S_ISDIR(info.st_mode) ? "holds no data set that is known" : "is not a folder");
}

ssm2d_status dataset_open(const ssm2d_context *context, const char *where, dataset_split split,
                          dataset **out, ssm2d_error *error)
{
    const dataset_kind *kind = NULL;
    const char *folder = NULL;
    *out = NULL;
    ssm2d_status status = choose(where, &kind, &folder, error);
    if (status) return status;
    dataset *d = mem_alloc(context, sizeof *d);
    if (!d) return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to open it", text_path(where));
    *d = (dataset){.context = context, .kind = kind};
    status = kind->open(d, folder, split, error);
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
    if (!d) return;
    const ssm2d_context *context = d->context;
    d->kind->close(d);
    mem_free(context, d->names);
    mem_free(context, d);
}

const dataset_info *dataset_about(const dataset *d) { return &d->info; }

ssm2d_status dataset_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error)
{
    return d->kind->fetch(d, i, to, pixels, error);
}

int dataset_label(const dataset *d, size_t i) { return d->kind->label(d, i); }

/* A grey model on coloured images takes the means over the channels. */
normalisation dataset_norm(const dataset_info *info, int channels)
{
    normalisation n = info->norm;
    if (channels == 1 && info->channels == 3) {
        n.mean[0] = (n.mean[0] + n.mean[1] + n.mean[2]) / 3;
        n.std[0] = (n.std[0] + n.std[1] + n.std[2]) / 3;
    }
    return n;
}

ssm2d_status dataset_name_classes(dataset *d, int classes, const char *const *names,
                                  ssm2d_error *error)
{
    enum { DIGITS = 12 };
    size_t bytes = (size_t)classes * sizeof *d->names;
    for (int i = 0; i < classes; i++) bytes += names ? strlen(names[i]) + 1 : DIGITS;
    const char **block = mem_alloc(d->context, bytes);
    if (!block)
        return fail(error, SSM2D_ERROR_MEMORY, "data: no memory for the names of %d classes",
                    classes);
    char *text = (char *)(block + classes);
    for (int i = 0; i < classes; i++) {
        block[i] = text;
        if (names)
            strcpy(text, names[i]);
        else
            snprintf(text, DIGITS, "%d", i);
        text += strlen(text) + 1;
    }
    mem_free(d->context, d->names);
    d->names = block;
    d->info.classes = classes;
    d->info.class_names = block;
    return SSM2D_OK;
}

int dataset_path(char *path, size_t size, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    int written = snprintf(path, size, "%s%s%s", folder,
                           length && folder[length - 1] == '/' ? "" : "/", name);
    return written >= 0 && (size_t)written < size;
}
