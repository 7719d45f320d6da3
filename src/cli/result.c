/* SPDX-License-Identifier: MIT */
/*
 * Decides the form of the last event and of the status file: one JSON object
 * with outcome, status, child_exit and child_signal. The file appears whole
 * or not at all. Which outcome it is, run.c decides. Thread: main.
 */
#include "src/cli/result.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder part of a path, as a new string. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash) {
        return cli_strdup(".");
    }
    return cli_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int cli_result_check(const struct cli_options *o)
{
    char *folder CLI_AUTO(cli_free_auto) = NULL;
    struct stat st;

    if (!o->status_file) {
        return 0;
    }
    if (o->status_file[strlen(o->status_file) - 1] == '/' ||
        (!lstat(o->status_file, &st) && S_ISDIR(st.st_mode))) {
        return cli_fail(CLI_EXIT_USAGE, "--status-file: %s is a folder",
                        o->status_file);
    }
    folder = folder_of(o->status_file);
    if (access(folder, W_OK | X_OK)) {
        return cli_fail(CLI_EXIT_USAGE, "--status-file: cannot write to %s: %s",
                        folder, strerror(errno));
    }
    return 0;
}

static void add_fields(struct cli_text *text, const struct cli_result *result)
{
    cli_text_add(text, "\"outcome\":\"%s\",\"status\":%d", result->outcome,
                 result->status);
    if (result->child_exit >= 0) {
        cli_text_add(text, ",\"child_exit\":%d", result->child_exit);
    } else {
        cli_text_add(text, ",\"child_exit\":null");
    }
    if (result->child_signal) {
        cli_text_add(text, ",\"child_signal\":%d", result->child_signal);
    } else {
        cli_text_add(text, ",\"child_signal\":null");
    }
}

static bool write_new(const char *path, const struct cli_text *text)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    bool is_written;

    if (fd < 0) {
        return false;
    }
    is_written = write(fd, text->data, text->length) == (ssize_t)text->length;
    return !close(fd) && is_written;
}

static void write_file(const char *path, const struct cli_text *text)
{
    char *draft CLI_AUTO(cli_free_auto) =
        cli_format("%s.%ld.tmp", path, (long)getpid());

    (void)unlink(draft);
    if (!write_new(draft, text) || rename(draft, path)) {
        cli_say("--status-file: cannot write %s: %s", path, strerror(errno));
        (void)unlink(draft);
    }
}

void cli_result_tell(const struct cli_options *o,
                     const struct cli_result *result)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    struct cli_text file CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&fields, ",");
    add_fields(&fields, result);
    cli_event_quiet("exit", fields.data, "outcome %s, exit code %d",
                    result->outcome, result->status);
    if (o->status_file) {
        cli_text_add(&file, "{");
        add_fields(&file, result);
        cli_text_add(&file, "}\n");
        write_file(o->status_file, &file);
    }
}
