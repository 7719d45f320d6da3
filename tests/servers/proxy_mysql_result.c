/* SPDX-License-Identifier: MIT */
/*
 * Where the result of a MySQL command ends: it is one packet, or definitions
 * and rows, each group perhaps ended by a packet of its own; and another may
 * follow. Decides nothing else.
 */
#include "tests/servers/proxy_mysql.h"

enum { CAN_DEPRECATE_EOF = 0x1000000, MORE_RESULTS = 0x8, LONGEST_EOF = 9 };
enum { END_OF_ROWS = 0xFE };
enum {
    COM_STATISTICS = 0x09,
    COM_CHANGE_USER = 0x11,
};

uint32_t hf__dialog_number(const uint8_t *at)
{
    return (uint32_t)(at[0] | at[1] << 8);
}

/* Skips a number of one to nine bytes. */
static size_t skip_number(const uint8_t *at)
{
    switch (*at) {
    case 0xFC:
        return 3;
    case 0xFD:
        return 4;
    case 0xFE:
        return 9;
    default:
        return 1;
    }
}

static bool defines_eof(const struct hf__dialog *s)
{
    return !(s->capabilities & CAN_DEPRECATE_EOF);
}

static bool says_more(const uint8_t *status)
{
    return hf__dialog_number(status) & MORE_RESULTS;
}

/* The status stands behind two numbers of any length. */
static bool ok_says_more(const uint8_t *payload, size_t length)
{
    size_t at = 1;

    for (int i = 0; i < 2 && at < length; i++) {
        at += skip_number(payload + at);
    }
    return at + 2 <= length && says_more(payload + at);
}

/* The first packet of a result. True: it is all. */
static bool read_first(struct hf__dialog *s, const uint8_t *payload,
                       size_t length)
{
    uint8_t command = s->commands[0];

    if (command == COM_STATISTICS || payload[0] == HF__DIALOG_ERR) {
        return true;
    }
    if (command == COM_CHANGE_USER) {
        return payload[0] == HF__DIALOG_OK;
    }
    if (payload[0] == HF__DIALOG_OK) {
        return !ok_says_more(payload, length);
    }
    if (payload[0] == END_OF_ROWS && length < LONGEST_EOF) {
        return true;
    }
    s->definitions = payload[0] == 0xFC && length >= 3
                         ? (uint16_t)hf__dialog_number(payload + 1)
                         : payload[0];
    s->step = HF__DIALOG_DEFINITIONS;
    return false;
}

static bool read_row(struct hf__dialog *s, const uint8_t *payload,
                     size_t length)
{
    bool is_end =
        payload[0] == END_OF_ROWS &&
        (defines_eof(s) ? length < LONGEST_EOF : length < HF__DIALOG_FULL);
    bool more;

    if (payload[0] == HF__DIALOG_ERR) {
        return true;
    }
    if (!is_end) {
        return false;
    }
    more = defines_eof(s) ? length >= 5 && says_more(payload + 3)
                          : ok_says_more(payload, length);
    s->step = HF__DIALOG_FIRST;
    return !more;
}

bool hf__dialog_result(struct hf__dialog *s, const uint8_t *payload,
                       size_t length)
{
    switch (s->step) {
    case HF__DIALOG_FIRST:
        return read_first(s, payload, length);
    case HF__DIALOG_DEFINITIONS:
        if (--s->definitions == 0) {
            s->step = defines_eof(s) ? HF__DIALOG_END_OF_DEFINITIONS
                                     : HF__DIALOG_ROWS;
        }
        return false;
    case HF__DIALOG_END_OF_DEFINITIONS:
        s->step = HF__DIALOG_ROWS;
        return false;
    case HF__DIALOG_ROWS:
        break;
    }
    return read_row(s, payload, length);
}
