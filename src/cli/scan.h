/* SPDX-License-Identifier: MIT */
/*
 * What cli_tree_walk() does where the kernel does not list children: it looks
 * at every process of the system, and takes its time. Thread: as tree.h.
 */
#ifndef HF_CLI_SCAN_H
#define HF_CLI_SCAN_H

#include "src/cli/tree.h"

/* As cli_tree_walk(); but who forks fast enough may be missed as a whole, and
 * INT64_MAX is as long as it takes. */
int cli_scan(const struct cli_tree *, int64_t until_ns, cli_tree_fn fn,
             void *arg);

#endif
