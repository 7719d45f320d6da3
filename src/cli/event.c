/* SPDX-License-Identifier: MIT */
/*
 * How text reaches stderr, and JSON the descriptor of --json-fd. --json turns
 * all text on stderr into JSON lines; --json-fd writes JSON elsewhere and
 * leaves the text. Every JSON object has event, time and name. While the lock
 * is held or awaited a line that does not fit at once is dropped, because the
 * wrapper must not wait for its reader; its last lines wait for a while.
 * O_NONBLOCK belongs to the open file, which we share with the command, so it
 * must not be set there; a pipe or a terminal is opened a second time instead.
 * Where that is denied (after su, stderr may belong to another user) splice(),
 * which has a flag for each call, writes to a pipe without blocking, and
 * /dev/tty opens the terminal. A plain file is not reopened, because the file
 * position belongs to the open file. Thread: any.
 */
#include "src/cli/event.h"
#include "src/cli/clock.h"
#include "src/cli/output.h"
#include "src/cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum cli_writer_kind {
    CLI_WRITER_PLAIN,  /* a plain file: a write does not block for long */
    CLI_WRITER_OWN,    /* an open file of our own, with O_NONBLOCK */
    CLI_WRITER_SOCKET, /* the caller's own open file, as those below */
    CLI_WRITER_PIPE,
    CLI_WRITER_OTHER
};

struct cli_writer {
    int fd;
    enum cli_writer_kind kind;
};

static int reopen(int fd)
{
    int flags = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    char path[32];
    int own;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    own = open(path, flags);
    if (own < 0 && tcgetsid(fd) == getsid(0)) {
        own = open("/dev/tty", flags);
    }
    return own;
}

/* Choose how to write to `fd`, before the first thread starts. `fd` itself
 * stays open and unchanged. */
static void writer_open(struct cli_writer *writer, int fd)
{
    struct stat st;
    int own;

    *writer = (struct cli_writer){fd, CLI_WRITER_PLAIN};
    if (fstat(fd, &st) || S_ISREG(st.st_mode)) {
        return;
    }
    if (S_ISSOCK(st.st_mode)) {
        writer->kind = CLI_WRITER_SOCKET;
        return;
    }
    own = reopen(fd);
    if (own >= 0) {
        *writer = (struct cli_writer){own, CLI_WRITER_OWN};
    } else {
        writer->kind =
            S_ISFIFO(st.st_mode) ? CLI_WRITER_PIPE : CLI_WRITER_OTHER;
    }
}

/* Splice through a pipe of our own, because splice() moves pages
 * between pipes. */
static long try_splice(int fd, const char *bytes, size_t length)
{
    int ends[2];
    ssize_t n;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        return -1;
    }
    n = write(ends[1], bytes, length);
    if (n > 0) {
        n = splice(ends[0], NULL, fd, NULL, (size_t)n, SPLICE_F_NONBLOCK);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    return n;
}

static bool has_room(int fd, int ms)
{
    struct pollfd room = {fd, POLLOUT, 0};

    return poll(&room, 1, ms) == 1;
}

/* Write what can be written at once. Returns the number of bytes, or -1 and
 * errno, EAGAIN if there is no room. Never blocks. */
static long writer_try(const struct cli_writer *writer, const char *bytes,
                       size_t length)
{
    switch (writer->kind) {
    case CLI_WRITER_PLAIN:
    case CLI_WRITER_OWN:
        return write(writer->fd, bytes, length);
    case CLI_WRITER_SOCKET:
        return send(writer->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    case CLI_WRITER_PIPE:
        return try_splice(writer->fd, bytes, length);
    case CLI_WRITER_OTHER:
        break;
    }
    if (!has_room(writer->fd, 0)) {
        errno = EAGAIN;
        return -1;
    }
    return write(writer->fd, bytes, length);
}

/* Wait for room in the writer for at most `ms`. */
static void writer_wait(const struct cli_writer *writer, int ms)
{
    (void)has_room(writer->fd, ms);
}

#define LINE_SIZE  8192
#define EVENT_SIZE 4096

/* Write all of the text, or give up quietly: its reader is gone. */
static void write_all(int fd, const char *text)
{
    size_t left = strlen(text);

    while (left) {
        ssize_t n = write(fd, text, left);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return;
        }
        text += n;
        left -= (size_t)n;
    }
}

/* How long all the lines at the end may wait together. */
#define PATIENCE_MS 5000

/* This is set once, before the first thread and the first fork. */
static struct {
    bool is_set_up; /* cli_event_setup() has been called */
    const char *name;
    struct cli_writer text;
    struct cli_writer json;
    bool is_json;
    bool is_silent; /* no text on stderr */
    bool is_verbose;
    bool is_terminal;
} out = {.text = {STDERR_FILENO, CLI_WRITER_OTHER}};

/* Lines wait for their reader until this time; 0: they do not wait. */
static _Atomic(int64_t) end_ns;

/* A live line is on the terminal and must be erased before the next text. */
static atomic_bool is_drawn;

/* The last failure, for cli_failed(). */
static char *failed_line;
static char *failed_fields;

