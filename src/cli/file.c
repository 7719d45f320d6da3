/* SPDX-License-Identifier: MIT */
/*
 * How a file is written so that it appears whole: first under another name,
 * which no other process can choose, since two containers may share a folder
 * and have the same pid. An existing plain file is replaced, because it may be
 * left over from a script that was killed; a device, a fifo or a link is not,
 * because a rename would take it away from others who use it. The token of a
 * detached grant is read here, too. Thread: main.
 */
#include "src/cli/file.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/output.h"
#include "src/cli/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the folder part of a path, as a new string. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash) {
        return cli_strdup(".");
    }
    return cli_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Name what the path is if it must not be replaced, else NULL. */
static const char *find_foreign(const char *path)
{
    struct stat st;

    if (path[strlen(path) - 1] == '/') {
        return "a folder";
    }
    if (lstat(path, &st) || S_ISREG(st.st_mode)) {
        return NULL;
    }
    return S_ISDIR(st.st_mode)    ? "a folder"
           : S_ISLNK(st.st_mode)  ? "a symbolic link"
           : S_ISFIFO(st.st_mode) ? "a fifo"
           : S_ISSOCK(st.st_mode) ? "a socket"
                                  : "a device";
}

int cli_atomic_file_check(const char *option, const char *path)
{
    char *folder CLI_AUTO(cli_free_auto) = folder_of(path);
    char *shown CLI_AUTO(cli_free_auto) = NULL;
    const char *foreign = find_foreign(path);
    int code = 0;

    if (foreign) {
        shown = cli_secret_hide_all(path);
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: %s is %s, and is not replaced; name a plain file, "
                        "or one that is not there yet",
                        option, shown, foreign);
    }
    code = access(folder, W_OK | X_OK) ? errno : 0;
    if (code) {
        shown = cli_secret_hide_all(folder);
        return cli_fail(CLI_EXIT_USAGE, "%s: cannot write to %s: %s", option,
                        shown, strerror(code));
    }
    return 0;
}

/* Rename the draft to `path`. Returns false and errno, EEXIST where the path is
 * something else than a plain file. */
static bool atomic_file_replace(const char *draft, const char *path)
{
    if (find_foreign(path)) {
        errno = EEXIST;
        return false;
    }
    return !rename(draft, path);
}

static bool write_new(const char *path, const struct cli_text *text,
                      mode_t mode)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    bool is_written;

    if (fd < 0) {
        return false;
    }
    is_written = write(fd, text->data, text->length) == (ssize_t)text->length;
    return !close(fd) && is_written;
}

void cli_atomic_file_write(const char *option, const char *path,
                           const struct cli_text *text, mode_t mode)
{
    char *draft CLI_AUTO(cli_free_auto) =
        cli_format("%s.%ld-%" PRIx64 ".tmp", path, (long)getpid(),
                   (uint64_t)cli_boot_ns());

    if (!write_new(draft, text, mode) || !atomic_file_replace(draft, path)) {
        cli_event(CLI_SAYS, "not-written", NULL, "%s: cannot write %s: %s",
                  option, path, strerror(errno));
        (void)unlink(draft);
    }
}

/* How long to wait for the writer of a pipe, who may have to type a
 * password. */
#define PATIENCE_MS 60000

static const char digits[] = "0123456789abcdef";

bool cli_token_is_one(const char *text)
{
    return strlen(text) == CLI_TOKEN_SIZE - 1 &&
           strspn(text, digits) == CLI_TOKEN_SIZE - 1;
}

static const char *verb_of(const struct cli_options *o)
{
    return cli_verb_table[o->verb].word;
}

static int malformed(const struct cli_options *o, const char *from)
{
    return cli_fail(CLI_EXIT_USAGE,
                    "%s: what is in %s is no token (32 lower-case hex digits, "
                    "as acquire gives)",
                    verb_of(o), from);
}

/* Like read(2), but wait until end_ns for a writer that has sent nothing yet. A
 * fifo without a writer reads as if at its end, but poll() waits for one. */
