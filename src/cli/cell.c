/* SPDX-License-Identifier: MIT */
/*
 * `cell get|put|delete|update KEY`: where a value comes from, where it goes and
 * what is said about it. The library sees to it that no change overwrites
 * another unseen. The command of an update is written to and read from at the
 * same time, so that neither side waits for ever: not a command that writes
 * before it has read all, nor we for a command that does not read. It has our
 * stderr and our process group, so that Ctrl-C reaches it. Thread: main.
 */
#include "include/holdfast-cell.h"
#include "src/cli/channel.h"
#include "src/cli/event.h"
#include "src/cli/holder.h"
#include "src/cli/output.h"
#include "src/cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct filter {
    const char *from; /* what the command has yet to read */
    size_t left;
    char *to; /* what the command has written */
    size_t done;
    size_t room;
    int in;  /* -1: all is written to the command */
    int out; /* -1: the command closed its output */
    bool is_too_long;
};

static void close_end(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static void drain(struct filter *f)
{
    char more;
    ssize_t n = f->done < f->room
                    ? read(f->out, f->to + f->done, f->room - f->done)
                    : read(f->out, &more, 1);

    if (n > 0 && f->done == f->room) {
        f->is_too_long = true;
        close_end(&f->in);
        close_end(&f->out);
        return;
    }
    f->done += n > 0 ? (size_t)n : 0;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close_end(&f->out);
    }
}

static void talk(struct filter *f)
{
    if (f->left == 0) {
        close_end(&f->in);
    }
    while (f->in >= 0 || f->out >= 0) {
        struct pollfd fds[2] = {{f->in, POLLOUT, 0}, {f->out, POLLIN, 0}};

        if (poll(fds, 2, -1) < 0) {
            continue; /* interrupted by a signal */
        }
        if (fds[0].revents != 0) {
            ssize_t n = write(f->in, f->from, f->left);

            if (n > 0) {
                f->from += n;
                f->left -= (size_t)n;
            }
            /* EPIPE: the command reads no more. */
            if (f->left == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                close_end(&f->in);
            }
        }
        if (fds[1].revents != 0) {
            drain(f);
        }
    }
}

/* Start the command with `in` and `out` as its stdin and stdout. Returns 0, or
 * an errno. */
static int spawn(char **command, int in, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t ends;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int r = posix_spawn_file_actions_init(&ends);

    if (r != 0) {
        return r;
    }
    (void)posix_spawnattr_init(&attributes);
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    r = posix_spawn_file_actions_adddup2(&ends, in, STDIN_FILENO);
    r = r ? r : posix_spawn_file_actions_adddup2(&ends, out, STDOUT_FILENO);
    r = r ? r
          : posix_spawnp(ret_pid, command[0], &ends, &attributes, command,
                         environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&ends);
    return r;
}

static int ending_of(pid_t pid)
{
    int status = 0;
    pid_t got;

    do {
        got = waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return cli_fail(CLI_EXIT_INTERNAL,
                        "cell: how the command ended is not known: %s",
                        strerror(errno));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : CLI_EXIT_SIGNAL + WTERMSIG(status);
}

static int fail_start(const char *command, int error)
{
    return cli_fail(error == ENOENT ? CLI_EXIT_NOTFOUND : CLI_EXIT_NOEXEC,
                    "cell: %s: %s", command, strerror(error));
}

/* Run the command with *length bytes of `bytes` as its input; its output
 * replaces them, `room` bytes at most. Returns 0, or its exit code, or 128 +
 * the signal that ended it, or 126 or 127 if it cannot be run, or 64 if it
 * writes more; the last three are reported here. */
static int pass_through(char **command, char *bytes, size_t *length,
                        size_t room)
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    char *to CLI_AUTO(cli_free_auto) = cli_alloc(room);
    struct filter f = {.from = bytes, .left = *length, .to = to, .room = room};
    pid_t pid = -1;
    int r = 0;

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
        r = errno;
    }
    (void)unsetenv(CLI_ENVIRONMENT_PASSWORD);
    r = r ? r : spawn(command, in[0], out[1], &pid);
    close_end(&in[0]);
    close_end(&out[1]);
    f.in = in[1];
    f.out = out[0];
    if (r) {
        r = fail_start(command[0], r);
    } else {
        (void)fcntl(f.in, F_SETFL, O_NONBLOCK);
        talk(&f);
        r = ending_of(pid);
    }
    close_end(&f.in);
    close_end(&f.out);
    if (f.is_too_long) {
        r = cli_fail(CLI_EXIT_USAGE,
                     "cell: %s wrote more than %zu bytes; a cell has no room "
                     "for more",
                     command[0], room);
    }
    if (r == 0) {
        memcpy(bytes, to, f.done);
        *length = f.done;
    }
    return r;
}

