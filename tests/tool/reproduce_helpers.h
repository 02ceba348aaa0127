/* reproduce_helpers - shared by the tests of `ssm2d reproduce`. */
#ifndef SSM2D_TESTS_REPRODUCE_HELPERS_H
#define SSM2D_TESTS_REPRODUCE_HELPERS_H

#include "tool_run.h"

#include "../train/small_data.h"

#include <cjson/cJSON.h>
#include <sys/stat.h>
#include <unistd.h>

/* Table 5 at scale tiny on the test's data: two columns of five rows. */
#define TABLE5 "reproduce table5 --scale tiny --data cifar10=idx:$FOLDER/data --threads 1 "

static inline int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 80, 20) ? 0 : -1;
}

static inline int count_of(const char *text, const char *part)
{
    int n = 0;
    while ((text = strstr(text, part))) text += strlen(part), n++;
    return n;
}

static inline void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static inline void assert_file_says(const char *path, const char *part)
{
    size_t size;
    char *text = get_file(path, &size);
    assert_says(text, part);
    free(text);
}

/* The caller frees it with cJSON_Delete. */
static inline cJSON *json_of(const char *path)
{
    size_t size;
    char *text = get_file(path, &size);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    free(text);
    return root;
}

/* Runs a shell script, which has to succeed; standard error is part of the message. */
static inline void shell(const char *script)
{
    shell_run(script);
    if (tool.code) fail_msg("exit code %d: %s%s", tool.code, tool.out, tool.err);
}

/* The picture exists in each of its three formats; name: without extension. */
static inline void assert_pictures(const char *name)
{
    static const char *const endings[] = {"png", "svg", "pdf"};
    static const char *const beginnings[] = {"\x89PNG", "<?xml", "%PDF-"};
    for (int i = 0; i < 3; i++) {
        char file[128];
        size_t size;
        snprintf(file, sizeof file, "%s.%s", name, endings[i]);
        char *bytes = get_file(in_folder("%s", file), &size);
        assert_true(size > 500 && !strncmp(bytes, beginnings[i], strlen(beginnings[i])));
        free(bytes);
    }
}

/* The columns of a table that do not depend on time. */
#define SAME_TABLES "cut -d, -f1-12 one.csv > one && cut -d, -f1-12 two.csv > two && cmp one two"

#endif
