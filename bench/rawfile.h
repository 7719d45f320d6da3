/* SPDX-License-Identifier: MIT */
/*
 * The yardstick of the file store: what a careful program does by hand that
 * keeps locks in files. Each is a file with a record of the last holder and a
 * number that rises, locked while it is held. Thread: any.
 */
#ifndef BENCH_RAWFILE_H
#define BENCH_RAWFILE_H

#include <stdbool.h>

/* Acquire the lock that is the file `path`, made if need be, and release it:
 * one pair. False: somebody else has it. */
bool rawfile_pair(const char *path);

#endif
