/* SPDX-License-Identifier: MIT */
/*
 * Reading a greeting more strictly than libmariadb does: what passes here for
 * one with TLS must be one with TLS there. What the packet begins with: its
 * length (3) and number (1); then the protocol's version (1), the server's
 * version and a NUL, the connection's id (4), a scramble (9), the lower half
 * of the capabilities (2) and 16 bytes or more. What came behind it the library
 * would read with it, and take for words that came by TLS. Thread: any.
 */
#include "src/backend/mysql/greeting.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum {
    HEAD = 4,
    BEFORE_CAPABILITIES = 13,
    AFTER_CAPABILITIES = 16,
    VERSION_MAX = 255,
    PROTOCOL = 10,
    REFUSAL = 0xff,
    PROGRESS = 0xffff, /* a refusal by this number is none: more follows */
    CAN_SSL = 0x800,
    LENGTH_MAX = 1024, /* twice the longest text of an error */
    PEEK_MAX = HEAD + LENGTH_MAX + 1,
};

static unsigned number(const unsigned char *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

static enum hf__greeting read_refusal(const unsigned char *payload, size_t n,
                                      size_t length)
{
    if (length < 3) {
        return HF__GREETING_NONE;
    }
    if (n < 3) {
        return HF__GREETING_PART;
    }
    return number(payload + 1) == PROGRESS ? HF__GREETING_NONE
                                           : HF__GREETING_ERROR;
}

/* Of `length` bytes `n` are there. */
static enum hf__greeting read_payload(const unsigned char *payload, size_t n,
                                      size_t length)
{
    const unsigned char *end = memchr(payload + 1, '\0', n - 1);
    size_t at;

    if (payload[0] != PROTOCOL) {
        return HF__GREETING_NONE;
    }
    if (end == NULL) {
        return n < length && n <= VERSION_MAX ? HF__GREETING_PART
                                              : HF__GREETING_NONE;
    }
    at = (size_t)(end - payload) + 1 + BEFORE_CAPABILITIES;
    if (end - payload > VERSION_MAX || at + 2 + AFTER_CAPABILITIES > length) {
        return HF__GREETING_NONE;
    }
    if (n < at + 2) {
        return HF__GREETING_PART;
    }
    return (number(payload + at) & CAN_SSL) != 0 ? HF__GREETING_TLS
                                                 : HF__GREETING_PLAIN;
}

/* Of HEAD and `length` bytes `n` are there, or more. */
static enum hf__greeting await_end(enum hf__greeting found, size_t n,
                                   size_t length)
{
    if (found == HF__GREETING_NONE || n == HEAD + length) {
        return found;
    }
    return n < HEAD + length ? HF__GREETING_PART : HF__GREETING_MORE;
}

enum hf__greeting hf__greeting_read(const unsigned char *bytes, size_t n)
{
    enum hf__greeting found;
    size_t length;
    size_t seen;

    if (n < HEAD) {
        return HF__GREETING_PART;
    }
    length = number(bytes) | (size_t)bytes[2] << 16;
    if (length == 0 || length > LENGTH_MAX || bytes[3] != 0) {
        return HF__GREETING_NONE;
    }
    seen = n - HEAD < length ? n - HEAD : length;
    if (seen == 0) {
        return HF__GREETING_PART;
    }
    found = bytes[HEAD] == REFUSAL ? read_refusal(bytes + HEAD, seen, length)
                                   : read_payload(bytes + HEAD, seen, length);
    return await_end(found, n, length);
}

/* It is readable from so many bytes on. */
static void wake_from(int fd, size_t n)
{
    int least = (int)n;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

enum hf__greeting hf__greeting_peek(int fd, size_t *n_seen)
{
    unsigned char bytes[PEEK_MAX];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    enum hf__greeting found = HF__GREETING_END;

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return HF__GREETING_PART;
    }
    if (n > 0 && (size_t)n > *n_seen) {
        found = hf__greeting_read(bytes, (size_t)n);
        *n_seen = (size_t)n;
    }
    wake_from(fd, found == HF__GREETING_PART ? *n_seen + 1 : 1);
    return found;
}
