/* SPDX-License-Identifier: MIT */
/*
 * Time: the clocks, and durations as people write them. Deadlines are on
 * CLOCK_BOOTTIME, like the library's; times of day are only for display. A
 * duration is 250ms 30s 5m 2h 1d 1h30m, or a bare number of seconds, which may
 * have a fraction: the same syntax as in a URL. Thread: any.
 */
#ifndef HF_CLI_CLOCK_H
#define HF_CLI_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_NS_PER_MS INT64_C(1000000)
/* Room for "2031-02-03T04:05:06.789Z" and NUL. */
#define CLI_STAMP_SIZE 40

/* The time now, in nanoseconds of CLOCK_BOOTTIME. */
int64_t cli_boot_ns(void);
/* The time now, in microseconds since 1970-01-01 UTC. */
int64_t cli_wall_us(void);
/* Format a time as RFC 3339 in UTC with milliseconds. Returns buf. */
const char *cli_stamp(int64_t wall_us, char buf[CLI_STAMP_SIZE]);
/* The same for people, without the fraction. Returns buf. */
const char *cli_stamp_short(int64_t wall_us, char buf[CLI_STAMP_SIZE]);
/* Create a timerfd on CLOCK_BOOTTIME, close-on-exec; -1 and errno on
 * failure. */
int cli_timer_new(void);
/* Set the timer to an absolute time; INT64_MAX: never. */
void cli_timer_set(int fd, int64_t at_ns);

#define CLI_DURATION_SIZE 48

/* Returns false for an empty text, a sign, an unknown unit, units not in
 * falling order, or more than 100 years. */
bool cli_duration_parse(const char *text, int64_t *ret_ms);
/* Format a duration as "1h30m", "250ms" or "0s". Returns buf. */
const char *cli_duration(int64_t ms, char buf[CLI_DURATION_SIZE]);
/* The same, rounded down to whole seconds from one second on. */
const char *cli_duration_short(int64_t ms, char buf[CLI_DURATION_SIZE]);

#endif