static ssize_t read_by(int64_t end_ns, int fd, char *buf, size_t size)
{
    struct pollfd in = {fd, POLLIN, 0};

    for (;;) {
        int64_t left_ms = (end_ns - cli_boot_ns()) / CLI_NS_PER_MS;

        if (poll(&in, 1, left_ms > 0 ? (int)left_ms : 0) > 0) {
            ssize_t n = read(fd, buf, size);

            if (n >= 0 || (errno != EINTR && errno != EAGAIN)) {
                return n;
            }
        }
        if (left_ms <= 0) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
}

static ssize_t read_whole(int fd, char *buf, size_t size)
{
    int64_t end_ns = cli_boot_ns() + PATIENCE_MS * CLI_NS_PER_MS;
    size_t length = 0;
    ssize_t n = 1;

    while (length < size && n > 0) {
        n = read_by(end_ns, fd, buf + length, size - length);
        length += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : (ssize_t)length;
}

/* Read up to size - 1 bytes of the file. Returns their number, or -1
 * and errno. */
static ssize_t load(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t length;
    int code;

    if (fd < 0) {
        return -1;
    }
    length = read_whole(fd, buf, size - 1);
    code = errno;
    (void)close(fd);
    errno = code;
    buf[length < 0 ? 0 : length] = 0;
    return length;
}

static int read_file(const struct cli_options *o, char token[CLI_TOKEN_SIZE])
{
    char text[CLI_TOKEN_SIZE + 3];
    ssize_t length = load(o->token_file, text, sizeof text);

    if (length < 0) {
        return cli_fail(CLI_EXIT_USAGE, "%s: --token-file: cannot read %s: %s",
                        verb_of(o), o->token_file, strerror(errno));
    }
    text[strcspn(text, "\r\n")] = 0;
    if (length > CLI_TOKEN_SIZE + 1 || !cli_token_is_one(text)) {
        return malformed(o, o->token_file);
    }
    memcpy(token, text, CLI_TOKEN_SIZE);
    return 0;
}

int cli_token_read(const struct cli_options *o, char ret_token[CLI_TOKEN_SIZE])
{
    const char *variable = getenv("HOLDFAST_TOKEN");

    if (o->token_file) {
        return read_file(o, ret_token);
    }
    if (!variable || !*variable) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: no token is given; use --token-file PATH, or the "
                        "environment: HOLDFAST_TOKEN=$TOKEN holdfast %s …",
                        verb_of(o), verb_of(o));
    }
    if (!cli_token_is_one(variable)) {
        return malformed(o, "HOLDFAST_TOKEN");
    }
    memcpy(ret_token, variable, CLI_TOKEN_SIZE);
    return 0;
}

int cli_token_check(const struct cli_options *o)
{
    char *option CLI_AUTO(cli_free_auto) = NULL;

    if (!o->token_file) {
        return 0;
    }
    option = cli_format("%s: --token-file", verb_of(o));
    return cli_atomic_file_check(option, o->token_file);
}

static bool put(int fd, const char *token)
{
    char line[CLI_TOKEN_SIZE + 1];
    int length = snprintf(line, sizeof line, "%s\n", token);

    return write(fd, line, (size_t)length) == length;
}

int cli_token_write(const struct cli_options *o, const char *token,
                    bool may_replace)
{
    char *draft CLI_AUTO(cli_free_auto) =
        cli_format("%s.XXXXXX", o->token_file);
    int fd = mkostemp(draft, O_CLOEXEC);
    bool is_written;
    int code;

    if (fd < 0) {
        return -1;
    }
    is_written = put(fd, token);
    is_written = !close(fd) && is_written;
    is_written =
        is_written && (may_replace ? atomic_file_replace(draft, o->token_file)
                                   : !link(draft, o->token_file));
    code = errno;
    /* A link or a failure leaves the draft; after a rename it is gone. */
    (void)unlink(draft);
    errno = code;
    return is_written ? 0 : -1;
}

bool cli_token_remove(const struct cli_options *o)
{
    struct stat st;

    return o->token_file && !lstat(o->token_file, &st) && S_ISREG(st.st_mode) &&
           !unlink(o->token_file);
}
