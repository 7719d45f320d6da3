/* SPDX-License-Identifier: MIT */
/*
 * Decides which form an event takes and where it goes: --json turns all text
 * on stderr into JSON lines, --json-fd adds JSON elsewhere and leaves the
 * text. Every JSON object has event, time and name. What happened is the
 * caller's. Thread: any.
 */
#include "src/cli/event.h"
#include "src/cli/clock.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set once, before the first thread and the first fork. */
static struct {
    const char *name;
    int text_fd;
    int json_fd;    /* 0: none */
    bool is_hasty;  /* nothing that is written may block */
    bool is_silent; /* no text on stderr */
    bool is_verbose;
    bool is_terminal;
} out = {.text_fd = STDERR_FILENO};

/* A live line stands on the terminal and must be taken away first. */
static atomic_bool is_drawn;

int cli_event_setup(const struct cli_options *o)
{
    out.name = o->name;
    out.is_verbose = o->is_verbose;
    out.is_silent = o->is_json && o->json_fd < 0;
    out.json_fd = o->json_fd >= 0 ? (int)o->json_fd
                  : o->is_json    ? STDERR_FILENO
                                  : 0;
    out.is_terminal = isatty(STDERR_FILENO);
    if (o->json_fd < 0) {
        return 0;
    }
    if (!o->json_fd || fcntl(out.json_fd, F_GETFD) < 0) {
        return cli_fail(CLI_EXIT_USAGE, "--json-fd: descriptor %d is not open",
                        out.json_fd);
    }
    if (out.json_fd > STDERR_FILENO) {
        (void)fcntl(out.json_fd, F_SETFD, FD_CLOEXEC);
    }
    return 0;
}

/*
 * Our own open file of the same pipe or terminal, which does not block; the
 * flag on the one that we share with the command would hit the command. Of
 * a plain file there must be no second one: it has the position.
 */
static int reopen(int fd)
{
    struct stat st;
    char path[32];
    int own;

    if (!fd || fstat(fd, &st) ||
        (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))) {
        return fd;
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return own < 0 ? fd : own;
}

void cli_event_never_block(void)
{
    out.is_hasty = true;
    out.text_fd = reopen(out.text_fd);
    out.json_fd = reopen(out.json_fd);
}

static void put(int fd, const struct cli_text *text)
{
    struct pollfd room = {fd, POLLOUT, 0};
    ssize_t n;

    if (!out.is_hasty) {
        cli_write(fd, text->data);
        return;
    }
    n = send(fd, text->data, text->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK && poll(&room, 1, 0) == 1) {
        n = write(fd, text->data, text->length);
    }
    (void)n;
}

static void write_json(const char *event, const char *fields, const char *text)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    char stamp[CLI_STAMP_SIZE];

    if (!out.json_fd) {
        return;
    }
    cli_text_add(&line, "{\"event\":\"%s\",\"time\":\"%s\",\"name\":", event,
                 cli_stamp(cli_wall_us(), stamp));
    cli_text_json(&line, out.name);
    cli_text_add(&line, "%s,\"text\":", fields ? fields : "");
    cli_text_json(&line, text);
    cli_text_add(&line, "}\n");
    put(out.json_fd, &line);
}

static void write_text(const char *text)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    bool must_clear = atomic_exchange(&is_drawn, false);

    cli_text_add(&line, "%sholdfast: ", must_clear ? "\r\033[K" : "");
    cli_text_clean(&line, text);
    cli_text_add(&line, "\n");
    put(out.text_fd, &line);
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

void cli_event_quiet(const char *event, const char *fields, const char *format,
                     ...)
{
    va_list list;
    char *text CLI_AUTO(cli_free_auto) = NULL;

    if (!out.json_fd && !out.is_verbose) {
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
            cli_write(STDERR_FILENO, "\r\033[K");
        }
        return;
    }
    cli_text_add(&clean, "holdfast: ");
    cli_text_clean(&clean, line);
    cli_text_add(&text, "\r");
    cli_text_bytes(&text, clean.data, fitting(clean.data));
    cli_text_add(&text, "\033[K");
    atomic_store(&is_drawn, true);
    cli_write(STDERR_FILENO, text.data);
}
