/* SPDX-License-Identifier: MIT */
/*
 * Several URLs in one string, separated by spaces, are the members of a quorum:
 * they mean the same as one URL that names all hosts. This file splits the
 * string, checks that the URLs agree in all but the host, and joins them; url.c
 * parses the result. Errors quote nothing that may be a password. Thread: any.
 */
#include "src/base/url_list.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>
#include <strings.h>

enum { URLS_MAX = 16 };

#define MARK "://"

struct span {
    const char *at;
    size_t length;
};

/* The parts of scheme://user@host/path?options, each with its separator. */
struct one {
    struct span scheme;
    struct span user;
    struct span host;
    struct span path;
    struct span options;
};

static bool is_of_scheme(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

/* The length of the "scheme://" at the start of text; 0: there is none. */
static size_t scheme_length(const char *text)
{
    size_t n = 0;

    while (is_of_scheme(text[n])) {
        n++;
    }
    return n > 0 && strncmp(text + n, MARK, strlen(MARK)) == 0
               ? n + strlen(MARK)
               : 0;
}

/* Where the next URL begins, or NULL. */
static const char *next_url(const char *text)
{
    const char *space = strchr(text, ' ');

    while (space != NULL && scheme_length(space + strspn(space, " ")) == 0) {
        space = strchr(space + strspn(space, " "), ' ');
    }
    return space == NULL ? NULL : space + strspn(space, " ");
}

/* Gives *rest up to the first of the signs; that sign stays in *rest. */
static struct span cut(struct span *rest, const char *signs)
{
    struct span head = {rest->at, 0};

    while (head.length < rest->length &&
           strchr(signs, rest->at[head.length]) == NULL) {
        head.length++;
    }
    rest->at += head.length;
    rest->length -= head.length;
    return head;
}

static void take_apart(struct span text, struct one *ret_one)
{
    size_t n = scheme_length(text.at);
    struct span rest = {text.at + n, text.length - n};
    struct span authority = cut(&rest, "/?");
    const char *at = authority.length > 0
                         ? memrchr(authority.at, '@', authority.length)
                         : NULL;
    size_t user = at == NULL ? 0 : (size_t)(at - authority.at) + 1;

    ret_one->scheme = (struct span){text.at, n};
    ret_one->user = (struct span){authority.at, user};
    ret_one->host = (struct span){authority.at + user, authority.length - user};
    ret_one->path = cut(&rest, "?");
    ret_one->options = rest;
}

/* Splits text into URLs. HF_OK, and how many; HF_EINVAL: too many. */
static int split(const char *text, struct one list[URLS_MAX], int *ret_n,
                 hf_error *err)
{
    *ret_n = 0;
    while (text != NULL) {
        const char *next = next_url(text);
        size_t length = next == NULL ? strlen(text) : (size_t)(next - text);

        while (length > 0 && text[length - 1] == ' ') {
            length--;
        }
        if (*ret_n == URLS_MAX) {
            return hf__fail(err, HF_EINVAL,
                            "url: more than %d URLs in one string", URLS_MAX);
        }
        take_apart((struct span){text, length}, &list[(*ret_n)++]);
        text = next;
    }
    return HF_OK;
}

static bool is_same(struct span a, struct span b)
{
    return a.length == b.length &&
           (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

/* Names the part in which the two differ; NULL: at most in the host. */
static const char *difference(const struct one *a, const struct one *b)
{
    if (a->scheme.length != b->scheme.length ||
        strncasecmp(a->scheme.at, b->scheme.at, a->scheme.length) != 0) {
        return "scheme";
    }
    if (!is_same(a->user, b->user)) {
        return "user or password";
    }
    if (!is_same(a->path, b->path)) {
        return "database";
    }
    return is_same(a->options, b->options) ? NULL : "options";
}

/* The rule by which several URLs of this scheme are joined; NULL: none. */
static const struct hf__url_joint *find(const struct hf__url_joint *joints,
                                        const struct one *one)
{
    for (const struct hf__url_joint *j = joints; j->scheme != NULL; j++) {
        if (one->scheme.length == strlen(j->scheme) + strlen(MARK) &&
            strncasecmp(one->scheme.at, j->scheme, strlen(j->scheme)) == 0) {
            return j;
        }
    }
    return NULL;
}

static int check(const struct one *list, int n, hf_error *err)
{
    for (int i = 0; i < n; i++) {
        const char *what = difference(&list[0], &list[i]);

        if (what != NULL) {
            return hf__fail(err, HF_EINVAL,
                            "url: the first and number %d differ in %s; the "
                            "members of a quorum differ in the host alone",
                            i + 1, what);
        }
        if (list[i].host.length == 0) {
            return hf__fail(err, HF_EINVAL, "url: number %d has no host",
                            i + 1);
        }
    }
    return HF_OK;
}

static void add(char **to, const char *bytes, size_t length)
{
    memcpy(*to, bytes, length);
    *to += length;
}

/* Is there an option of the same name? A value that contains it does not
 * count. */
static bool has_option(struct span options, const char *option)
{
    size_t n = strcspn(option, "=") + 1;

    while (options.length > 0) {
        options.at++; /* past '?' or '&' */
        options.length--;
        if (options.length >= n && memcmp(options.at, option, n) == 0) {
            return true;
        }
        (void)cut(&options, "&");
    }
    return false;
}

static void join(const struct one *list, int n, const struct hf__url_joint *as,
                 char *to)
{
    const struct one *first = &list[0];

    add(&to, as->joined, strlen(as->joined));
    add(&to, MARK, strlen(MARK));
    add(&to, first->user.at, first->user.length);
    for (int i = 0; i < n; i++) {
        add(&to, ",", i > 0);
        add(&to, list[i].host.at, list[i].host.length);
    }
    add(&to, first->path.at, first->path.length);
    add(&to, first->options.at, first->options.length);
    if (as->option != NULL && !has_option(first->options, as->option)) {
        add(&to, first->options.length > 0 ? "&" : "?", 1);
        add(&to, as->option, strlen(as->option));
    }
    *to = '\0';
}

/* HF_OK, and the one URL that means the same; *ret_joined stays as it is if the
 * text has one URL only. */
static int join_any(const char *text, const struct hf__url_joint *joints,
                    char **ret_joined, hf_error *err)
{
    const struct hf__url_joint *as;
    struct one list[URLS_MAX];
    int n = 0;
    int r;

    text += strspn(text, " ");
    if (scheme_length(text) == 0 || next_url(text) == NULL) {
        return HF_OK;
    }
    r = split(text, list, &n, err);
    if (r != HF_OK) {
        return r;
    }
    as = find(joints, &list[0]);
    if (as == NULL) {
        return hf__fail(err, HF_EINVAL,
                        "url: several URLs in one string are the members of a "
                        "quorum, and of %.*s there is none; of %s:// there is",
                        (int)list[0].scheme.length, list[0].scheme.at,
                        joints->scheme);
    }
    r = check(list, n, err);
    if (r != HF_OK) {
        return r;
    }
    *ret_joined =
        hf__alloc(strlen(text) + strlen(as->joined) + sizeof MARK + sizeof "&" +
                  (as->option == NULL ? 0 : strlen(as->option)));
    if (*ret_joined == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    join(list, n, as, *ret_joined);
    return HF_OK;
}

int hf__url_parse_list(const char *text, const struct hf__url_joint *joints,
                       struct hf__url **ret_url, hf_error *err)
{
    char *joined = NULL;
    int r = hf__url_check(text, err);

    r = r == HF_OK ? join_any(text, joints, &joined, err) : r;
    r = r == HF_OK ? hf__url_parse(joined == NULL ? text : joined, ret_url, err)
                   : r;
    if (joined != NULL) {
        explicit_bzero(joined, strlen(joined));
        hf__free(joined);
    }
    return r;
}
