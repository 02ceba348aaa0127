/* fuzz - what the targets share: a context with little memory, and what must hold for every
 * input. */
#ifndef SSM2D_TESTS_FUZZ_H
#define SSM2D_TESTS_FUZZ_H

#include "core/context.h"
#include "ssm2d.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(what)                                                                              \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* So that a lying header shows up as a refusal, and not as a slow run. */
static void *fuzz_take(size_t bytes, void *user)
{
    (void)user;
    return bytes > (64u << 20) ? NULL : malloc(bytes);
}

static void fuzz_give(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static inline ssm2d_context *fuzz_context(void)
{
    static ssm2d_context *context;
    ssm2d_context_options options = {
        .size = sizeof options, .threads = 1, .allocate = fuzz_take, .release = fuzz_give};
    if (!context) REQUIRE(!ssm2d_context_create(&options, &context, NULL));
    return context;
}

/* One line of text that begins with the file's name. */
static inline void fuzz_check_line(const ssm2d_error *error, const char *name)
{
    REQUIRE(memchr(error->line, 0, sizeof error->line));
    REQUIRE(!strncmp(error->line, name, strlen(name)) && strlen(error->line) > strlen(name));
    for (const char *c = error->line; *c; c++) REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f);
}

#endif
