/* SPDX-License-Identifier: MIT */
/*
 * Decides how a duration is read and written. Which durations an option may
 * have is the option table's. Thread: any.
 */
#include "src/cli/duration.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS (INT64_C(36525) * 86400000)

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

#define UNITS (sizeof units / sizeof *units)

/* Digits, and perhaps a fraction, in thousandths. */
static bool read_number(const char **p, bool *ret_is_whole,
                        int64_t *ret_thousandths)
{
    int64_t value = 0;
    int64_t scale = 100;

    if (**p < '0' || **p > '9') {
        return false;
    }
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        value = value * 10 + (**p - '0');
        if (value > LIMIT_MS) {
            return false;
        }
    }
    value *= 1000;
    *ret_is_whole = **p != '.';
    if (**p == '.') {
        (*p)++;
        if (**p < '0' || **p > '9') {
            return false;
        }
        for (; **p >= '0' && **p <= '9'; (*p)++, scale /= 10) {
            value += (**p - '0') * scale;
        }
    }
    *ret_thousandths = value;
    return true;
}

static size_t read_unit(const char **p)
{
    size_t length = strspn(*p, "abcdefghijklmnopqrstuvwxyz");

    for (size_t i = 0; i < UNITS; i++) {
        if (strlen(units[i].name) == length &&
            !memcmp(units[i].name, *p, length)) {
            *p += length;
            return i;
        }
    }
    return UNITS;
}

bool cli_duration_parse(const char *text, int64_t *ret_ms)
{
    int64_t total = 0;
    size_t next = 0;

    for (bool is_first = true; is_first || *text; is_first = false) {
        bool is_whole;
        int64_t value;
        size_t unit;

        /* Seconds alone may have a fraction, as in a URL. */
        if (!read_number(&text, &is_whole, &value) || (!is_whole && *text)) {
            return false;
        }
        unit = is_first && !*text ? 3 : read_unit(&text);
        if (unit == UNITS || unit < next) {
            return false;
        }
        next = unit + 1;
        if (value / 1000 > LIMIT_MS / units[unit].ms) {
            return false;
        }
        total += value / 1000 * units[unit].ms +
                 value % 1000 * units[unit].ms / 1000;
        if (total > LIMIT_MS) {
            return false;
        }
    }
    *ret_ms = total;
    return true;
}

const char *cli_duration(int64_t ms, char buf[CLI_DURATION_SIZE])
{
    size_t length = 0;

    if (ms <= 0) {
        return memcpy(buf, "0s", 3);
    }
    for (size_t i = 0; i < UNITS; i++) {
        if (ms >= units[i].ms) {
            int n = snprintf(buf + length, CLI_DURATION_SIZE - length, "%lld%s",
                             (long long)(ms / units[i].ms), units[i].name);

            length += n > 0 ? (size_t)n : 0;
            ms %= units[i].ms;
        }
    }
    return buf;
}

const char *cli_duration_short(int64_t ms, char buf[CLI_DURATION_SIZE])
{
    return cli_duration(ms < 1000 ? ms : ms - ms % 1000, buf);
}
