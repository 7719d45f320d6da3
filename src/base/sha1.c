/* SPDX-License-Identifier: MIT */
/*
 * SHA-1 as FIPS 180-4 has it, of a message that is all there. Decides nothing.
 * Called by any thread.
 */
#include "src/base/sha1.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
           (uint32_t)at[2] << 8 | at[3];
}

/* What changes every twenty rounds. */
static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static void add_block(uint32_t hash[5], const unsigned char *block)
{
    uint32_t w[80];
    uint32_t h[5];

    for (size_t i = 0; i < 16; i++) {
        w[i] = big_endian(block + 4 * i);
    }
    for (int i = 16; i < 80; i++) {
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    memcpy(h, hash, sizeof h);
    for (int i = 0; i < 80; i++) {
        uint32_t next =
            rotate(h[0], 5) + mix(i, h[1], h[2], h[3]) + h[4] + w[i];

        h[4] = h[3];
        h[3] = h[2];
        h[2] = rotate(h[1], 30);
        h[1] = h[0];
        h[0] = next;
    }
    for (int i = 0; i < 5; i++) {
        hash[i] += h[i];
    }
}

/* What is left of the message, a one, zeros, and its length in bits. */
static void add_last(uint32_t hash[5], const unsigned char *rest, size_t n,
                     size_t length)
{
    unsigned char last[2 * BLOCK] = {0};
    size_t size = n + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    uint64_t bits = (uint64_t)length * 8;

    memcpy(last, rest, n);
    last[n] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        last[size - 1 - i] = (unsigned char)(bits >> (8 * i));
    }
    add_block(hash, last);
    if (size > BLOCK) {
        add_block(hash, last + BLOCK);
    }
}

void hf__sha1_hex(const void *bytes, size_t length, char ret_hex[HF__SHA1_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint32_t hash[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                        0xc3d2e1f0};
    const unsigned char *at = bytes;
    size_t left = length;

    for (; left >= BLOCK; left -= BLOCK, at += BLOCK) {
        add_block(hash, at);
    }
    add_last(hash, at, left, length);
    for (int i = 0; i < 40; i++) {
        ret_hex[i] = digits[hash[i / 8] >> (28 - 4 * (i % 8)) & 15];
    }
    ret_hex[40] = '\0';
}
