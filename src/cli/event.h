/* SPDX-License-Identifier: MIT */
/*
 * All that goes to stderr: single lines, and during `run` events, told to
 * people and to programs as a line of text, a JSON object a line, or both. The
 * guardian tells too, through the same descriptors. Each line is one write(),
 * so that those of several processes do not mix. Thread: any.
 */
#ifndef HF_CLI_EVENT_H
#define HF_CLI_EVENT_H

#include "include/holdfast.h"
#include "src/cli/options.h"

#include <stddef.h>

/* "holdfast: …\n" */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and gives the exit code: `return cli_fail(CLI_EXIT_…, …);` */
int cli_fail(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What failed last, for cli_output_end(): the line, and NULL or further fields
 * of JSON, beginning with a comma. Thread: main. */
const char *cli_failed(const char **ret_fields);

/* Before the first thread; before this call events are text on stderr. 0, or
 * 64: --json-fd is not open. */
int cli_event_setup(const struct cli_options *);

enum cli_tone {
    CLI_SAYS,
    CLI_FAILS, /* it ends a verb without its answer. Thread: main */
    CLI_QUIET  /* the text only with --verbose */
};

/* `fields` begins with a comma or is NULL; `format` is the text, without
 * "holdfast: ". */
void cli_event(enum cli_tone, const char *event, const char *fields,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Whether events wait for their reader, some seconds in all, or what cannot
 * be written at once is dropped: a lock is held or wanted. At first they wait.
 * Thread: main. */
void cli_event_be_patient(bool is_patient);

/* Stderr is a terminal and carries text: a live line may be drawn there. */
bool cli_event_is_live(void);
/* Draw the live line anew; NULL: take it away. Thread: main. */
void cli_event_live(const char *line);

/* A hf_log_fn: one line on stderr. While `run` writes JSON events there, it
 * is an event "log". */
void cli_log(void *arg, hf_level level, const char *line);
/* The store does not answer while a lock is wanted: said at most once a
 * minute. */
void cli_log_outage(const char *why);

#endif
