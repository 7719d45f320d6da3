/* SPDX-License-Identifier: MIT */
/*
 * URLs: every form taken apart, every part that can be wrong named, and no
 * password in what people see.
 */
#include "src/base/alloc.h"
#include "src/base/rand.h"
#include "src/base/url.h"
#include "src/base/utf8.h"
#include "tests/lib/test.h"
#include "tests/unit/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_parts(const char *text, const char *scheme,
                         const char *wanted)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = parsed(text);

    EXPECT_TEXT(url->scheme, scheme);
    EXPECT_TEXT(parts(url), wanted);
}

TEST(stores_without_hosts)
{
    expect_parts("sqlite:/abs/path?x=y", "sqlite", "-|-||/abs/path");
    expect_parts("sqlite:rel/path", "sqlite", "-|-||rel/path");
    expect_parts("sqlite:", "sqlite", "-|-||");
    expect_parts("sqlite:?x=y", "sqlite", "-|-||");
    expect_parts("sqlite:///abs", "sqlite", "-|-||/abs");
    expect_parts("sqlite:///home/a@b/c:1", "sqlite", "-|-||/home/a@b/c:1");
    expect_parts("memory:", "memory", "-|-||");
    expect_parts("memory:name", "memory", "-|-||name");
    expect_parts("memory:a/b:c@d,e#f", "memory", "-|-||a/b:c@d,e#f");
    expect_parts("fault+sqlite:/x", "fault+sqlite", "-|-||/x");
    expect_parts("SQLite:A%20B%2fC%25", "sqlite", "-|-||A B/C%");
    expect_parts("a1+-.:x", "a1+-.", "-|-||x");
}

TEST(stores_with_hosts)
{
    expect_parts("mysql://user:pw@h1:3306,h2/db?scheme=table", "mysql",
                 "user|pw|h1=3306,h2=0|/db");
    expect_parts("redis://[::1]:6379/0", "redis", "-|-|::1=6379|/0");
    expect_parts("redis://[fe80::1%25eth0]", "redis", "-|-|fe80::1%eth0=0|");
    expect_parts("redlock://a,b,c", "redlock", "-|-|a=0,b=0,c=0|");
    expect_parts("redis://h", "redis", "-|-|h=0|");
    expect_parts("redis://h/", "redis", "-|-|h=0|/");
    expect_parts("redis://h?x=y", "redis", "-|-|h=0|");
    expect_parts("redis://h:1,[::2]:65535", "redis", "-|-|h=1,::2=65535|");
    expect_parts("redis://", "redis", "-|-||");
    expect_parts("redis:///0", "redis", "-|-||/0");
    expect_parts("mysql://%2Frun%2Fsocket/db", "mysql",
                 "-|-|/run/socket=0|/db");
}

TEST(users_and_passwords)
{
    expect_parts("x://u@h", "x", "u|-|h=0|");
    expect_parts("x://u:@h", "x", "u||h=0|");
    expect_parts("x://:p@h", "x", "-|p|h=0|");
    expect_parts("x://@h", "x", "-|-|h=0|");
    expect_parts("x://u:p:q@h", "x", "u|p:q|h=0|");
    expect_parts("x://u:p@q@h", "x", "u|p@q|h=0|");
    expect_parts("x://u%3Av:p%40%2F%3F@h/d", "x", "u:v|p@/?|h=0|/d");
    expect_parts("x://u:p@a:1,b:2/d", "x", "u|p|a=1,b=2|/d");
}

static void expect_error(const char *text, const char *wanted)
{
    struct hf__url *url = NULL;

    err.text[0] = '\0';
    EXPECT_IS(hf__url_parse(text, &url, &err), HF_EINVAL);
    EXPECT_IS(err.status, HF_EINVAL);
    EXPECT(url == NULL);
    EXPECT_HAS(err.text, wanted);
    EXPECT(hf__utf8_is_valid(err.text, strlen(err.text)));
    EXPECT_IS(hf__url_parse(text, &url, NULL), HF_EINVAL);
}

TEST(errors_name_the_part)
{
    expect_error(NULL, "url: it is empty");
    expect_error("", "url: it is empty");
    expect_error("sqlite", "url: no scheme");
    expect_error(":x", "url: no scheme");
    expect_error("/tmp/x:y", "url: no scheme");
    expect_error("1a:x", "url: no scheme");
    expect_error("a b:x", "url: no scheme");
    expect_error("a:x\ny", "url: byte 4 is a control character");
    expect_error("a:x\xff", "url: it is not valid UTF-8");
    expect_error("a:x%0", "url: a % in the path is not followed by");
    expect_error("a:x%", "url: a % in the path is not followed by");
    expect_error("a:x%zz", "url: a % in the path is not followed by");
    expect_error("a:x%00", "url: %00 in the path");
    expect_error("a://u%00@h", "url: %00 in the user");
    expect_error("a://u:%00@h", "url: %00 in the password");
    expect_error("a://u:%0@h", "url: a % in the password");
    expect_error("a://h%00", "url: %00 in the host");
    expect_error("a:?x=%00", "url: %00 in option 1");
}

