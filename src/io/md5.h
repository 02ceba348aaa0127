/* md5 - the checksum that published data sets state. It detects damage, not forgery; a
 * cryptographic library would be a large dependency for that. */
#ifndef SSM2D_IO_MD5_H
#define SSM2D_IO_MD5_H

#include "ssm2d.h"

typedef struct md5 {
    uint32_t state[4];
    uint64_t size; /* bytes so far */
    uint8_t block[64];
    uint32_t constants[64];
} md5;

enum { MD5_TEXT = 33 };

md5 md5_start(void);
void md5_add(md5 *m, const void *bytes, size_t size);
/* Writes the sum in hexadecimal to text and returns text. */
const char *md5_end(md5 *m, char text[MD5_TEXT]);
/* The sum of a regular file. */
ssm2d_status md5_file(const char *path, char text[MD5_TEXT], ssm2d_error *error);

#endif
