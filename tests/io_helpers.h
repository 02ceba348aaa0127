/* io_helpers - for the tests of src/io: a temporary folder, small files, and a context whose
 * allocator counts and fails. */
#ifndef SSM2D_TESTS_IO_HELPERS_H
#define SSM2D_TESTS_IO_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/context.h"
#include "ssm2d.h"

#include <dirent.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

/* Counts the allocations of all threads; the one with index `fail_at` fails. */
typedef struct io_meter {
    atomic_long calls, live, fail_at;
} io_meter;

static io_meter meter = {0, 0, -1};
static ssm2d_context *context;
static char folder[64];
static ssm2d_error error;

static void *meter_take(size_t bytes, void *user)
{
    io_meter *m = user;
    if (m->calls++ == m->fail_at) return NULL;
    void *memory = malloc(bytes);
    m->live += memory != NULL;
    return memory;
}

static void meter_give(void *memory, void *user)
{
    ((io_meter *)user)->live--;
    free(memory);
}

static inline int io_setup(void **state)
{
    (void)state;
    ssm2d_context_options options = {.size = sizeof options,
                                     .threads = 1,
                                     .allocate = meter_take,
                                     .release = meter_give,
                                     .user = &meter};
    if (ssm2d_context_create(&options, &context, &error)) return -1;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/ssm2d-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

/* Names in the folder, without . and .. */
static inline int io_count_files(void)
{
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return count;
}

static inline void io_empty(void)
{
    char path[512];
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        remove(path);
    }
    if (dir) closedir(dir);
}

static inline int io_teardown(void **state)
{
    (void)state;
    io_empty();
    rmdir(folder);
    ssm2d_context_destroy(context);
    return meter.live ? -1 : 0;
}

/* Before each test: an empty folder, and no failures planned. */
static inline int io_begin(void **state)
{
    (void)state;
    io_empty();
    meter.fail_at = -1;
    memset(&error, 0, sizeof error);
    return 0;
}

static inline const char *io_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline const char *io_put(const char *name, const void *bytes, size_t size)
{
    const char *path = io_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* The file's bytes, to be freed. */
static inline unsigned char *io_get(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

/* The error message contains this part. */
#define assert_line(part)                                                                          \
    do {                                                                                           \
        if (!strstr(error.line, part)) fail_msg("\"%s\" does not say \"%s\"", error.line, part);   \
    } while (0)

/* Runs `attempt` with its n-th allocation failing, n = 0, 1, .. until it succeeds: each failure
 * must be a MEMORY error that leaks nothing. Returns how many allocations there were. */
static inline long io_fail_everywhere(ssm2d_status (*attempt)(void))
{
    for (long n = 0;; n++) {
        long before = meter.live;
        meter.calls = 0;
        meter.fail_at = n;
        error.line[0] = 0;
        ssm2d_status status = attempt();
        meter.fail_at = -1;
        assert_int_equal(meter.live, before);
        if (status == SSM2D_OK) return n;
        assert_int_equal(status, SSM2D_ERROR_MEMORY);
        assert_line("memory");
        assert_true(n < 1000);
    }
}

#endif
