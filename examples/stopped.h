/* SPDX-License-Identifier: MIT */
/*
 * What the examples of guards share: a holder that is really stopped for longer
 * than its lease, by SIGSTOP, as a debugger, a machine that swaps or a paused
 * virtual machine would; and another one, who writes meanwhile. Each step is
 * told in a line. From the folder above:
 * cc -D_GNU_SOURCE -I. examples/guard_file.c examples/stopped.c $(pkg-config
 * --cflags --libs holdfast)
 */
#ifndef EXAMPLES_STOPPED_H
#define EXAMPLES_STOPPED_H

#include <holdfast.h>

#include <stdbool.h>
#include <stdint.h>

/* Write `text` to what the lock protects: HF_OK; HF_LOST, it refused this
 * fence; all else is a failure, which was told. `arg` is as given below. It is
 * called in the process of whoever writes. */
typedef int save_fn(void *arg, uint64_t fence, const char *text);

/* A temporary folder, in which the store of the locks is; ends the program if
 * there can be none. And away with it, and all that is in it. */
const char *make_folder(void);
void remove_folder(void);

/* The first holder is stopped before it writes `FIRST`, the second writes
 * `SECOND`, the first goes on. True: it was refused, and all else went well.
 * Begins a process, so no client may be open. */
#define FIRST  "computed by the first"
#define SECOND "computed by the second"
bool stop_one_who_writes(save_fn *save, void *arg);

#endif
