/* FIPS 180-4. The constants are the first 32 bits of the fractional parts of the cube roots of the
 * first 64 primes, the initial state those of the square roots of the first 8. */
#include "io/sha256.h"

#include "core/arith.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 64 };

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void add_block(sha256 *s, const uint8_t *block)
{
    uint32_t w[64], h[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16
               | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7]
               + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(h, s->state, sizeof h);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = h[0], e = h[4];
        const uint32_t choice = (e & h[5]) ^ (~e & h[6]);
        const uint32_t majority = (a & h[1]) ^ (a & h[2]) ^ (h[1] & h[2]);
        const uint32_t one =
            h[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + constants[i] + w[i];
        const uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
        memmove(h + 1, h, 7 * sizeof *h);
        h[4] += one;
        h[0] = one + two;
    }
    for (int i = 0; i < 8; i++) s->state[i] += h[i];
}

sha256 sha256_start(void)
{
    return (sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                              0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(sha256 *s, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size) {
        const size_t used = s->size % BLOCK, part = min_size(BLOCK - used, size);
        memcpy(s->block + used, at, part);
        s->size += part;
        at += part;
        size -= part;
        if (used + part == BLOCK) add_block(s, s->block);
    }
}

const char *sha256_end(sha256 *s, char text[SHA256_TEXT])
{
    static const uint8_t padding[BLOCK] = {0x80};
    const uint64_t bits = 8 * s->size;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(s, padding, 1 + (BLOCK + 55 - s->size % BLOCK) % BLOCK);
    sha256_add(s, length, sizeof length);
    for (int i = 0; i < 8; i++) snprintf(text + 8 * i, 9, "%08x", s->state[i]);
    return text;
}
