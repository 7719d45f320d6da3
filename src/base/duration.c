/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes durations. Each unit may be given once, and in falling
 * order, so that a duration has one meaning at a glance. The caller checks the
 * range. Thread: any.
 */
#include "src/base/duration.h"

#include <stdio.h>
#include <string.h>

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};
enum { N_UNITS = sizeof units / sizeof *units };

/* A hundred years, leap days included. */
#define MAX_MS (INT64_C(36525) * 86400000)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads the whole number at *at and moves *at past it. Gives −1 if there is
 * none, and MAX_MS + 1 for every number above MAX_MS. */
static int64_t read_number(const char **at)
{
    int64_t value = 0;

    if (!is_digit(**at)) {
        return -1;
    }
    for (; is_digit(**at); (*at)++) {
        value = value * 10 + (**at - '0');
        if (value > MAX_MS) {
            value = MAX_MS + 1;
        }
    }
    return value;
}

/* Reads the digits after the point as milliseconds and drops what is finer. −1
 * if there is no digit. */
static int64_t read_fraction(const char **at)
{
    int64_t ms = 0;

    if (!is_digit(**at)) {
        return -1;
    }
    for (int64_t digit = 100; is_digit(**at); (*at)++) {
        ms += digit * (**at - '0');
        digit /= 10;
    }
    return ms;
}

/* Reads the unit at *at and moves *at past it; N_UNITS if there is none. */
static size_t read_unit(const char **at)
{
    size_t length = strspn(*at, "dhms");

    for (size_t i = 0; i < N_UNITS; i++) {
        if (strlen(units[i].name) == length &&
            strncmp(*at, units[i].name, length) == 0) {
            *at += length;
            return i;
        }
    }
    return N_UNITS;
}

static bool finish(int64_t ms, int64_t *ret_ms)
{
    if (ms > MAX_MS) {
        return false;
    }
    *ret_ms = ms;
    return true;
}

/* Parses what follows `value` seconds: nothing, or a fraction. */
static bool parse_bare(int64_t value, const char *at, int64_t *ret_ms)
{
    int64_t fraction = 0;

    if (*at == '.') {
        at++;
        fraction = read_fraction(&at);
    }
    if (fraction < 0 || *at != '\0' || value > MAX_MS / 1000) {
        return false;
    }
    return finish(value * 1000 + fraction, ret_ms);
}

bool hf__duration_parse(const char *text, int64_t *ret_ms)
{
    const char *at = text;
    int64_t total = 0;
    size_t next = 0; /* the largest unit that may still come */

    int64_t value = read_number(&at);
    if (value >= 0 && (*at == '\0' || *at == '.')) {
        return parse_bare(value, at, ret_ms);
    }
    while (value >= 0) {
        size_t unit = read_unit(&at);

        if (unit < next || unit == N_UNITS || value > MAX_MS / units[unit].ms) {
            return false;
        }
        total += value * units[unit].ms;
        next = unit + 1;
        if (*at == '\0') {
            return finish(total, ret_ms);
        }
        value = read_number(&at);
    }
    return false;
}

const char *hf__duration_format(int64_t ms, char *buf, size_t size)
{
    uint64_t left = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    char text[64];
    size_t at = 0;

    if (ms < 0) {
        text[at++] = '-';
    }
    for (size_t i = 0; i < N_UNITS; i++) {
        uint64_t count = left / (uint64_t)units[i].ms;

        left %= (uint64_t)units[i].ms;
        if (count > 0) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%llu%s",
                                   (unsigned long long)count, units[i].name);
        }
    }
    (void)snprintf(buf, size, "%.*s", (int)at, at > 0 ? text : "");
    if (at == 0) {
        (void)snprintf(buf, size, "0s");
    }
    return buf;
}
