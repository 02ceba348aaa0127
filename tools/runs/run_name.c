#include "run_name.h"

#include "core/hash.h"
#include "core/status.h"
#include "io/file.h"
#include "io/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char parent[] = "runs";
enum { MAX_SAME = 10000, NAME = 64 };

/* Copies the name of the data for use in a path: characters that are special to a shell or terminal
 * become -. */
static void plain_name(const char *data, char name[NAME])
{
    dataset_title(data, name, NAME);
    text_make_utf8(name);
    for (char *c = name; *c; c++)
        if ((unsigned char)*c < 128
            && !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._", *c))
            *c = '-';
    if (strspn(name, ".-") == strlen(name)) snprintf(name, NAME, "data");
}

ssm2d_status run_name_make(const train_settings *s, char folder[RUN_PATH], ssm2d_error *error)
{
    char name[NAME], date[32], suffix[16] = "";
    const time_t now = time(NULL);
    struct tm local;
    plain_name(s->options.data, name);
    if (!localtime_r(&now, &local) || !strftime(date, sizeof date, "%Y-%m-%d", &local))
        snprintf(date, sizeof date, "0000-00-00");
    ssm2d_status status = folder_make(parent, error);
    for (int i = 2; !status && i < MAX_SAME; i++) {
        snprintf(folder, RUN_PATH, "%s/%s-%s-%s%s", parent, name, s->model.model->name, date,
                 suffix);
        if (!mkdir(folder, 0777)) return SSM2D_OK; /* this process has created it */
        if (errno != EEXIST)
            return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be created: %s: use --out",
                        text_path(folder), strerror(errno));
        snprintf(suffix, sizeof suffix, "-%d", i);
    }
    if (status) return status;
    return fail(error, SSM2D_ERROR_SYSTEM,
                "%s: exists already, like all those with lower numbers: use --out",
                text_path(folder));
}

void run_name_undo(const char *folder)
{
    if (!rmdir(folder)) rmdir(parent);
}

const char *checked_images_path(const char *data, char path[RUN_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char here[RUN_PATH];
    uint64_t hash = HASH_START;
    int length = 0;
    if (!getcwd(here, sizeof here)) return NULL;
    hash_add(&hash, here, strlen(here)); /* a relative path depends on the current folder */
    hash_add(&hash, data, strlen(data));
    if (cache && *cache == '/') /* the XDG specification says to ignore relative paths */
        length = snprintf(path, RUN_PATH, "%s/ssm2d", cache);
    else if (home && *home == '/')
        length = snprintf(path, RUN_PATH, "%s/.cache/ssm2d", home);
    if (length <= 0 || length > RUN_PATH - NAME || folder_make(path, NULL)) return NULL;
    snprintf(path + length, (size_t)(RUN_PATH - length), "/images-%016llx",
             (unsigned long long)hash);
    return path;
}
