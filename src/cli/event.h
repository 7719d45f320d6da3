/* SPDX-License-Identifier: MIT */
/*
 * All output to stderr: single lines and, during `run`, events, written for
 * people and programs as a line of text, as one JSON object a line, or both.
 * The guardian writes through the same descriptors. Each line is one write(),
 * so that lines of several processes do not mix. Thread: any.
 */
#ifndef HF_CLI_EVENT_H
#define HF_CLI_EVENT_H

#include "include/holdfast.h"
#include "src/cli/options.h"

#include <stddef.h>

/* Write "holdfast: …\n". */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and return the exit code: `return cli_fail(CLI_EXIT_…, …);` */
int cli_fail(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The last failure, for cli_output_end(): its line, and in ret_fields NULL or
 * further JSON fields that begin with a comma. Thread: main. */
const char *cli_failed(const char **ret_fields);

/* Choose where events go, before the first thread starts; until then they are
 * text on stderr. Returns 0, or 64 if --json-fd is not open. */
int cli_event_setup(const struct cli_options *);

enum cli_tone {
    CLI_SAYS,
    CLI_FAILS, /* a failure: the verb ends without its answer. Thread: main */
    CLI_QUIET  /* text only with --verbose */
};

/* Write an event. `fields` begins with a comma or is NULL; `format` is the
 * text, without "holdfast: ". */
void cli_event(enum cli_tone, const char *event, const char *fields,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Choose whether events wait for a slow reader, for some seconds in all, or are
 * dropped if they cannot be written at once, as they must be while a lock is
 * held or awaited. At first they wait. Thread: main. */
void cli_event_be_patient(bool is_patient);

/* True if stderr is a terminal and carries text: a live line may be drawn
 * there. */
bool cli_event_is_live(void);
/* Redraw the live line; NULL: erase it. Thread: main. */
void cli_event_live(const char *line);

/* A hf_log_fn: writes one line to stderr, or an event "log" while `run` writes
 * JSON events. */
void cli_log(void *arg, hf_level level, const char *line);
/* Say that the store does not answer while a lock is wanted, at most once a
 * minute. */
void cli_log_outage(const char *why);

#endif
