/* SPDX-License-Identifier: MIT */
/*
 * NAME and those of --lock, in the order of the line. Thread: main; the look
 * on any, for it blocks.
 */
#ifndef HF_CLI_NAMES_H
#define HF_CLI_NAMES_H

#include "include/holdfast.h"
#include "src/cli/options.h"
#include "src/cli/text.h"

int cli_names_count(const struct cli_options *);
/* NAME is the 0th. */
const char *cli_names_at(const struct cli_options *, int i);
/* All are names, and none is there twice: 0, or 64 after having said. */
int cli_names_check(const struct cli_options *);
/* Acquire all of them. As hf_acquire(). */
int cli_names_acquire(const struct cli_options *, hf_client *,
                      const hf_acquire_opts *, hf_lock **ret_lock, hf_error *);

/*
 * Which of them is in the way? Several are got in the order of their names,
 * so it is the first that another process holds, or that is kept closed. What
 * this one was granted since then (wall clock) is not. Gives what the store
 * says of it; NULL: it does not answer, or nothing is.
 */
hf_info *cli_names_look(const struct cli_options *, hf_client *,
                        int64_t since_us);
/* Its name if it is known, else NAME. */
const char *cli_names_in_way(const struct cli_options *, const hf_info *);

/* "a", or "a and 2 more". */
void cli_names_line(struct cli_text *, const struct cli_options *);
/* ,"locks":[{"name":"a","fence":7},…] for several; nothing for one. */
void cli_names_json(struct cli_text *, const hf_lock *);

#endif
