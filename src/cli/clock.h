/* SPDX-License-Identifier: MIT */
/*
 * The command's clocks. Deadlines are on CLOCK_BOOTTIME, as the library's
 * are; times of day are only shown. Thread: any.
 */
#ifndef HF_CLI_CLOCK_H
#define HF_CLI_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLI_NS_PER_MS INT64_C(1000000)
/* "2031-02-03T04:05:06.789Z" and NUL. */
#define CLI_STAMP_SIZE 40

/* Nanoseconds of CLOCK_BOOTTIME. */
int64_t cli_boot_ns(void);
/* Microseconds since 1970-01-01 UTC. */
int64_t cli_wall_us(void);
/* RFC 3339 in UTC with milliseconds. Returns buf. */
const char *cli_stamp(int64_t wall_us, char buf[CLI_STAMP_SIZE]);
/* The same for people, without the fraction. Returns buf. */
const char *cli_stamp_short(int64_t wall_us, char buf[CLI_STAMP_SIZE]);
/* A timerfd on CLOCK_BOOTTIME, close-on-exec; -1 and errno. */
int cli_timer_new(void);
/* Let it fire at that absolute time; INT64_MAX: never. */
void cli_timer_set(int fd, int64_t at_ns);

#endif
