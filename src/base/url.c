/* SPDX-License-Identifier: MIT */
/*
 * Parses a URL: this file has the grammar and the limits. url_options.c reads
 * the options, and the store decides what a part means. All strings are decoded
 * into one block. Errors quote nothing of the URL: if a password was not
 * encoded, or no @ follows it, its pieces look like ports, paths or options.
 * Thread: any.
 */
#include "src/base/url.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 4096, MAX_HOSTS = 16, MAX_OPTIONS = 64 };
/* Strings that are not hosts or options: scheme, user, password, path. */
enum { FIXED_STRINGS = 4 };

/* A piece of the URL's text. */
struct span {
    const char *at;
    size_t length;
};

struct parser {
    struct hf__url *url;
    char *free; /* where the next string goes in url->memory */
    struct span user;
    struct span password;
    bool has_password;
    hf_error *err;
};

static struct span span_of(const char *from, const char *to)
{
    return (struct span){from, (size_t)(to - from)};
}

/* Gives s up to its first `c`, or all of it; *rest is what follows that `c`.
 * rest may point to the variable that was passed as s. */
static struct span split(struct span s, char c, struct span *rest)
{
    const char *end = s.at + s.length;
    const char *hit = s.length > 0 ? memchr(s.at, c, s.length) : NULL;

    *rest = hit != NULL ? span_of(hit + 1, end) : span_of(end, end);
    return hit != NULL ? span_of(s.at, hit) : s;
}

static size_t count(struct span s, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < s.length; i++) {
        n += s.at[i] == c;
    }
    return n;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decode s into the block. `part` names it in an error. */
