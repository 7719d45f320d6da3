/* SPDX-License-Identifier: MIT */
/*
 * Decides which exit code and which one-word outcome stand for a status of
 * the library. What a verb makes of its own answers is the verb's affair.
 * Thread: any.
 */
#include "src/cli/exit.h"
#include "include/holdfast.h"

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
