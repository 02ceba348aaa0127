/* replay - gives the inputs in folders to a fuzz target, in any build and without libFuzzer:
 *     replay TARGET FOLDER..
 *
 * A folder that is not there is an empty one. An input that fails ends the program, after its name
 * was printed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TARGET(name) int fuzz_##name(const uint8_t *data, size_t size);
#include "targets.def"
#undef TARGET

static const struct {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "targets.def"
#undef TARGET
};
enum { TARGETS = sizeof targets / sizeof *targets };

static void replay(int target, const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &info)) {
        perror(path);
        exit(2);
    }
    const size_t size = (size_t)info.st_size;
    /* exactly the input, so that reading beyond it is detected */
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, file) != size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    targets[target].run(data, size);
    free(data);
}

int main(int count, char **arguments)
{
    int target = 0, inputs = 0;
    while (count > 1 && target < TARGETS && strcmp(arguments[1], targets[target].name)) target++;
    if (count < 3 || target == TARGETS) {
        fprintf(stderr, "usage: replay TARGET FOLDER..\n");
        return 2;
    }
    for (int i = 2; i < count; i++) {
        struct dirent **list = NULL;
        const int entries = scandir(arguments[i], &list, NULL, alphasort);
        for (int k = 0; k < entries; k++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", arguments[i], list[k]->d_name);
            if (*list[k]->d_name != '.') replay(target, path), inputs++;
            free(list[k]);
        }
        free(list);
    }
    printf("%s: %d inputs\n", arguments[1], inputs);
    return 0;
}
