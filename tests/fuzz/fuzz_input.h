/* fuzz_input - an input that holds several values: bytes, and parts preceded by their lengths. What
 * is missing at the end is zero or empty, so that every input is valid.
 *
 * seeds.c writes the same with fuzz_add_part. */
#ifndef SSM2D_TESTS_FUZZ_INPUT_H
#define SSM2D_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

static inline unsigned fuzz_byte(fuzz_input *in)
{
    if (!in->left) return 0;
    in->left--;
    return *in->at++;
}

/* The next *size bytes; *size is stored before them in 16 bits, little-endian. */
static inline const uint8_t *fuzz_part(fuzz_input *in, size_t *size)
{
    *size = fuzz_byte(in);
    *size += (size_t)fuzz_byte(in) << 8;
    if (*size > in->left) *size = in->left;
    const uint8_t *part = in->at;
    in->at += *size;
    in->left -= *size;
    return part;
}

/* Appends a part to a seed of *used bytes, which has enough space. */
static inline void fuzz_add_part(uint8_t *seed, size_t *used, const void *part, size_t size)
{
    seed[(*used)++] = (uint8_t)size;
    seed[(*used)++] = (uint8_t)(size >> 8);
    if (size) memcpy(seed + *used, part, size);
    *used += size;
}

#endif
