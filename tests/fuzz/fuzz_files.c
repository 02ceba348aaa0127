#include "fuzz_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];

static void give_up(const char *what)
{
    perror(what);
    exit(2);
}

static void remove_below(const char *path)
{
    DIR *list = opendir(path);
    for (struct dirent *e; list && (e = readdir(list));) {
        char below[1024];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(below, sizeof below, "%.700s/%.255s", path, e->d_name);
        if (unlink(below)) remove_below(below);
    }
    if (list) closedir(list);
    rmdir(path);
}

static void remove_folder(void) { remove_below(folder); }

const char *fuzz_folder(void)
{
    if (*folder) return folder;
    const char *base = getenv("TMPDIR");
    if (!access("/dev/shm", W_OK)) base = "/dev/shm";
    snprintf(folder, sizeof folder, "%.200s/ssm2d-fuzz-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) give_up(folder);
    atexit(remove_folder);
    return folder;
}

const char *fuzz_path(const char *name)
{
    static char paths[4][sizeof folder + 256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%.255s", fuzz_folder(), name);
    return path;
}

const char *fuzz_put(const char *name, const void *bytes, size_t size)
{
    const char *path = fuzz_path(name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (size && write(fd, bytes, size) != (ssize_t)size) || close(fd)) give_up(path);
    return path;
}

char *fuzz_get(const char *name, size_t *size)
{
    const char *path = fuzz_path(name);
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info)) give_up(path);
    *size = (size_t)info.st_size;
    char *bytes = malloc(*size + 1);
    if (!bytes || read(fd, bytes, *size) != (ssize_t)*size || close(fd)) give_up(path);
    bytes[*size] = 0;
    return bytes;
}

void fuzz_remove(const char *name) { unlink(fuzz_path(name)); }
