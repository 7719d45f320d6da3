/* SPDX-License-Identifier: MIT */
/*
 * Decides the syntax: lines of `key = value`, blank lines, and comments from
 * a # that begins a line or follows a space. Keys are url and reach, each
 * once; anything else is refused, because a misspelt key would silently
 * choose another store. So is a password in a file that all users can read,
 * as the library refuses such a password_file. Thread: main.
 */
#include "src/cli/config.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/say.h"
#include "src/cli/secret.h"
#include "src/cli/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than this is no configuration of ours. */
#define CONFIG_MAX 65536

static const char blanks[] = " \t\r";

enum { KEY_URL = 1, KEY_REACH = 2 };

struct reader {
    struct cli_config *config;
    const char *path;
    int line;
    unsigned mode; /* of the file */
    unsigned seen; /* KEY_URL and KEY_REACH: those that stood above */
};

static int bad_key(const struct reader *in, const char *written)
{
    char *key CLI_AUTO(cli_free_auto) = cli_secret_hide_all(written);
    struct cli_suggest near;

    cli_suggest_init(&near, key);
    cli_suggest_try(&near, "url");
    cli_suggest_try(&near, "reach");
    if (near.nearest) {
        return cli_fail(CLI_EXIT_CONFIG,
                        "%s:%d: unknown key '%s'; did you mean %s?", in->path,
                        in->line, key, near.nearest);
    }
    return cli_fail(CLI_EXIT_CONFIG,
                    "%s:%d: unknown key '%s'; the keys are url and reach",
                    in->path, in->line, key);
}

static int take(struct reader *in, const char *key, const char *value)
{
    bool is_url = !strcmp(key, "url");
    unsigned bit = is_url ? KEY_URL : KEY_REACH;
    char **slot = is_url ? &in->config->url : &in->config->reach;

    if (!is_url && strcmp(key, "reach")) {
        return bad_key(in, key);
    }
    if (in->seen & bit) {
        return cli_fail(CLI_EXIT_CONFIG, "%s:%d: %s is set twice", in->path,
                        in->line, key);
    }
    in->seen |= bit;
    if (!*value) {
        return cli_fail(CLI_EXIT_CONFIG, "%s:%d: %s has no value", in->path,
                        in->line, key);
    }
    if (is_url && (in->mode & S_IRWXO) && cli_secret_is_in(value)) {
        return cli_fail(CLI_EXIT_CONFIG,
                        "%s:%d: the url has a password, and the file is open "
                        "to all users (%04o): chmod 600 it, or take the "
                        "password out and name a file for it with "
                        "?password_file=PATH",
                        in->path, in->line, in->mode);
    }
    if (!is_url && strcmp(value, "user") && strcmp(value, "host") &&
        strcmp(value, "hosts")) {
        return cli_fail(CLI_EXIT_CONFIG,
                        "%s:%d: reach '%s' is none of user, host, hosts",
                        in->path, in->line, value);
    }
    if (!*slot) {
        *slot = cli_strdup(value);
        if (is_url) {
            in->config->url_from = cli_strdup(in->path);
        }
    }
    return 0;
}

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, blanks);
    length = strlen(text);
    while (length && strchr(blanks, text[length - 1])) {
        text[--length] = 0;
    }
    return text;
}

static void cut_comment(char *line)
{
    for (char *c = line; *c; c++) {
        if (*c == '#' && (c == line || strchr(blanks, c[-1]))) {
            *c = 0;
            return;
        }
    }
}

static int read_line(struct reader *in, char *line)
{
    char *equals;

    in->line++;
    cut_comment(line);
    line = trim(line);
    if (!*line) {
        return 0;
    }
    equals = strchr(line, '=');
    if (!equals) {
        char *shown CLI_AUTO(cli_free_auto) = cli_secret_hide_all(line);

        return cli_fail(CLI_EXIT_CONFIG,
                        "%s:%d: '%s' is not of the form key = value", in->path,
                        in->line, shown);
    }
    *equals = 0;
    return take(in, trim(line), trim(equals + 1));
}

static int read_lines(struct reader *in, char *text)
{
    int r = 0;

    while (!r && text) {
        char *end = strchr(text, '\n');

        if (end) {
            *end++ = 0;
        }
        r = read_line(in, text);
        text = end;
    }
    return r;
}

/* The file's text; NULL and errno 0: there is no such file. */
static char *load(const char *path, size_t *ret_length, unsigned *ret_mode)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    char *text;
    ssize_t n;

    if (fd < 0) {
        errno = errno == ENOENT || errno == ENOTDIR ? 0 : errno;
        return NULL;
    }
    *ret_mode = fstat(fd, &st) ? 0777 : st.st_mode & 07777;
    text = cli_alloc(CONFIG_MAX + 1);
    *ret_length = 0;
    do {
        n = read(fd, text + *ret_length, CONFIG_MAX - *ret_length);
        *ret_length += n > 0 ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        int code = errno;

        cli_free(text);
        text = NULL;
        errno = code;
    }
    (void)close(fd);
    return text;
}

int cli_config_read(struct cli_config *config, const char *path)
{
    struct reader in = {.config = config, .path = path};
    size_t length = 0;
    char *text CLI_AUTO(cli_free_auto) = load(path, &length, &in.mode);

    if (!text && !errno) {
        return 0;
    }
    if (!text) {
        return cli_fail(CLI_EXIT_CONFIG, "cannot read %s: %s", path,
                        strerror(errno));
    }
    if (length >= CONFIG_MAX || memchr(text, 0, length)) {
        return cli_fail(CLI_EXIT_CONFIG, "%s is no configuration of holdfast",
                        path);
    }
    return read_lines(&in, text);
}

void cli_config_fini(struct cli_config *config)
{
    cli_free(config->url);
    cli_free(config->url_from);
    cli_free(config->reach);
    *config = (struct cli_config){0};
}