TEST(host_errors_name_the_part)
{
    expect_error("a://h:65536",
                 "url: the port of host 1 is not 1–65535; if it is a password");
    expect_error("a://h:0", "the port of host 1");
    expect_error("a://h:", "the port of host 1");
    expect_error("a://h:+1", "the port of host 1");
    expect_error("a://h:1x", "the port of host 1");
    expect_error("a://h:000001", "the port of host 1");
    expect_error("a://h:4294967297", "the port of host 1");
    expect_error("a://h,b:x", "the port of host 2");
    expect_error("a://h,,b", "url: host 2 is empty");
    expect_error("a://,b", "url: host 1 is empty");
    expect_error("a://h,", "url: host 2 is empty");
    expect_error("a://:80", "url: host 1 is empty");
    expect_error("a://[]", "url: host 1 is empty");
    expect_error("a://::1", "url: host 1 has more than one colon");
    expect_error("a://[::1", "url: the brackets of host 1");
    expect_error("a://[::1]x", "url: the brackets of host 1");
    expect_error("a://[::1]:", "the port of host 1");
    expect_error("a://u:p@", "url: a user but no host");
    expect_error("a://u@/x", "url: a user but no host");
}

TEST(option_errors_name_the_part)
{
    expect_error("a:?x", "url: option 1 has no value; options are as in");
    expect_error("a:?x=1&y", "url: option 2 has no value");
    expect_error("a:?=1", "url: option 1 has no name");
    expect_error("a:?x=1&", "url: option 2 has no name");
    expect_error("a:?x=1&&y=2", "url: option 2 has no name");
    expect_error("a:?x y=1", "url: option 1 has no name");
}

TEST(limits_are_kept)
{
    static char text[5000];

    memset(text, 'x', sizeof text);
    memcpy(text, "a:", 2);
    text[4096] = '\0';
    hf__url_free(parsed(text));
    text[4096] = 'x';
    text[4097] = '\0';
    expect_error(text, "url: more than 4096 bytes");
    hf__url_free(parsed("a://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"));
    expect_error("a://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
                 "url: 17 hosts; at most 16");
    memcpy(text, "a:?", 4);
    for (size_t i = 0; i < 64; i++) {
        memcpy(text + 3 + 4 * i, "x=1&", 5);
    }
    text[3 + 4 * 64 - 1] = '\0';
    hf__url_free(parsed(text));
    text[3 + 4 * 64 - 1] = '&';
    memcpy(&text[3 + 4 * 64], "x=1", 4);
    expect_error(text, "url: 65 options; at most 64");
}

static void expect_redacted(const char *text, const char *wanted)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = parsed(text);

    EXPECT_TEXT(url->redacted, wanted);
}

TEST(a_password_is_redacted)
{
    expect_redacted("sqlite:/a%20b?x=y", "sqlite:/a%20b?x=y");
    expect_redacted("a://u:secret@h:1/d?x=y&z=1", "a://u@h:1/d?x=y&z=1");
    expect_redacted("a://:secret@h/d", "a://h/d");
    expect_redacted("a://u:@h", "a://u@h");
    expect_redacted("a://u@h", "a://u@h");
    expect_redacted("a://u:sec:re@t@h", "a://u@h");
    expect_redacted("a://u:sec%40ret@h?q=1", "a://u@h?q=1");
    expect_redacted("a://h?password=x&y=1", "a://h?y=1");
    expect_redacted("a://h?y=1&pass=x", "a://h?y=1");
    expect_redacted("a:x?passwd=x", "a:x");
    expect_redacted("a:x?password_file=/f", "a:x?password_file=/f");
    expect_redacted("a:x?", "a:x");
}

static int n_found; /* blocks that had it when they were given back */

/* The blocks of this one have a header with their size. */
static void *resize_noting(void *p, size_t size)
{
    size_t *block =
        realloc(p != NULL ? (size_t *)p - 2 : NULL, size + 2 * sizeof *block);

    EXPECT(block != NULL);
    *block = size;
    return block + 2;
}