/* Returned by a callback to make no change; no status of the library is this
 * high. */
#define STOPPED 1000

struct work {
    const struct cli_options *options;
    struct cli_store store;
    hf_client *client;
    hf_error err;
    int exit;      /* exit code of a callback that returned STOPPED */
    char *value;   /* the value to put */
    size_t length; /* HF_CELL_NONE: delete the value */
    uint64_t version;
    bool is_changed;
};

static int fail(const struct work *w, int r)
{
    return cli_fail(cli_exit_of(r), "cell %s %s: %s", w->options->action,
                    w->options->name, w->err.text);
}

/* ---- output */

static void add_base64(struct cli_text *text, const char *value, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = (const unsigned char *)value;

    for (size_t i = 0; i < length; i += 3) {
        unsigned b1 = i + 1 < length ? bytes[i + 1] : 0;
        unsigned b2 = i + 2 < length ? bytes[i + 2] : 0;
        unsigned all = (unsigned)bytes[i] << 16 | b1 << 8 | b2;

        cli_text_add(text, "%c%c%c%c", digits[all >> 18],
                     digits[all >> 12 & 63],
                     i + 1 < length ? digits[all >> 6 & 63] : '=',
                     i + 2 < length ? digits[all & 63] : '=');
    }
}

static bool is_text(const char *value, size_t length)
{
    size_t at = 0;

    while (at < length) {
        uint32_t point = 0;
        size_t n = cli_utf8(value + at, &point);

        if (n == 0 || point == 0) {
            return false;
        }
        at += n;
    }
    return true;
}

static void add_value(struct cli_text *text, const hf_cell *cell)
{
    const char *value = hf_cell_value(cell);
    size_t length = hf_cell_length(cell);

    if (value == NULL || is_text(value, length)) {
        cli_text_add(text, ",\"value\":");
        cli_text_json(text, value);
        return;
    }
    cli_text_add(text, ",\"value\":null,\"base64\":\"");
    add_base64(text, value, length);
    cli_text_add(text, "\"");
}

static int answer_json(const struct work *w, const hf_cell *cell, int code)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    int r = hf_caps(w->client, &caps);

    cli_text_add(&text, "{\"key\":");
    cli_text_json(&text, w->options->name);
    if (cell != NULL) {
        cli_text_add(&text, ",\"exists\":%s,\"version\":%" PRIu64,
                     hf_cell_value(cell) == NULL ? "false" : "true",
                     hf_cell_version(cell));
        add_value(&text, cell);
    } else {
        cli_text_add(&text, ",\"changed\":%s",
                     w->is_changed ? "true" : "false");
        if (w->is_changed) {
            cli_text_add(&text, ",\"version\":%" PRIu64, w->version);
        }
    }
    cli_text_add(&text, ",");
    cli_caps_json(&text, &caps);
    cli_text_add(&text, "}\n");
    return r ? cli_exit_of(r) : cli_output(&text, code);
}

/* Clean a value line by line, so that its control characters cannot move the
 * terminal's cursor. */
static void add_cleaned(struct cli_text *text, const char *value, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t n = strcspn(value + at, "\n");

        char *line CLI_AUTO(cli_free_auto) = cli_strndup(value + at, n);
        cli_text_clean(text, line);
        at += n;
        if (at < length) {
            cli_text_add(text, value[at] == '\n' ? "\n" : "\\x00");
            at++;
        }
    }
    if (length > 0 && value[length - 1] != '\n') {
        cli_text_add(text, "\n");
    }
}

/* ---- the actions */

static int get(struct work *w)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_cell *cell = NULL;
    int r = hf_cell_get(w->client, w->options->name, &cell, &w->err);
    int code = CLI_EXIT_NO;

    if (r) {
        return fail(w, r);
    }
    code = hf_cell_value(cell) == NULL ? CLI_EXIT_NO : CLI_EXIT_DONE;
    if (w->options->is_json) {
        code = answer_json(w, cell, code);
    } else if (code == CLI_EXIT_NO) {
        code = cli_fail(code, "cell get %s: it has no value", w->options->name);
    } else {
        if (isatty(STDOUT_FILENO)) {
            add_cleaned(&text, hf_cell_value(cell), hf_cell_length(cell));
        } else {
            cli_text_bytes(&text, hf_cell_value(cell), hf_cell_length(cell));
        }
        code = cli_output(&text, code);
    }
    hf_cell_free(cell);
    return code;
}

