/* SPDX-License-Identifier: MIT */
/*
 * Decides which form an event takes and where it goes: --json turns all text
 * on stderr into JSON lines, --json-fd adds JSON elsewhere and leaves the
 * text. Every JSON object has event, time and name. While the lock is held or
 * awaited a line that finds no room is dropped, for nothing may wait for its
 * reader; the last words of the wrapper wait for a while. What happened is
 * the caller's. Thread: any.
 */
#include "src/cli/event.h"
#include "src/cli/clock.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/mouth.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* All that is said at the end, together. */
#define PATIENCE_MS 5000

/* Set once, before the first thread and the first fork. */
static struct {
    const char *name;
    struct cli_mouth text;
    struct cli_mouth json;
    bool is_json;
    bool is_silent; /* no text on stderr */
    bool is_verbose;
    bool is_terminal;
} out = {.text = {STDERR_FILENO, CLI_MOUTH_OTHER}};

/* Until then a line waits for its reader. */
static _Atomic(int64_t) end_ns;

/* A live line stands on the terminal and must be taken away first. */
static atomic_bool is_drawn;

static void take_message(const char *line)
{
    cli_event("message", NULL, "%s", line);
}

int cli_event_setup(const struct cli_options *o)
{
    int mode;

    out.name = o->name;
    out.is_verbose = o->is_verbose;
    out.is_silent = o->is_json && o->json_fd < 0;
    out.is_json = o->is_json || o->json_fd >= 0;
    out.is_terminal = isatty(STDERR_FILENO);
    cli_mouth_open(&out.text, STDERR_FILENO);
    out.json = out.text;
    cli_say_through(take_message);
    cli_event_be_patient(true);
    if (o->json_fd < 0) {
        return 0;
    }
    mode = fcntl((int)o->json_fd, F_GETFL);
    /* Stdout that was closed is, too; see fill_standard(). */
    if (!o->json_fd || mode < 0 || (mode & O_ACCMODE) == O_RDONLY) {
        out.is_json = false;
        return cli_fail(CLI_EXIT_USAGE,
                        "--json-fd: descriptor %d is not open for writing",
                        (int)o->json_fd);
    }
    if (o->json_fd > STDERR_FILENO) {
        (void)fcntl((int)o->json_fd, F_SETFD, FD_CLOEXEC);
    }
    cli_mouth_open(&out.json, (int)o->json_fd);
    return 0;
}

void cli_event_be_patient(bool is_patient)
{
    if (!is_patient) {
        atomic_store(&end_ns, 0);
    } else if (!atomic_load(&end_ns)) {
        atomic_store(&end_ns, cli_boot_ns() + PATIENCE_MS * CLI_NS_PER_MS);
    }
}

/* All of it, or none, or, where a line is longer than what a pipe takes at
 * once, a part. */
static void put(const struct cli_mouth *mouth, const struct cli_text *text)
{
    size_t done = 0;

    while (done < text->length) {
        long n = cli_mouth_try(mouth, text->data + done, text->length - done);
        int64_t left_ms;

        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        left_ms = (atomic_load(&end_ns) - cli_boot_ns()) / CLI_NS_PER_MS;
        if (n == 0 || (errno != EAGAIN && errno != EINTR) ||
            (errno == EAGAIN && left_ms <= 0)) {
            return;
        }
        cli_mouth_wait(mouth, left_ms > 0 ? (int)left_ms : 0);
    }
}

static void write_json(const char *event, const char *fields, const char *text)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    char stamp[CLI_STAMP_SIZE];

    if (!out.is_json) {
        return;
    }
    cli_text_add(&line, "{\"event\":\"%s\",\"time\":\"%s\",\"name\":", event,
                 cli_stamp(cli_wall_us(), stamp));
    cli_text_json(&line, out.name);
    cli_text_add(&line, "%s,\"text\":", fields ? fields : "");
    cli_text_json(&line, text);
    cli_text_add(&line, "}\n");
    put(&out.json, &line);
}

static void write_text(const char *text)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    bool must_clear = atomic_exchange(&is_drawn, false);

    cli_text_add(&line, "%sholdfast: ", must_clear ? "\r\033[K" : "");
    cli_text_clean(&line, text);
    cli_text_add(&line, "\n");
    put(&out.text, &line);
}

__attribute__((format(printf, 1, 0))) static char *render(const char *format,
                                                          va_list list)
{
    char text[4096];

    return vsnprintf(text, sizeof text, format, list) < 0 ? cli_strdup("")
                                                          : cli_strdup(text);
}

void cli_event(const char *event, const char *fields, const char *format, ...)
{
    va_list list;
    char *text CLI_AUTO(cli_free_auto) = NULL;

    va_start(list, format);
    text = render(format, list);
    va_end(list);
    write_json(event, fields, text);
    if (!out.is_silent) {
        write_text(text);
    }
}

void cli_event_fail(const char *event, const char *fields, const char *format,
                    ...)
{
    va_list list;
    char *text CLI_AUTO(cli_free_auto) = NULL;

    va_start(list, format);
    text = render(format, list);
    va_end(list);
    cli_failed_by(text, fields);
    cli_event(event, fields, "%s", text);
}

void cli_event_quiet(const char *event, const char *fields, const char *format,
                     ...)
{
    va_list list;
    char *text CLI_AUTO(cli_free_auto) = NULL;

    if (!out.is_json && !out.is_verbose) {
        return;
    }
    va_start(list, format);
    text = render(format, list);
    va_end(list);
    write_json(event, fields, text);
    if (!out.is_silent && out.is_verbose) {
        write_text(text);
    }
}

bool cli_event_is_live(void)
{
    return out.is_terminal && !out.is_silent;
}

/* Bytes of the line that fit into the terminal's width. */
static size_t fitting(const char *line)
{
    struct winsize size = {0};
    size_t room = 79;
    size_t length = 0;

    if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 1) {
        room = size.ws_col - 1u;
    }
    for (; line[length]; length++) {
        if (((unsigned char)line[length] & 0xc0) != 0x80 && !room--) {
            return length;
        }
    }
    return length;
}

void cli_event_live(const char *line)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    struct cli_text clean CLI_AUTO(cli_text_fini) = {0};

    if (!line) {
        if (atomic_exchange(&is_drawn, false)) {
            cli_text_add(&text, "\r\033[K");
            put(&out.text, &text);
        }
        return;
    }
    cli_text_add(&clean, "holdfast: ");
    cli_text_clean(&clean, line);
    cli_text_add(&text, "\r");
    cli_text_bytes(&text, clean.data, fitting(clean.data));
    cli_text_add(&text, "\033[K");
    atomic_store(&is_drawn, true);
    put(&out.text, &text);
}
