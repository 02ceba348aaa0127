/* sha256 - the checksum of downloads: it detects damage and forgery. */
#ifndef SSM2D_IO_SHA256_H
#define SSM2D_IO_SHA256_H

#include "ssm2d.h"

typedef struct sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    uint8_t block[64];
} sha256;

enum { SHA256_TEXT = 65 };

sha256 sha256_start(void);
void sha256_add(sha256 *s, const void *bytes, size_t size);
/* Writes the sum in hexadecimal to text and returns text. */
const char *sha256_end(sha256 *s, char text[SHA256_TEXT]);

#endif
