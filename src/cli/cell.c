/* SPDX-License-Identifier: MIT */
/*
 * `cell get|put|delete|update KEY`: decides where a value comes from and goes
 * to, and what is told of it. That no change overwrites another unseen is the
 * library's. Thread: main.
 */
#include "include/holdfast-cell.h"
#include "src/cli/exit.h"
#include "src/cli/filter.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a callback that wants no change; the library has none that high. */
#define STOPPED 1000

struct work {
    const struct cli_options *options;
    struct cli_store store;
    hf_client *client;
    hf_error err;
    int exit;      /* of a callback that stopped */
    char *value;   /* to put */
    size_t length; /* HF_CELL_NONE: delete it */
    uint64_t version;
    bool is_changed;
};

static int fail(const struct work *w, int r)
{
    return cli_fail(cli_exit_of(r), "cell %s %s: %s", w->options->action,
                    w->options->name, w->err.text);
}

/* ---- told */

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

/* What strangers wrote moves no cursor: line by line, cleaned. */
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
    /* What main() opened in its place. */
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
        w->exit = CLI_EXIT_NO; /* there is nothing to delete */
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
    w->exit = cli_filter(w->options->command, value, length, HF_CELL_MAX);
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
    (void)signal(SIGPIPE, SIG_IGN); /* of a filter that does not read */
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would not tell its end */
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