static int decode(struct parser *p, struct span s, const char *part,
                  const char **ret_text)
{
    char *to = p->free;

    for (size_t i = 0; i < s.length; i++) {
        char c = s.at[i];
        if (c == '%') {
            int high = i + 1 < s.length ? hex_value(s.at[i + 1]) : -1;
            int low = i + 2 < s.length ? hex_value(s.at[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return hf__fail(p->err, HF_EINVAL,
                                "url: a %% in %s is not followed by two "
                                "hex digits; write a bare %% as %%25",
                                part);
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0') {
            return hf__fail(p->err, HF_EINVAL, "url: %%00 in %s", part);
        }
        *to++ = c;
    }
    *to = '\0';
    *ret_text = p->free;
    p->free = to + 1;
    return HF_OK;
}

static bool is_scheme(struct span s)
{
    for (size_t i = 0; i < s.length; i++) {
        char c = s.at[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_other = (c >= '0' && c <= '9') || strchr("+-.", c) != NULL;
        if (!is_letter && !(i > 0 && is_other)) {
            return false;
        }
    }
    return s.length > 0;
}

static void take_scheme(struct parser *p, struct span s)
{
    p->url->scheme = p->free;
    for (size_t i = 0; i < s.length; i++) {
        char c = s.at[i];
        *p->free++ = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    *p->free++ = '\0';
}

/* The port is not quoted: in a URL without its @ it is the password. */
static int fail_port(struct parser *p)
{
    return hf__fail(p->err, HF_EINVAL,
                    "url: the port of host %zu is not 1–65535; if it is a "
                    "password, an @ and the host follow it",
                    p->url->n_hosts);
}

static int take_port(struct parser *p, struct span s, struct hf__url_host *host)
{
    int port = 0;

    if (s.length > 5) {
        return fail_port(p);
    }
    for (size_t i = 0; i < s.length; i++) {
        if (s.at[i] < '0' || s.at[i] > '9') {
            return fail_port(p);
        }
        port = port * 10 + (s.at[i] - '0');
    }
    if (port < 1 || port > 65535) {
        return fail_port(p);
    }
    host->port = port;
    return HF_OK;
}

/* "[::1]:6379": the name without brackets, the rest from the colon. */
static int split_brackets(struct parser *p, struct span s,
                          struct span *ret_name, struct span *ret_port)
{
    struct span after;

    *ret_name = split(span_of(s.at + 1, s.at + s.length), ']', &after);
    if (count(s, ']') != 1 || (after.length > 0 && *after.at != ':')) {
        return hf__fail(p->err, HF_EINVAL,
                        "url: the brackets of host %zu are not as in [::1] or "
                        "[::1]:6379",
                        p->url->n_hosts);
    }
    *ret_port = after;
    return HF_OK;
}

static int take_host(struct parser *p, struct span s)
{
    struct hf__url_host *host = &p->url->hosts[p->url->n_hosts++];
    size_t number = p->url->n_hosts;
    struct span rest;
    struct span name = split(s, ':', &rest);
    struct span port = span_of(name.at + name.length, s.at + s.length);
    int r = HF_OK;

    if (s.length > 0 && *s.at == '[') {
        r = split_brackets(p, s, &name, &port);
    } else if (count(port, ':') > 1) {
        r = hf__fail(p->err, HF_EINVAL,
                     "url: host %zu has more than one colon; write an IPv6 "
                     "address as [::1]",
                     number);
    }
    if (r == HF_OK && name.length == 0) {
        r = hf__fail(p->err, HF_EINVAL, "url: host %zu is empty", number);
    }
    if (r == HF_OK) {
        r = decode(p, name, "the host", &host->name);
    }
    if (r == HF_OK && port.length > 0) {
        r = take_port(p, span_of(port.at + 1, port.at + port.length), host);
    }
    return r;
}

static int take_hosts(struct parser *p, struct span s)
{
    size_t n = count(s, ',') + 1;

    if (s.length == 0) {
        return p->user.at == NULL
                   ? HF_OK
                   : hf__fail(p->err, HF_EINVAL, "url: a user but no host");
    }
    if (n > MAX_HOSTS) {
        return hf__fail(p->err, HF_EINVAL, "url: %zu hosts; at most %d", n,
                        MAX_HOSTS);
    }
    p->url->hosts = hf__alloc(n * sizeof *p->url->hosts);
    if (p->url->hosts == NULL) {
        return hf__fail(p->err, HF_ENOMEM, "out of memory");
    }
    for (int r = HF_OK; n > 0; n--) {
        r = take_host(p, split(s, ',', &s));
        if (r != HF_OK) {
            return r;
        }
    }
    return HF_OK;
}

static int take_user(struct parser *p, struct span s)
{
    int r = HF_OK;

    p->has_password = count(s, ':') > 0;
    p->user = split(s, ':', &p->password);
    if (p->user.length > 0) {
        r = decode(p, p->user, "the user", &p->url->user);
    }
    if (r == HF_OK && p->has_password) {
        r = decode(p, p->password, "the password", &p->url->password);
    }
    return r;
}

/* Parses what follows "scheme://" up to the path. */
static int take_authority(struct parser *p, struct span s, struct span rest)
{
    const char *at = s.length > 0 ? memrchr(s.at, '@', s.length) : NULL;
    int r = HF_OK;

    /* A bare / or ? in a password ends the authority too early, and the
     * password's pieces would be taken for hosts and ports. */
    if (s.length > 0 && count(rest, '@') > 0) {
        return hf__fail(p->err, HF_EINVAL,
                        "url: '@' after the hosts; write it as %%40, and / ? "
                        "in a password as %%2F %%3F");
    }
    if (at != NULL) {
        r = take_user(p, span_of(s.at, at));
        s = span_of(at + 1, s.at + s.length);
    }
    return r == HF_OK ? take_hosts(p, s) : r;
}

static bool is_option_name(struct span s)
{
    for (size_t i = 0; i < s.length; i++) {
        char c = s.at[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !(c >= '0' && c <= '9') && strchr("_-.%", c) == NULL) {
            return false;
        }
    }
    return s.length > 0;
}

static int take_option(struct parser *p, struct span s)
{
    struct hf__url_option *option = &p->url->options[p->url->n_options++];
    struct span value;
    struct span name = split(s, '=', &value);
    char part[32];

    if (!is_option_name(name)) {
        return hf__fail(p->err, HF_EINVAL,
                        "url: option %zu has no name of letters, digits, "
                        "'_', '-', '.'; options are as in ?x=1&y=2",
                        p->url->n_options);
    }
    if (name.length == s.length) {
        return hf__fail(p->err, HF_EINVAL,
                        "url: option %zu has no value; options are as in "
                        "?x=1&y=2",
                        p->url->n_options);
    }
    (void)snprintf(part, sizeof part, "option %zu", p->url->n_options);
    int r = decode(p, name, part, &option->name);
    return r == HF_OK ? decode(p, value, part, &option->value) : r;
}

static int take_options(struct parser *p, struct span s)
{
    size_t n = count(s, '&') + 1;

    if (s.length == 0) {
        return HF_OK;
    }
    if (n > MAX_OPTIONS) {
        return hf__fail(p->err, HF_EINVAL, "url: %zu options; at most %d", n,
                        MAX_OPTIONS);
    }
    p->url->options = hf__alloc(n * sizeof *p->url->options);
    if (p->url->options == NULL) {
        return hf__fail(p->err, HF_ENOMEM, "out of memory");
    }
    for (int r = HF_OK; n > 0; n--) {
        r = take_option(p, split(s, '&', &s));
        if (r != HF_OK) {
            return r;
        }
    }
    return HF_OK;
}

static int parse(struct parser *p, struct span text)
{
    struct span rest;
    struct span options;
    struct span scheme = split(text, ':', &rest);
    int r = HF_OK;

    if (scheme.length == text.length || !is_scheme(scheme)) {
        return hf__fail(p->err, HF_EINVAL,
                        "url: no scheme; a URL is as in sqlite:/path or "
                        "redis://host:6379/0");
    }
    take_scheme(p, scheme);
    if (rest.length >= 2 && memcmp(rest.at, "//", 2) == 0) {
        const char *end = rest.at + rest.length;
        struct span hosts = span_of(rest.at + 2, end);
        size_t n = 0;

        while (n < hosts.length && strchr("/?", hosts.at[n]) == NULL) {
            n++;
        }
        rest = span_of(hosts.at + n, end);
        r = take_authority(p, span_of(hosts.at, hosts.at + n), rest);
    }
    struct span path = split(rest, '?', &options);
    if (r == HF_OK) {
        r = decode(p, path, "the path", &p->url->path);
    }
    return r == HF_OK ? take_options(p, options) : r;
}

static bool is_word(struct span s, const char *word)
{
    return s.length == strlen(word) && memcmp(s.at, word, s.length) == 0;
}

/* Somebody may try an option such as password=…, though no store takes it: it
 * must not get into the redacted URL. */
static bool is_secret_option(struct span s)
{
    struct span value;
    struct span name = split(s, '=', &value);

    return memmem(name.at, name.length, "pass", 4) != NULL &&
           !is_word(name, "password_file") &&
           !is_word(name, "sentinel_password_file");
}

/* Writes the URL without its password to url->redacted; it is never longer than
 * the text. */
static void redact(struct parser *p, struct span text)
{
    const char *end = text.at + text.length;
    char *to = p->url->redacted;
    struct span options;
    struct span head = split(text, '?', &options);

    if (p->has_password) {
        const char *from = p->password.at - 1; /* its colon */
        const char *after = p->password.at + p->password.length;

        after += p->user.length == 0; /* then the '@' goes too */
        memcpy(to, text.at, (size_t)(from - text.at));
        to += from - text.at;
        head = split(span_of(after, end), '?', &options);
    }
    memcpy(to, head.at, head.length);
    to += head.length;
    for (char mark = '?'; options.length > 0;) {
        struct span option = split(options, '&', &options);

        if (!is_secret_option(option)) {
            *to++ = mark;
            mark = '&';
            memcpy(to, option.at, option.length);
            to += option.length;
        }
    }
    *to = '\0';
}

int hf__url_check(const char *text, hf_error *err)
{
    size_t length = text != NULL ? strnlen(text, MAX_BYTES + 1) : 0;

    if (length == 0 || length > MAX_BYTES) {
        return hf__fail(err, HF_EINVAL, "url: %s",
                        length == 0 ? "it is empty" : "more than 4096 bytes");
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte == 0x7f) {
            return hf__fail(err, HF_EINVAL,
                            "url: byte %zu is a control character; write it "
                            "as %%%02X",
                            i + 1, byte);
        }
    }
    if (!hf__utf8_is_valid(text, length)) {
        return hf__fail(err, HF_EINVAL, "url: it is not valid UTF-8");
    }
    return HF_OK;
}

int hf__url_parse(const char *text, struct hf__url **ret_url, hf_error *err)
{
    int r = hf__url_check(text, err);

    if (r != HF_OK) {
        return r;
    }
    /* Decoding never lengthens; each string has one NUL besides. */
    size_t length = strlen(text);
    size_t size = length + FIXED_STRINGS + MAX_HOSTS + (size_t)2 * MAX_OPTIONS;
    HF_AUTO(hf__url_free_auto) struct hf__url *url = hf__alloc(sizeof *url);
    if (url != NULL) {
        url->memory = hf__alloc(size);
        url->memory_size = size;
        url->redacted = hf__alloc(length + 1);
    }
    if (url == NULL || url->memory == NULL || url->redacted == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    struct parser p = {.url = url, .free = url->memory, .err = err};
    r = parse(&p, (struct span){text, length});
    if (r == HF_OK) {
        redact(&p, (struct span){text, length});
        *ret_url = HF_MOVE(url);
    }
    return r;
}

/* The bytes of all strings of the URL, each with its NUL. */
static size_t sum_strings(const struct hf__url *url)
{
    size_t sum = strlen(url->scheme) + strlen(url->path) + 2;

    sum += url->user != NULL ? strlen(url->user) + 1 : 0;
    sum += url->password != NULL ? strlen(url->password) + 1 : 0;
    for (size_t i = 0; i < url->n_hosts; i++) {
        sum += strlen(url->hosts[i].name) + 1;
    }
    for (size_t i = 0; i < url->n_options; i++) {
        sum += strlen(url->options[i].name) + 1;
        sum += strlen(url->options[i].value) + 1;
    }
    return sum;
}

static const char *put_string(char **to, const char *text)
{
    char *at = *to;

    if (text == NULL) {
        return NULL;
    }
    memcpy(at, text, strlen(text) + 1);
    *to += strlen(text) + 1;
    return at;
}

static void put_strings(const struct hf__url *from, struct hf__url *to)
{
    char *at = to->memory;

    to->scheme = put_string(&at, from->scheme);
    to->user = put_string(&at, from->user);
    to->password = put_string(&at, from->password);
    to->path = put_string(&at, from->path);
    for (size_t i = 0; i < from->n_hosts; i++) {
        to->hosts[i].name = put_string(&at, from->hosts[i].name);
        to->hosts[i].port = from->hosts[i].port;
    }
    for (size_t i = 0; i < from->n_options; i++) {
        to->options[i].name = put_string(&at, from->options[i].name);
        to->options[i].value = put_string(&at, from->options[i].value);
    }
}

int hf__url_copy(const struct hf__url *url, struct hf__url **ret_url)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *copy = hf__alloc(sizeof *copy);

    if (copy == NULL) {
        return HF_ENOMEM;
    }
    copy->n_hosts = url->n_hosts;
    copy->n_options = url->n_options;
    copy->memory_size = sum_strings(url);
    copy->hosts = hf__alloc((url->n_hosts + 1) * sizeof *copy->hosts);
    copy->options = hf__alloc((url->n_options + 1) * sizeof *copy->options);
    copy->redacted = hf__strdup(url->redacted);
    copy->memory = hf__alloc(copy->memory_size);
    if (copy->hosts == NULL || copy->options == NULL ||
        copy->redacted == NULL || copy->memory == NULL) {
        return HF_ENOMEM;
    }
    put_strings(url, copy);
    *ret_url = HF_MOVE(copy);
    return HF_OK;
}

void hf__url_free(struct hf__url *url)
{
    if (url == NULL) {
        return;
    }
    hf__free(url->hosts);
    hf__free(url->options);
    hf__free(url->redacted);
    if (url->memory != NULL) {
        explicit_bzero(url->memory, url->memory_size); /* it has the password */
        hf__free(url->memory);
    }
    hf__free(url);
}
