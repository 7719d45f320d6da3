/* SPDX-License-Identifier: MIT */
/*
 * Describes a holder in words and in JSON. Every verb that shows a holder uses
 * these, so that all say the same. Thread: any.
 */
#ifndef HF_CLI_HOLDER_H
#define HF_CLI_HOLDER_H

#include "include/holdfast.h"
#include "src/cli/store.h"
#include "src/cli/text.h"

#define CLI_THREAD_SIZE 48

/* Returns "4712 writer", not cleaned; NULL where it is not known. */
const char *cli_holder_thread(const hf_info *, char to[CLI_THREAD_SIZE]);
/* Add "backup (host db1, pid 4711, thread 4712 writer)", cleaned. */
void cli_holder_who(struct cli_text *, const hf_info *);
/* Add "backup (host db1, pid 4711, thread 4712 writer) since
 * 2031-02-03T04:05:06Z (5m), 28s of its lease left, fence 17". */
void cli_holder_line(struct cli_text *, const hf_info *);
/* How long a free lock stays closed (--min-hold); 0: it is open, -1:
 * not known. */
int64_t cli_holder_kept_ms(const hf_info *);
/* Add "kept closed for 28s more (--min-hold)". */
void cli_holder_kept(struct cli_text *, const hf_info *);
/* The holder whose grant has that fence; NULL: no holder has it now. */
const hf_info *cli_holder_with(const hf_info *, uint64_t fence);
/* Add "shared" or "slot 2 of 5"; nothing for an exclusive holder. */
void cli_holder_mode(struct cli_text *, const hf_info *);
/* Add `"name":…,"state":…, … "holders":[…],"waiters":[…]`. */
void cli_holder_json(struct cli_text *, const hf_info *);
/* Add `"store":…,"grade":…,"reach":…`. */
void cli_caps_json(struct cli_text *, const hf_caps_info *);
/* Add "store sqlite:/…, reach host, grade B (one durable server)". */
void cli_caps_line(struct cli_text *, const hf_caps_info *);
/* Add "holdfast VERB NAME", with --url where it was given. */
void cli_holder_command(struct cli_text *, const struct cli_store *,
                        const char *verb, const char *name);
/* Add the line that ends this holder's grant: "holdfast break NAME
 * --fence N". */
void cli_holder_break(struct cli_text *, const struct cli_store *,
                      const hf_info *);

/* For CLI_AUTO. */
void cli_info_auto(hf_info **info);

#endif
