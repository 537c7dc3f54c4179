/* SPDX-License-Identifier: MIT */
/* digest.c: computes SHA-256 (FIPS 180-4). Digests name the files of cache entries, and reveal damaged
 * entries. */
#include "runtime/cache.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void spread(const unsigned char *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[i - 7] +
               (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
    }
}

static void mix(struct digest *d, const unsigned char *block)
{
    uint32_t w[64], s[8];
    spread(block, w);
    memcpy(s, d->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
                     constants[i] + w[i];
        uint32_t u =
            (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t;
        s[0] = t + u;
    }
    for (int i = 0; i < 8; i++)
        d->state[i] += s[i];
}

void digest_init(struct digest *d)
{
    *d = (struct digest){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19}};
}

void digest_add(struct digest *d, const void *p, size_t bytes)
{
    const unsigned char *s = p;
    while (bytes) {
        size_t filled = d->bytes % 64, room = 64 - filled, n = bytes < room ? bytes : room;
        memcpy(d->block + filled, s, n);
        d->bytes += n;
        s += n;
        bytes -= n;
        if (filled + n == 64)
            mix(d, d->block);
    }
}

void digest_end(struct digest *d, unsigned char out[DIGEST_BYTES])
{
    static const unsigned char padding[64] = {0x80};
    unsigned char length[8];
    uint64_t bits = 8 * d->bytes;
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    digest_add(d, padding, 1 + (119 - d->bytes % 64) % 64);
    digest_add(d, length, sizeof length);
    for (int i = 0; i < DIGEST_BYTES; i++)
        out[i] = (unsigned char)(d->state[i / 4] >> (24 - 8 * (i % 4)));
}

void digest_text(const void *p, size_t bytes, int digits, char *out)
{
    struct digest d;
    unsigned char sum[DIGEST_BYTES];
    digest_init(&d);
    digest_add(&d, p, bytes);
    digest_end(&d, sum);
    for (int i = 0; i < digits; i++)
        out[i] = "0123456789abcdef"[sum[i / 2] >> (i % 2 ? 0 : 4) & 15];
    out[digits] = '\0';
}
