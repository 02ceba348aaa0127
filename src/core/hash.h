/* hash - FNV-1a: detects changes; not a cryptographic hash. */
#ifndef SSM2D_CORE_HASH_H
#define SSM2D_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START ((uint64_t)0xcbf29ce484222325u)

static inline void hash_add(uint64_t *hash, const void *bytes, size_t size)
{
    for (const unsigned char *c = bytes; size--; c++) *hash = (*hash ^ *c) * 0x100000001b3u;
}

#endif
