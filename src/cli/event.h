/* SPDX-License-Identifier: MIT */
/*
 * What happens during `run`, told to people and to programs: a line of text,
 * a JSON object a line, or both. The guardian tells too, through the same
 * descriptors. Thread: any; each event is one write().
 */
#ifndef HF_CLI_EVENT_H
#define HF_CLI_EVENT_H

#include "src/cli/options.h"

/* Before the first thread; before this call events are text on stderr. 0, or
 * 64: --json-fd is not open. */
int cli_event_setup(const struct cli_options *);

/* `fields` begins with a comma or is NULL; `format` is the text, without
 * "holdfast: ". */
void cli_event(const char *event, const char *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of what ends a verb without its answer. Thread: main. */
void cli_event_fail(const char *event, const char *fields, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));
/* The same, but the text only with --verbose. */
void cli_event_quiet(const char *event, const char *fields, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));

/* Whether events wait for their reader, some seconds in all, or what cannot
 * be written at once is dropped: a lock is held or wanted. At first they wait.
 * Thread: main. */
void cli_event_be_patient(bool is_patient);

/* Stderr is a terminal and carries text: a live line may be drawn there. */
bool cli_event_is_live(void);
/* Draw the live line anew; NULL: take it away. Thread: main. */
void cli_event_live(const char *line);

#endif
