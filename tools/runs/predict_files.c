#include "predict_files.h"

#include "core/status.h"
#include "io/image.h"
#include "io/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 64 };

/* Adds an entry of a folder to the images, the folders, or the ignored files. Links to folders are
 * not followed, because they may form a cycle. */
static ssm2d_status sort_entry(const char *path, listing *files, listing *folders,
                               ssm2d_error *error)
{
    struct stat named, info;
    if (!lstat(path, &named) && S_ISDIR(named.st_mode))
        return listing_append(folders, path, 0, error);
    if (!stat(path, &info) && S_ISREG(info.st_mode) && image_named(path))
        return listing_append(files, path, 1, error);
    return listing_ignore(files, path, error);
}

static ssm2d_status read_folder(const char *folder, listing *files, listing *folders,
                                ssm2d_error *error)
{
    const size_t first = files->entries.count;
    ssm2d_status status = SSM2D_OK;
    DIR *dir = opendir(folder);
    if (!dir)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be opened: %s", text_path(folder),
                    strerror(errno));
    errno = 0;
    for (struct dirent *found; !status && (found = readdir(dir)); errno = 0) {
        char path[PATH_MAX];
        if (found->d_name[0] == '.') continue;
        if (!dataset_path(path, sizeof path, folder, found->d_name))
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: the names in it are too long",
                          text_path(folder));
        else
            status = sort_entry(path, files, folders, error);
    }
    if (!status && errno)
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be read: %s", text_path(folder),
                      strerror(errno));
    closedir(dir);
    listing_sort(files, first);
    listing_sort(folders, 0);
    return status;
}

static ssm2d_status add_folder(const char *folder, int depth, listing *files, ssm2d_error *error)
{
    listing folders = {.context = files->context};
    if (depth > MAX_DEPTH)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: folders are nested more than %d deep",
                    text_path(folder), MAX_DEPTH);
    ssm2d_status status = read_folder(folder, files, &folders, error);
    for (size_t i = 0; i < folders.entries.count && !status; i++)
        status = add_folder(listing_name(&folders, i), depth + 1, files, error);
    listing_free(&folders);
    return status;
}

ssm2d_status predict_files(const word_list *words, listing *files, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < words->count && !status; i++) {
        const char *word = words->words[i];
        const size_t before = files->entries.count;
        if (!is_folder(word)) {
            status = listing_append(files, word, 0, error);
            continue;
        }
        status = add_folder(word, 0, files, error);
        if (!status && files->entries.count == before)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no images: expected %s",
                          text_path(word), image_endings((char[IMAGE_LIST]){0}));
    }
    return status;
}
