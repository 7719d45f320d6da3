/* SPDX-License-Identifier: MIT */
/*
 * The only file of the command that reads a clock or arms a timer.
 * Thread: any.
 */
#include "src/cli/clock.h"

#include <stdio.h>
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
