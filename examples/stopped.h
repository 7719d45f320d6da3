/* SPDX-License-Identifier: MIT */
/*
 * What the examples of guards share: a holder that is really stopped for longer
 * than its lease, by SIGSTOP, as a debugger, a machine that swaps or a paused
 * virtual machine would stop it; and a second holder, which writes meanwhile.
 * Each step is printed as a line. From the folder above:
 * cc -D_GNU_SOURCE -I. examples/guard_file.c examples/stopped.c $(pkg-config
 * --cflags --libs holdfast)
 */
#ifndef EXAMPLES_STOPPED_H
#define EXAMPLES_STOPPED_H

#include <holdfast.h>

#include <stdbool.h>
#include <stdint.h>

/* Write `text` to what the lock protects. Returns HF_OK; HF_LOST if this fence
 * was refused; any other status is a failure, which it has reported. `arg` is
 * as given below. It is called in the writer's process. */
typedef int save_fn(void *arg, uint64_t fence, const char *text);

/* Make a temporary folder for the store of the locks, or end the program; and
 * remove it with all that is in it. */
const char *make_folder(void);
void remove_folder(void);

/* The first holder is stopped before it writes `FIRST`, the second writes
 * `SECOND`, the first continues. True: the first was refused, and all else went
 * well. This forks, so no client may be open. */
#define FIRST  "computed by the first"
#define SECOND "computed by the second"
bool stop_one_who_writes(save_fn *save, void *arg);

#endif
