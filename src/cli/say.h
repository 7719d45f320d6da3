/* SPDX-License-Identifier: MIT */
/*
 * One line on stderr, in one write(), so that lines of several processes do
 * not mix. Thread: any.
 */
#ifndef HF_CLI_SAY_H
#define HF_CLI_SAY_H

/* "holdfast: …\n" */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and gives the exit code: `return cli_fail(CLI_EXIT_…, …);` */
int cli_fail(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What failed last, for cli_output_end(): the line, and NULL or further
 * fields of JSON, beginning with a comma. Thread: main. */
void cli_failed_by(const char *line, const char *fields);
const char *cli_failed(const char **ret_fields);

/* From now on both give their line to `fn`, without "holdfast: ". While there
 * is one thread. */
void cli_say_through(void (*fn)(const char *line));

/* Write all of it, or give up quietly: nobody listens any more. */
void cli_write(int fd, const char *text);

#endif
