/* SPDX-License-Identifier: MIT */
/*
 * Just enough of the MySQL protocol to tell where a statement and its reply
 * begin and end: packets and the handshake; where a result ends is left to
 * proxy_mysql_result.c. A packet is a unit. It knows no prepared statements
 * and no LOAD DATA LOCAL, which a store has no use for; behind TLS it sees
 * bytes only.
 */
#include "tests/servers/proxy_mysql.h"

#include <string.h>

enum { PACKET_HEAD = 4, SSL_REQUEST = 32 };
enum { CAN_SSL = 0x800 };
enum { COM_QUIT = 0x01 };

_Static_assert(sizeof(struct hf__dialog) <= HF__FRAMING_STATE,
               "the state fits");

static size_t payload_length(const uint8_t *packet)
{
    return packet[0] | (size_t)packet[1] << 8 | (size_t)packet[2] << 16;
}

/* A payload of full length goes on in the next packet. */
static size_t measure(const void *arg, enum hf__proxy_way way,
                      const uint8_t *bytes, size_t n)
{
    const struct hf__dialog *s = arg;
    size_t length = 0;
    size_t part;

    (void)way;
    if (s->phase == HF__DIALOG_OPAQUE) {
        return n;
    }
    do {
        if (n < length + PACKET_HEAD) {
            return 0;
        }
        part = payload_length(bytes + length);
        length += PACKET_HEAD + part;
    } while (part == HF__DIALOG_FULL);
    return length;
}

/* ---- the handshake */

/* Two halves, around what else was ever added to the greeting. */
static uint32_t capabilities_of(const uint8_t *payload, size_t length)
{
    const uint8_t *version_end = memchr(payload + 1, '\0', length - 1);
    size_t at =
        version_end ? (size_t)(version_end - payload) + 1 + 4 + 8 + 1 : length;

    if (at + 7 > length) {
        return 0;
    }
    return hf__dialog_number(payload + at) | hf__dialog_number(payload + at + 5)
                                                 << 16;
}

static struct hf__mark read_greeting(struct hf__dialog *s,
                                     const uint8_t *payload, size_t length)
{
    bool is_error = payload[0] == HF__DIALOG_ERR;

    s->capabilities = capabilities_of(payload, length);
    s->phase = is_error ? HF__DIALOG_OPAQUE : HF__DIALOG_LOGIN;
    return (struct hf__mark){true, HF__HANDSHAKE, true, is_error};
}

static struct hf__mark read_login(struct hf__dialog *s, enum hf__proxy_way way,
                                  const uint8_t *payload, size_t length)
{
    bool is_over = payload[0] == HF__DIALOG_OK || payload[0] == HF__DIALOG_ERR;

    if (way == HF__TO_CLIENT) {
        if (is_over) {
            s->phase = payload[0] == HF__DIALOG_OK ? HF__DIALOG_CHATTER
                                                   : HF__DIALOG_OPAQUE;
        }
        return (struct hf__mark){true, HF__HANDSHAKE, false, is_over};
    }
    if (!s->is_answered && length >= 4) {
        s->is_answered = true;
        s->capabilities &=
            hf__dialog_number(payload) | hf__dialog_number(payload + 2) << 16;
        if (length == SSL_REQUEST && s->capabilities & CAN_SSL) {
            s->phase = HF__DIALOG_OPAQUE;
        }
    }
    return (struct hf__mark){0};
}

/* ---- statements */

/* Each command begins with packet number 0. */
static struct hf__mark read_command(struct hf__dialog *s, uint8_t number,
                                    uint8_t command)
{
    if (number != 0 || command == COM_QUIT ||
        s->n_commands == HF__DIALOG_PIPELINE) {
        return (struct hf__mark){0};
    }
    s->commands[s->n_commands++] = command;
    return (struct hf__mark){true, HF__STATEMENT, true, true};
}

/* ---- replies */

static struct hf__mark read_reply(struct hf__dialog *s, const uint8_t *payload,
                                  size_t length)
{
    struct hf__mark mark = {true, HF__REPLY, !s->has_begun, false};

    if (s->n_commands == 0) {
        return (struct hf__mark){0}; /* the server's last words, unasked for */
    }
    mark.ends = hf__dialog_result(s, payload, length);
    s->has_begun = !mark.ends;
    if (mark.ends) {
        s->step = HF__DIALOG_FIRST;
        s->n_commands--;
        memmove(s->commands, s->commands + 1, s->n_commands);
    }
    return mark;
}

static struct hf__mark read_packet(void *arg, enum hf__proxy_way way,
                                   const uint8_t *unit, size_t length)
{
    static const uint8_t empty[16];
    struct hf__dialog *s = arg;
    const uint8_t *payload = length > PACKET_HEAD ? unit + PACKET_HEAD : empty;

    length -= PACKET_HEAD;
    switch (s->phase) {
    case HF__DIALOG_GREETING:
        return way == HF__TO_CLIENT ? read_greeting(s, payload, length)
                                    : (struct hf__mark){0};
    case HF__DIALOG_LOGIN:
        return read_login(s, way, payload, length);
    case HF__DIALOG_CHATTER:
        return way == HF__TO_SERVER ? read_command(s, unit[3], payload[0])
                                    : read_reply(s, payload, length);
    case HF__DIALOG_OPAQUE:
        break;
    }
    return (struct hf__mark){0};
}

const struct hf__framing hf__framing_mysql = {measure, read_packet, NULL, NULL};
