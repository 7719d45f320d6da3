/* SPDX-License-Identifier: MIT */
/*
 * Only this file of the command reads a clock or arms a timer. It also parses
 * and formats durations; the option table says which ones an option takes.
 * Thread: any.
 */
#include "src/cli/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

int64_t cli_boot_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cli_wall_us(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct tm split(int64_t wall_us)
{
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm parts = {0};

    (void)gmtime_r(&seconds, &parts);
    return parts;
}

const char *cli_stamp(int64_t wall_us, char buf[CLI_STAMP_SIZE])
{
    struct tm parts = split(wall_us);
    size_t length = strftime(buf, CLI_STAMP_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);

    (void)snprintf(buf + length, CLI_STAMP_SIZE - length, ".%03dZ",
                   (int)(wall_us % 1000000 / 1000));
    return buf;
}

const char *cli_stamp_short(int64_t wall_us, char buf[CLI_STAMP_SIZE])
{
    struct tm parts = split(wall_us);

    (void)strftime(buf, CLI_STAMP_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return buf;
}

int cli_timer_new(void)
{
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void cli_timer_set(int fd, int64_t at_ns)
{
    struct itimerspec when = {0};

    if (at_ns != INT64_MAX) {
        at_ns = at_ns > 1 ? at_ns : 1;
        when.it_value.tv_sec = (time_t)(at_ns / 1000000000);
        when.it_value.tv_nsec = (long)(at_ns % 1000000000);
    }
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

#define LIMIT_MS (INT64_C(36525) * 86400000)

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

#define UNITS (sizeof units / sizeof *units)

/* Read digits and an optional fraction, as thousandths. */
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

        /* A fraction is only allowed in a bare number of seconds, as in
         * a URL. */
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
