/* SPDX-License-Identifier: MIT */
/*
 * Decides which bytes of a URL are secret: those between ':' and '@' of an
 * authority, and the value of an option such as `password`, also where they
 * were mistyped, and everything that the library hides. In a text that was
 * meant as a URL the value of an unknown option is secret, too. Several URLs
 * may be in one string, separated by spaces. Thread: main.
 */
#include "src/cli/secret.h"
#include "src/cli/text.h"

#include <string.h>
#include <strings.h>

struct range {
    size_t from;
    size_t to;
};

/* Position of the last `sign` in the text, or `to`. */
static size_t last(const char *text, size_t from, size_t to, char sign)
{
    size_t at = to;

    while (at > from && text[at - 1] != sign) {
        at--;
    }
    return at > from ? at - 1 : to;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of_scheme(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.';
}

/* The end of the URL that `from` is in: several URLs may be in one string with
 * a space between them, but a password may have a space, too. */
static size_t end_of_url(const char *url, size_t from)
{
    const char *first = url + from;

    for (const char *next = strstr(first, "://"); next;
         next = strstr(next + 3, "://")) {
        const char *scheme = next;

        while (scheme > first && is_of_scheme(scheme[-1])) {
            scheme--;
        }
        if (scheme > first && scheme < next && scheme[-1] == ' ') {
            return (size_t)(scheme - 1 - url);
        }
    }
    return from + strlen(first);
}

/* Find a ':' that no port follows; `end` if there is none. */
static size_t find_odd_colon(const char *url, size_t at, size_t end)
{
    while (at < end) {
        at += url[at] == '[' ? strcspn(url + at, "]") : 0;
        at += strcspn(url + at, ":,/?# ");
        if (at < end && url[at] == ':') {
            size_t digits = strspn(url + at + 1, "0123456789");

            if (!strchr(",/? ", url[at + 1 + digits])) {
                return at;
            }
        }
        at++;
    }
    return end;
}

/* The start of the scheme that ends at `colon`. */
static size_t start_of_scheme(const char *text, size_t colon)
{
    size_t at = colon;

    while (at > 0 && is_of_scheme(text[at - 1])) {
        at--;
    }
    return at + strspn(text + at, "-");
}

static bool is_local(const char *word)
{
    static const char *const schemes[] = {"sqlite:", "file:", "memory:"};

    word += strncasecmp(word, "fault+", 6) ? 0 : 6;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (!strncasecmp(word, schemes[i], strlen(schemes[i]))) {
            return true;
        }
    }
    return false;
}

/* The end of the path. A '?' inside a password does not begin options: an '@'
 * follows it before any '='. */
static size_t end_of_path(const char *url, size_t at, size_t all)
{
    size_t mark = at + strcspn(url + at, "?");

    if (mark >= all) {
        return all;
    }
    return url[mark + 1 + strcspn(url + mark + 1, "=&@")] == '@' ? all : mark;
}

/* In hosts without a user, or after the '@': find what is in the place of a
 * port but is none, and all that follows, because its '/' may be part of a
 * password. */
static struct range odd_port(const char *url, size_t at)
{
    size_t all = end_of_url(url, at);
    size_t end = at + strcspn(url + at, "/?");
    size_t colon;

    end = end < all ? end : all;
    colon = find_odd_colon(url, at, end);
    return colon < end ? (struct range){colon + 1, all} : (struct range){0, 0};
}

/* Without '@': find a user and a password in the place of hosts, or of
 * a path. */
static struct range without_host(const char *url, size_t at, size_t path)
{
    size_t all = end_of_url(url, at);
    size_t colon = at + strcspn(url + at, ":");
    bool is_empty = url[at] == '/';
    struct range found = odd_port(url, at);

    if (is_empty && colon + 1 < path) {
        return (struct range){colon + 1, all};
    }
    if (found.to && last(url, found.from, all, '@') < all) {
        found.to = last(url, found.from, all, '@');
    }
    return found;
}

/*
 * The first secret of the authority that begins at `at`, or an empty range. A
 * password ends at the last '@', even one in the path: a '/' or '?' that was
 * not written as %XX ends the authority too early, and after "///" there is
 * none. A valid URL has no '@' in a path after hosts.
 */
static struct range authority(const char *url, size_t at)
{
    size_t path = end_of_path(url, at, end_of_url(url, at));
    size_t sign = last(url, at, path, '@');
    size_t colon = at + strcspn(url + at, ":@");

    if (url[at] == '/' && is_local(url + start_of_scheme(url, at - 3))) {
        return (struct range){0, 0};
    }
    if (sign == path) {
        return without_host(url, at, path);
    }
    return colon + 1 < sign ? (struct range){colon + 1, sign}
                            : odd_port(url, sign + 1);
}

/* Misspellings of people who do not know the option's name count, too. */
static bool is_secret_option(const char *name, size_t length)
{
    static const char *const files[] = {"password_file",
                                        "sentinel_password_file"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (length == strlen(files[i]) && !memcmp(name, files[i], length)) {
            return false;
        }
    }
    return (length >= 3 && !strncasecmp(name, "pas", 3)) ||
           (length == 3 && !strncasecmp(name, "pwd", 3)) ||
           (length >= 6 && !strncasecmp(name, "secret", 6)) ||
           memmem(name, length, "pass", 4);
}