/* Remember a failure for cli_output_end(). Thread: main. */
static void failed_by(const char *line, const char *fields)
{
    cli_free(failed_line);
    cli_free(failed_fields);
    failed_line = cli_strdup(line);
    failed_fields = fields ? cli_strdup(fields) : NULL;
}

const char *cli_failed(const char **ret_fields)
{
    *ret_fields = failed_fields;
    return failed_line;
}

static void put_line(const char *line)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    if (out.is_set_up) {
        cli_event(CLI_SAYS, "message", NULL, "%s", line);
        return;
    }
    cli_text_add(&text, "holdfast: ");
    cli_text_clean(&text, line);
    cli_text_add(&text, "\n");
    write_all(STDERR_FILENO, text.data);
}

void cli_say(const char *format, ...)
{
    char line[LINE_SIZE];
    va_list list;

    va_start(list, format);
    if (vsnprintf(line, sizeof line, format, list) >= 0) {
        put_line(line);
    }
    va_end(list);
}

int cli_fail(int code, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list list;

    va_start(list, format);
    if (vsnprintf(line, sizeof line, format, list) >= 0) {
        failed_by(line, NULL);
        put_line(line);
    }
    va_end(list);
    return code;
}

int cli_event_setup(const struct cli_options *o)
{
    int mode;

    out.name = o->name;
    out.is_verbose = o->is_verbose;
    out.is_silent = o->is_json && o->json_fd < 0;
    out.is_json = o->is_json || o->json_fd >= 0;
    out.is_terminal = isatty(STDERR_FILENO);
    writer_open(&out.text, STDERR_FILENO);
    out.json = out.text;
    out.is_set_up = true;
    cli_event_be_patient(true);
    if (o->json_fd < 0) {
        return 0;
    }
    mode = fcntl((int)o->json_fd, F_GETFL);
    /* The last test also finds a stdout that was closed; see
     * fill_standard(). */
    if (!o->json_fd || mode < 0 || (mode & O_ACCMODE) == O_RDONLY) {
        out.is_json = false;
        return cli_fail(CLI_EXIT_USAGE,
                        "--json-fd: descriptor %d is not open for writing",
                        (int)o->json_fd);
    }
    if (o->json_fd > STDERR_FILENO) {
        (void)fcntl((int)o->json_fd, F_SETFD, FD_CLOEXEC);
    }
    writer_open(&out.json, (int)o->json_fd);
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

/* Write all of the line or nothing; only a line longer than a pipe takes at
 * once may be cut. */
static void put(const struct cli_writer *writer, const struct cli_text *text)
{
    size_t done = 0;

    while (done < text->length) {
        long n = writer_try(writer, text->data + done, text->length - done);
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
        writer_wait(writer, left_ms > 0 ? (int)left_ms : 0);
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

void cli_event(enum cli_tone tone, const char *event, const char *fields,
               const char *format, ...)
{
    char text[EVENT_SIZE];
    va_list list;

    va_start(list, format);
    if (vsnprintf(text, sizeof text, format, list) < 0) {
        text[0] = 0;
    }
    va_end(list);
    if (tone == CLI_FAILS) {
        failed_by(text, fields);
    }
    write_json(event, fields, text);
    if (!out.is_silent && (tone != CLI_QUIET || out.is_verbose)) {
        write_text(text);
    }
}

bool cli_event_is_live(void)
{
    return out.is_terminal && !out.is_silent;
}

/* How many bytes of the line fit into the terminal's width. */
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

/* An outage is said again only after this time: a store that comes and goes is
 * one outage. */
#define PAUSE_MS 60000

void cli_log_outage(const char *why)
{
    static _Atomic(int64_t) told_ns;
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    int64_t now_ns = cli_boot_ns();
    int64_t last_ns = atomic_load(&told_ns);

    if ((last_ns && now_ns - last_ns < PAUSE_MS * CLI_NS_PER_MS) ||
        !atomic_compare_exchange_strong(&told_ns, &last_ns, now_ns)) {
        return;
    }
    cli_text_add(&fields, ",\"error\":");
    cli_text_json(&fields, why);
    cli_event(CLI_SAYS, "outage", fields.data,
              "the store does not answer (%s); trying on until it does", why);
}

void cli_log(void *arg, hf_level level, const char *line)
{
    static const char *const words[] = {
        [HF_LOG_ERROR] = "error",
        [HF_LOG_WARN] = "warning",
        [HF_LOG_INFO] = "info",
        [HF_LOG_DEBUG] = "debug",
    };
    /* The command reports these events itself, in its own words. */
    static const char lost[] = "event=lost ";
    static const char takeover[] = "event=takeover ";
    static const char outage[] = "event=outage result=";
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    (void)arg;
    if (!strncmp(line, lost, sizeof lost - 1) ||
        !strncmp(line, takeover, sizeof takeover - 1)) {
        return;
    }
    if (!strncmp(line, outage, sizeof outage - 1)) {
        cli_log_outage(line + sizeof outage - 1);
        return;
    }
    cli_text_add(&fields, ",\"level\":\"%s\",\"line\":", words[level]);
    cli_text_json(&fields, line);
    cli_event(CLI_SAYS, "log", fields.data, "%s: %s", words[level], line);
}
