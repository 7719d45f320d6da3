/* SPDX-License-Identifier: MIT */
/*
 * The framing of a protocol that the proxy does not know: bytes, in the pieces
 * in which they come, and no messages.
 */
#include "tests/servers/proxy_private.h"

static size_t measure_nothing(const void *state, enum hf__proxy_way way,
                              const uint8_t *bytes, size_t n)
{
    (void)state;
    (void)way;
    (void)bytes;
    return n;
}

static struct hf__mark read_nothing(void *state, enum hf__proxy_way way,
                                    const uint8_t *unit, size_t length)
{
    (void)state;
    (void)way;
    (void)unit;
    (void)length;
    return (struct hf__mark){0};
}

const struct hf__framing hf__framing_none = {measure_nothing, read_nothing,
                                             NULL, NULL};