/* Options of the stores whose values are not secret. */
static bool is_known_option(const char *name, size_t length)
{
    static const char *const known[] = {"allow",
                                        "ca",
                                        "cert",
                                        "connect_timeout",
                                        "connections",
                                        "fault",
                                        "gc",
                                        "gc_idle",
                                        "io_timeout",
                                        "key",
                                        "locks_per_connection",
                                        "longest_lease",
                                        "max_connections",
                                        "password_file",
                                        "prefix",
                                        "recipe",
                                        "schema",
                                        "scheme",
                                        "seed",
                                        "sentinel_password_file",
                                        "sentinel_user",
                                        "session_timeout",
                                        "socket",
                                        "tls",
                                        "wait_connections",
                                        "wait_replicas"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i]) == length && !memcmp(known[i], name, length)) {
            return true;
        }
    }
    return false;
}

/* `is_url`: the text was meant as a URL, rather than one that may contain a
 * URL. */
static struct range option(const char *url, size_t at, bool is_url)
{
    size_t all = end_of_url(url, at);
    size_t equals = at + strcspn(url + at, "=&? ");
    size_t end = equals + strcspn(url + equals, "&");
    bool has_value = url[equals] == '=';
    bool is_secret = has_value && is_secret_option(url + at, equals - at);

    if (is_url) {
        is_secret = !has_value || !is_known_option(url + at, equals - at);
    }
    return is_secret ? (struct range){has_value ? equals + 1 : at,
                                      end < all ? end : all}
                     : (struct range){0, 0};
}

/* The first secret at or after `from`, or an empty range. After a secret that
 * ended at its '@' hosts follow. */
static struct range find(const char *url, size_t from, bool is_url)
{
    struct range found = {0, 0};

    if (from && url[from] == '@') {
        found = odd_port(url, from + 1);
    }
    for (size_t i = from; found.to <= found.from && url[i]; i++) {
        if (i >= 3 && !memcmp(url + i - 3, "://", 3)) {
            found = authority(url, i);
        } else if (i && (url[i - 1] == '?' || url[i - 1] == '&')) {
            found = option(url, i, is_url);
        }
    }
    return found;
}

bool cli_secret_is_in(const char *url)
{
    return find(url, 0, false).to > 0;
}

/* Replace each secret by "***"; `r` is the first. */
static char *hide(const char *url, struct range r, bool is_url)
{
    struct cli_text shown = {0};
    size_t at = 0;

    cli_text_bytes(&shown, "", 0);
    for (; r.to > r.from; r = find(url, r.to, is_url)) {
        cli_text_bytes(&shown, url + at, r.from - at);
        cli_text_add(&shown, "***");
        at = r.to;
    }
    cli_text_add(&shown, "%s", url + at);
    return shown.data;
}

char *cli_secret_hide(const char *text)
{
    return hide(text, find(text, 0, false), false);
}

/* The secret of a word that may be a URL without "://", or without a scheme. */
static struct range without_slashes(const char *word)
{
    size_t length = strlen(word);
    size_t colon = strcspn(word, ":");
    size_t scheme = start_of_scheme(word, colon);
    size_t sign = last(word, colon, length, '@');
    size_t hosts;
    bool is_path;

    if (strstr(word, "://") || is_local(word + scheme)) {
        return (struct range){0, 0};
    }
    if (sign < length) {
        return sign > colon + 1 ? (struct range){colon + 1, sign}
                                : (struct range){0, 0};
    }
    hosts = colon + strspn(word + colon, ":/");
    is_path = scheme && word[scheme - 1] == '/';
    return is_letter(word[scheme]) && !is_path && odd_port(word, hosts).to
               ? (struct range){colon + 1, length}
               : (struct range){0, 0};
}

char *cli_secret_hide_all(const char *word)
{
    struct range first = without_slashes(word);

    return hide(word, first.to ? first : find(word, 0, true), true);
}

char *cli_secret_hide_quoted(const char *text)
{
    char *line CLI_AUTO(cli_free_auto) = cli_secret_hide(text);
    struct cli_text shown = {0};
    char *at = line;

    cli_text_bytes(&shown, "", 0);
    for (bool is_word = false; at; is_word = !is_word) {
        char *end = strchr(at, '"');
        char *part CLI_AUTO(cli_free_auto) = NULL;

        if (end) {
            *end++ = 0;
        }
        part = is_word ? cli_secret_hide_all(at) : cli_strdup(at);
        cli_text_add(&shown, end ? "%s\"" : "%s", part);
        at = end;
    }
    return shown.data;
}

void cli_secret_wipe(char *url)
{
    for (struct range r = find(url, 0, false); r.to > r.from;
         r = find(url, r.to, false)) {
        memset(url + r.from, '*', r.to - r.from);
    }
}
