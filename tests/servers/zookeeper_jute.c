/* SPDX-License-Identifier: MIT */
/*
 * The words of zookeeper_jute.h. What the numbers mean, the callers know. No
 * message that we write is longer than the buffer.
 */
#include "tests/servers/zookeeper_jute.h"
#include "tests/servers/servers.h"

#include <string.h>

static void put(struct hf__jute *j, const void *bytes, size_t n)
{
    if (n > HF__JUTE_BYTES - j->length) {
        hf__servers_fail("too long a message for ZooKeeper");
    }
    memcpy(j->bytes + j->length, bytes, n);
    j->length += n;
}

void hf__jute_put_int(struct hf__jute *j, int32_t value)
{
    uint32_t v = (uint32_t)value;
    const uint8_t bytes[] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16),
                             (uint8_t)(v >> 8), (uint8_t)v};

    put(j, bytes, sizeof bytes);
}

void hf__jute_put_long(struct hf__jute *j, int64_t value)
{
    hf__jute_put_int(j, (int32_t)((uint64_t)value >> 32));
    hf__jute_put_int(j, (int32_t)(uint32_t)value);
}

void hf__jute_put_flag(struct hf__jute *j, bool value)
{
    const uint8_t byte = value;

    put(j, &byte, 1);
}

void hf__jute_put_bytes(struct hf__jute *j, const void *bytes, size_t n)
{
    hf__jute_put_int(j, (int32_t)n);
    put(j, bytes, n);
}

void hf__jute_put_text(struct hf__jute *j, const char *text)
{
    hf__jute_put_bytes(j, text, strlen(text));
}

int32_t hf__jute_number(const uint8_t *bytes)
{
    return (int32_t)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                     (uint32_t)bytes[2] << 8 | bytes[3]);
}

int32_t hf__jute_get_int(struct hf__jute *j)
{
    if (j->length - j->at < 4) {
        j->at = j->length;
        return 0;
    }
    j->at += 4;
    return hf__jute_number(j->bytes + j->at - 4);
}

int64_t hf__jute_get_long(struct hf__jute *j)
{
    uint64_t high = (uint32_t)hf__jute_get_int(j);

    return (int64_t)(high << 32 | (uint32_t)hf__jute_get_int(j));
}

/* Of what is null the length is −1. */
int hf__jute_get_text(struct hf__jute *j, char *text, size_t size)
{
    int32_t told = hf__jute_get_int(j);
    size_t length = told < 0 ? 0 : (size_t)told;
    size_t taken;

    if (length > j->length - j->at) {
        length = j->length - j->at;
    }
    taken = length < size ? length : size - 1;
    memcpy(text, j->bytes + j->at, taken);
    text[taken] = '\0';
    j->at += length;
    return (int)length;
}
