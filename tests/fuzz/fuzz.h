/* fuzz - code that all targets share. A target includes this header and defines fuzz_one, which
 * gives its reader one input and checks the outcome with REQUIRE.
 *
 * Every input is read twice: once with memory, and once with one allocation that fails, chosen by
 * the input's bytes. No single allocation may exceed FUZZ_MEMORY; a target whose reader may request
 * more, which then fails, defines FUZZ_MAY_ASK_FOR_MORE. */
#ifndef SSM2D_TESTS_FUZZ_H
#define SSM2D_TESTS_FUZZ_H

#include "core/context.h"
#include "core/hash.h"
#include "fuzz_input.h"
#include "ssm2d.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_one(const uint8_t *data, size_t size);

enum { FUZZ_MEMORY = 64 << 20, FUZZ_FAILURES = 24 };

#define REQUIRE(what)                                                                              \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #what);               \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t fuzz_largest;     /* the largest single allocation */
static unsigned fuzz_countdown; /* the allocation that fails, counted from 1; 0: none */

static void *fuzz_allocate(size_t bytes, void *user)
{
    (void)user;
    if (bytes > fuzz_largest) fuzz_largest = bytes;
    if (fuzz_countdown && !--fuzz_countdown) return NULL;
    return bytes > FUZZ_MEMORY ? NULL : malloc(bytes);
}

static void fuzz_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static inline ssm2d_context *fuzz_context(void)
{
    static ssm2d_context *context;
    const ssm2d_context_options options = {
        .size = sizeof options, .threads = 1, .allocate = fuzz_allocate, .release = fuzz_release};
    if (!context) REQUIRE(!ssm2d_context_create(&options, &context, NULL));
    return context;
}

/* From here to the end of this input every allocation succeeds: for what the target itself does. */
static inline void fuzz_no_failure(void) { fuzz_countdown = 0; }

/* ---- refusals -------------------------------------------------------------------------------- */

/* One line of text that begins with the file's name. Where memory is short, it may begin with what
 * the memory was for. */
static inline void fuzz_check_refusal(ssm2d_status status, const ssm2d_error *error,
                                      const char *name)
{
    REQUIRE(status != SSM2D_OK && memchr(error->line, 0, sizeof error->line));
    const size_t length = status == SSM2D_ERROR_MEMORY ? 0 : strlen(name);
    REQUIRE(!strncmp(error->line, name, length) && strlen(error->line) > length);
    for (const char *c = error->line; *c; c++) REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f);
}

/* ---- one input ------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t hash = HASH_START;
    fuzz_context();
    fuzz_countdown = 0;
    fuzz_one(data, size);
    hash_add(&hash, data, size);
    fuzz_countdown = 1 + (unsigned)(hash >> 32) % FUZZ_FAILURES;
    fuzz_one(data, size);
    fuzz_countdown = 0;
#ifndef FUZZ_MAY_ASK_FOR_MORE
    REQUIRE(fuzz_largest <= FUZZ_MEMORY);
#endif
    return 0;
}

#endif