static int read_input(struct work *w)
{
    w->value = cli_alloc(HF_CELL_MAX + 1);
    /* main() opens a placeholder, with FD_CLOEXEC, where stdin was closed. */
    if ((fcntl(STDIN_FILENO, F_GETFD) & FD_CLOEXEC) != 0) {
        return cli_fail(CLI_EXIT_USAGE,
                        "cell put: stdin is closed; it is to have the value");
    }
    while (w->length <= HF_CELL_MAX) {
        ssize_t n = read(STDIN_FILENO, w->value + w->length,
                         HF_CELL_MAX + 1 - w->length);

        if (n < 0 && errno != EINTR) {
            return cli_fail(CLI_EXIT_USAGE, "cell put: cannot read stdin: %s",
                            strerror(errno));
        }
        if (n == 0) {
            return 0;
        }
        w->length += n > 0 ? (size_t)n : 0;
    }
    return cli_fail(CLI_EXIT_USAGE,
                    "cell put: stdin has more than %d bytes; a cell has no "
                    "room for more",
                    HF_CELL_MAX);
}

static int replace(void *arg, char *value, size_t *length)
{
    struct work *w = arg;

    if (w->length == HF_CELL_NONE && *length == HF_CELL_NONE) {
        w->exit = CLI_EXIT_NO; /* the cell has no value to delete */
        return STOPPED;
    }
    if (w->length != HF_CELL_NONE) {
        memcpy(value, w->value, w->length);
    }
    *length = w->length;
    return HF_OK;
}

static int filter(void *arg, char *value, size_t *length)
{
    struct work *w = arg;

    *length = *length == HF_CELL_NONE ? 0 : *length;
    w->exit = pass_through(w->options->command, value, length, HF_CELL_MAX);
    return w->exit == 0 ? HF_OK : STOPPED;
}

static int change_version(struct work *w)
{
    w->version = (uint64_t)w->options->if_version;
    return w->length == HF_CELL_NONE
               ? hf_cell_delete(w->client, w->options->name, &w->version,
                                &w->err)
               : hf_cell_put(w->client, w->options->name, w->value, w->length,
                             &w->version, &w->err);
}

static int change(struct work *w, hf_cell_fn fn)
{
    hf_cell_opts opts = HF_CELL_OPTS_INIT;
    int code = CLI_EXIT_DONE;
    int r;

    opts.wait_ms = w->options->wait_ms;
    opts.ret_version = &w->version;
    r = w->options->if_version >= 0
            ? change_version(w)
            : hf_cell_update(w->client, w->options->name, fn, w, &opts,
                             &w->err);
    w->is_changed = r == HF_OK;
    if (r == STOPPED) {
        code = w->exit;
    } else if (r == HF_CONFLICT) {
        code = w->options->is_json ? CLI_EXIT_NO
                                   : cli_fail(CLI_EXIT_NO, "%s", w->err.text);
    } else if (r) {
        return fail(w, r);
    }
    return w->options->is_json ? answer_json(w, NULL, code) : code;
}

static int put(struct work *w)
{
    int r = read_input(w);

    return r ? r : change(w, replace);
}

static int delete (struct work *w)
{
    w->length = HF_CELL_NONE;
    return change(w, replace);
}

static int update(struct work *w)
{
    (void)signal(SIGPIPE, SIG_IGN); /* the filter may not read all */
    (void)signal(SIGCHLD, SIG_DFL); /* if ignored, waitpid() fails */
    (void)setenv("HOLDFAST_CELL", w->options->name, 1);
    return change(w, filter);
}

/* ---- the verb */

static const struct {
    const char *word;
    bool has_command;
    bool has_version;
    int (*start)(struct work *);
} actions[] = {
    {"get", false, false, get},
    {"put", false, true, put},
    {"delete", false, true, delete},
    {"update", true, false, update},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static int run(struct work *w, int (*start)(struct work *))
{
    int r = cli_store_enter(w->options, &w->store, &w->client);

    r = r ? r : start(w);
    hf_close(w->client);
    cli_store_fini(&w->store);
    cli_free(w->value);
    return r;
}

int cli_cell(const struct cli_options *o)
{
    struct work w = {.options = o, .err = HF_ERROR_INIT};
    int i = 0;

    while (i < ACTIONS && strcmp(actions[i].word, o->action) != 0) {
        i++;
    }
    if (i == ACTIONS) {
        return cli_fail(CLI_EXIT_USAGE,
                        "cell: '%s' is none of get, put, delete, update: "
                        "holdfast cell get KEY",
                        o->action);
    }
    if (actions[i].has_command != (o->command != NULL && o->command[0])) {
        return cli_fail(
            CLI_EXIT_USAGE,
            actions[i].has_command
                ? "cell update: a command is missing: holdfast cell "
                  "update %s -- CMD [ARGS...]"
                : "cell: only update has a command, after --: "
                  "holdfast cell update %s -- CMD [ARGS...]",
            o->name);
    }
    if (o->if_version >= 0 && !actions[i].has_version) {
        return cli_fail(CLI_EXIT_USAGE,
                        "cell %s: --if-version is for put and delete",
                        o->action);
    }
    return run(&w, actions[i].start);
}
