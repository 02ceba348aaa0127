/* RFC 1321. Round i of 64 adds a word of the block, a constant floor(2^32 |sin(i + 1)|), and a
 * function of three of the four words of the state. */
#include "io/md5.h"

#include "core/arith.h"
#include "core/status.h"
#include "io/file.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64 };

static uint32_t rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

static void add_block(md5 *m, const uint8_t *block)
{
    static const int shifts[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    static const int step[4] = {1, 5, 3, 7}, first[4] = {0, 1, 5, 0};
    uint32_t a = m->state[0], b = m->state[1], c = m->state[2], d = m->state[3], words[16];
    memcpy(words, block, BLOCK); /* little-endian, as file.h makes sure */
    for (int i = 0; i < 64; i++) {
        const int round = i / 16;
        const uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                               : round == 1 ? (d & b) | (~d & c)
                               : round == 2 ? b ^ c ^ d
                                            : c ^ (b | ~d);
        const uint32_t sum =
            a + mixed + m->constants[i] + words[(step[round] * i + first[round]) % 16];
        a = d;
        d = c;
        c = b;
        b += rotate(sum, shifts[round][i % 4]);
    }
    m->state[0] += a;
    m->state[1] += b;
    m->state[2] += c;
    m->state[3] += d;
}

md5 md5_start(void)
{
    md5 m = {.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
    for (int i = 0; i < 64; i++) m.constants[i] = (uint32_t)floor(fabs(sin(i + 1.)) * 4294967296.);
    return m;
}

void md5_add(md5 *m, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size) {
        const size_t used = m->size % BLOCK, part = min_size(BLOCK - used, size);
        memcpy(m->block + used, at, part);
        m->size += part;
        at += part;
        size -= part;
        if (used + part == BLOCK) add_block(m, m->block);
    }
}

const char *md5_end(md5 *m, char text[MD5_TEXT])
{
    static const uint8_t padding[BLOCK] = {0x80};
    const uint64_t bits = 8 * m->size;
    md5_add(m, padding, 1 + (BLOCK + 55 - m->size % BLOCK) % BLOCK);
    md5_add(m, &bits, sizeof bits);
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(m->state[i / 4] >> 8 * (i % 4) & 255));
    return text;
}

ssm2d_status md5_file(const char *path, char text[MD5_TEXT], ssm2d_error *error)
{
    FILE *stream;
    md5 m = md5_start();
    char buffer[1 << 14];
    ssm2d_status status = file_open_regular(path, &stream, error);
    if (status) return status;
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, stream));) md5_add(&m, buffer, got);
    if (ferror(stream))
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be read", text_path(path));
    fclose(stream);
    md5_end(&m, text);
    return status;
}