static void release_noting(void *p)
{
    size_t *block = (size_t *)p - 2;

    n_found += memmem(p, *block, "s3cret", 6) != NULL;
    free(block);
}

TEST(a_password_is_wiped_when_the_url_is_freed)
{
    struct hf__url *url = NULL;

    EXPECT_IS(hf__alloc_replace(resize_noting, release_noting), HF_OK);
    url = parsed("a://u:s3cret@h/p?x=1");
    EXPECT_TEXT(url->password, "s3cret");
    hf__url_free(url);
    EXPECT_IS(hf__url_parse("a://u:s3cret@h:x/p", &url, &err), HF_EINVAL);
    EXPECT_IS(n_found, 0);
}

TEST(a_password_is_in_no_error)
{
    static const char *const urls[] = {
        "a://u:SECRET@h:x",         "a://u:SECRET@",
        "a://u:SEC%zzRET@h",        "a://u:SECRET@h?x",
        "a://u:SECRET@h,,h",        "a://u:SECRET/x@h/db",
        "a://u:7/SECRET@h/db",      "a://u:SECRET?x@h/db",
        "a://u:p@SECRET:1:2/x@h",   "a://u:1?SECRET@h/db",
        "a://u:p@q:SECRET?x=1@h/d", "a://:SECRET/@h",
        "a://u:SECRET@h:1/\xff",    "a://u:SECRET\n@h",
        "a://root:SECRET/db",       "a://root:SECRET",
        "a://h,SECRET:SECRET/db",   "a://h/0?x=1&SECRET",
        "a://h/0?SECRET=%zz",       "a://h/0?%zzSECRET=1",
    };

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct hf__url *url = NULL;
        EXPECT_IS(hf__url_parse(urls[i], &url, &err), HF_EINVAL);
        EXPECT_TEXT(strstr(err.text, "SEC") == NULL ? "" : urls[i], "");
    }
}

/* Allocation k fails, for k = 1, 2, … until none does. */
static int refuse_at;

static void *refusing_resize(void *p, size_t size)
{
    return --refuse_at == 0 ? NULL : realloc(p, size);
}

TEST(every_refused_allocation_is_reported)
{
    const char *text = "mysql://u:p@h1,h2/db?x=1&y=2";
    struct hf__url *url = NULL;
    int k = 0;

    EXPECT_IS(hf__alloc_replace(refusing_resize, free), HF_OK);
    for (int r = HF_ENOMEM; r != HF_OK;) {
        refuse_at = ++k;
        r = hf__url_parse(text, &url, &err);
        EXPECT(r == HF_OK || r == HF_ENOMEM);
        EXPECT_IS(url != NULL, r == HF_OK);
    }
    EXPECT_MORE(k, 4);
    hf__url_free(url);
    hf__url_free(NULL);
}

static void random_url(char *text, size_t max)
{
    static const char *const pieces[] = {
        "sqlite:", "redis://", "a://",   ":", "/",    "?",   "&",   "=", "@",
        ",",       "[",        "]",      "%", "%2",   "%41", "%00", "h", "1",
        "65535",   "x=1",      "SECRET", "é", "\xff", "\t",  "::1", "+", " ",
    };
    enum { N = sizeof pieces / sizeof *pieces };
    size_t length = 0;

    for (int64_t n = hf__random_between(0, 20); n > 0; n--) {
        const char *piece = pieces[hf__random_between(0, N - 1)];
        size_t size = strlen(piece);
        if (length + size < max) {
            memcpy(text + length, piece, size);
            length += size;
        }
    }
    text[length] = '\0';
}

static void check_random(const struct hf__url *url, const char *text)
{
    EXPECT(strlen(url->redacted) <= strlen(text));
    for (size_t i = 0; i < url->n_hosts; i++) {
        EXPECT(url->hosts[i].name[0] != '\0');
    }
    if (url->password != NULL) {
        char secret[220];
        snprintf(secret, sizeof secret, ":%s@", url->password);
        EXPECT(strstr(url->redacted, secret) == NULL);
    }
}

/* No crash, no leak, and never the password in what people see. */
TEST_WITHIN(60, random_urls_are_taken_or_refused)
{
    int n_taken = 0;

    for (int i = 0; i < 100000; i++) {
        struct hf__url *url = NULL;
        char text[200];

        random_url(text, sizeof text);
        int r = hf__url_parse(text, &url, &err);
        EXPECT(r == HF_OK || r == HF_EINVAL);
        EXPECT_IS(url != NULL, r == HF_OK);
        if (url != NULL) {
            n_taken++;
            check_random(url, text);
        }
        hf__url_free(url);
    }
    EXPECT_MORE(n_taken, 100);
}
