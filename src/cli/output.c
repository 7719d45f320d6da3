/* SPDX-License-Identifier: MIT */
/*
 * An answer is one text, and an answer that could not be written is no success.
 * Where a held lock depends on it, the wait for its reader is short. With
 * --json there is always one object: what failed, if no answer was begun. The
 * table of exit codes and one-word outcomes for the library's statuses is here,
 * too. Thread: main; the statuses any.
 */
#include "src/cli/output.h"
#include "include/holdfast.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const struct {
    int status;
    int code;
    const char *outcome;
} rows[] = {
    {HF_OK, CLI_EXIT_DONE, "exited"},
    {HF_BUSY, CLI_EXIT_BUSY, "busy"},
    {HF_TIMEDOUT, CLI_EXIT_BUSY, "timed-out"},
    {HF_CANCELLED, CLI_EXIT_SIGNAL, "interrupted"},
    {HF_LOST, CLI_EXIT_LOST, "lost"},
    {HF_CONFLICT, CLI_EXIT_BUSY, "once"},
    {HF_DEADLOCK, CLI_EXIT_BUSY, "deadlock"},
    {HF_EINVAL, CLI_EXIT_USAGE, "usage"},
    {HF_ENOMEM, CLI_EXIT_MEMORY, "no-memory"},
    {HF_EUNAVAIL, CLI_EXIT_STORE, "unavailable"},
    {HF_EUNKNOWN, CLI_EXIT_STORE, "no-answer"},
    {HF_EAUTH, CLI_EXIT_UNSAFE, "denied"},
    {HF_ENOTSUP, CLI_EXIT_UNSAFE, "not-supported"},
    {HF_EPROTO, CLI_EXIT_STORE, "protocol"},
    {HF_EUNSAFE, CLI_EXIT_UNSAFE, "unsafe"},
    {HF_EFORK, CLI_EXIT_INTERNAL, "internal"},
};

int cli_exit_of(int status)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].status == status) {
            return rows[i].code;
        }
    }
    return CLI_EXIT_INTERNAL;
}

const char *cli_outcome_of(int status)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].status == status) {
            return rows[i].outcome;
        }
    }
    return "internal";
}

#define HASTE_MS 5000

static bool is_owed; /* a failure must still be told as JSON */

/* Wait until stdout has room for PIPE_BUF bytes, which a pipe then takes at
 * once. */
static bool is_ready(int64_t end_ns)
{
    struct pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    int n;

    do {
        int64_t left_ms = (end_ns - cli_boot_ns()) / CLI_NS_PER_MS;

        n = poll(&out, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (n < 0 && errno == EINTR);
    errno = n ? errno : ETIMEDOUT;
    return n > 0;
}

/* Write the text until `end_ns`; INT64_MAX: without a limit. */
static int put(const struct cli_text *text, int64_t end_ns)
{
    bool is_hasty = end_ns < INT64_MAX;
    size_t done = 0;

    is_owed = false;
    cli_memory_answer(NULL);
    while (done < text->length) {
        size_t part = text->length - done;
        ssize_t n;

        if (is_hasty && !is_ready(end_ns)) {
            return errno;
        }
        part = is_hasty && part > PIPE_BUF ? PIPE_BUF : part;
        n = write(STDOUT_FILENO, text->data + done, part);
        if (!n || (n < 0 && errno != EINTR)) {
            return n ? errno : EIO;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int output(const struct cli_text *text, int code, int64_t end_ns)
{
    int error = put(text, end_ns);

    return error ? cli_fail(CLI_EXIT_INTERNAL, "cannot write to stdout: %s",
                            strerror(error))
                 : code;
}

int cli_output(const struct cli_text *text, int code)
{
    return output(text, code, INT64_MAX);
}

int cli_output_held(const struct cli_text *text, int64_t left_ms)
{
    int64_t haste_ms = left_ms < HASTE_MS ? left_ms : HASTE_MS;

    return output(text, CLI_EXIT_DONE,
                  cli_boot_ns() + haste_ms * CLI_NS_PER_MS);
}

void cli_output_owe(void)
{
    is_owed = true;
    cli_memory_answer("{\"error\":\"out of memory\",\"exit\":71}\n");
}

int cli_output_end(int code)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    const char *fields = NULL;
    const char *why = cli_failed(&fields);

    if (code && is_owed) {
        cli_text_add(&text, "{\"error\":");
        cli_text_json(&text, why);
        cli_text_add(&text, ",\"exit\":%d%s}\n", code, fields ? fields : "");
        (void)put(&text, cli_boot_ns() + HASTE_MS * CLI_NS_PER_MS);
    }
    return code;
}
