#include "zoo_model.h"

#include "core/status.h"
#include "core/suggest.h"
#include "io/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "zoo:", extension[] = ".ssm2d";

ssm2d_status zoo_folder(char folder[PATH_MAX], ssm2d_error *error)
{
    const char *given = getenv("SSM2D_MODELS");
    char program[PATH_MAX];
    if (given && *given) {
        if (snprintf(folder, PATH_MAX, "%s", given) < PATH_MAX) return SSM2D_OK;
        return fail(error, SSM2D_ERROR_ARGUMENT, "SSM2D_MODELS: the name is too long");
    }
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = 0;
        *strrchr(program, '/') = 0;
        /* SSM2D_SHARE: the way from the folder of programs to that of data, ../share */
        if (snprintf(folder, PATH_MAX, "%s/" SSM2D_SHARE "/ssm2d/models", program) < PATH_MAX)
            return SSM2D_OK;
    }
    return fail(error, SSM2D_ERROR_SYSTEM,
                "the folder of the models is not known: set SSM2D_MODELS to it");
}

static int compare(const void *a, const void *b) { return strcmp(a, b); }

ssm2d_status zoo_list(const char *folder, zoo_names *list, ssm2d_error *error)
{
    list->count = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return fail(error, SSM2D_ERROR_SYSTEM,
                    "%s: the folder of the models cannot be opened: %s; SSM2D_MODELS names another",
                    text_path(folder), strerror(errno));
    for (struct dirent *found; (found = readdir(dir)) && list->count < ZOO_MODELS;) {
        const size_t length = strlen(found->d_name), tail = sizeof extension - 1;
        if (found->d_name[0] == '.' || length <= tail || length - tail >= ZOO_NAME
            || strcmp(found->d_name + length - tail, extension))
            continue;
        snprintf(list->names[list->count++], ZOO_NAME, "%.*s", (int)(length - tail), found->d_name);
    }
    closedir(dir);
    qsort(list->names, (size_t)list->count, sizeof *list->names, compare);
    return SSM2D_OK;
}

static ssm2d_status refuse(const char *folder, const char *name, ssm2d_error *error)
{
    static zoo_names list;
    const char *names[ZOO_MODELS + 1];
    char shown[ZOO_NAME];
    const ssm2d_status status = zoo_list(folder, &list, error);
    if (status) return status;
    for (int i = 0; i < list.count; i++) names[i] = list.names[i];
    names[list.count] = NULL;
    const char *near = closest_name(name, names);
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "zoo:%s: there is no such model%s%s%s; `ssm2d zoo` lists those in %s",
                text_show(name, strlen(name), shown, sizeof shown),
                near ? "; did you mean zoo:" : "", near ? near : "", near ? "?" : "",
                text_path(folder));
}

ssm2d_status zoo_resolve(const char **word, ssm2d_error *error)
{
    static char paths[ZOO_MODELS][PATH_MAX];
    static int used;
    char folder[PATH_MAX];
    if (strncmp(*word, prefix, sizeof prefix - 1)) return SSM2D_OK;
    const char *name = *word + sizeof prefix - 1;
    if (used == ZOO_MODELS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "more than %d models of the zoo", ZOO_MODELS);
    ssm2d_status status = zoo_folder(folder, error);
    if (status) return status;
    if (!*name || *name == '.' || strchr(name, '/')) return refuse(folder, name, error);
    if (snprintf(paths[used], PATH_MAX, "%s/%s%s", folder, name, extension) >= PATH_MAX)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", text_path(folder));
    if (access(paths[used], F_OK)) return refuse(folder, name, error);
    *word = paths[used++];
    return SSM2D_OK;
}
