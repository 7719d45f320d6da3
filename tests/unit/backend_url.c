/* SPDX-License-Identifier: MIT */
/*
 * Several URLs in one string, and copies: what is one URL of all hosts, what
 * is refused and why.
 */
#include "src/backend/conn.h"
#include "tests/lib/test.h"
#include "tests/unit/url.h"

#include <stdio.h>
#include <string.h>

/* The caller frees it. */
static struct hf__url *joined(const char *text)
{
    struct hf__url *url = NULL;

    if (hf__backend_url(text, &url, &err) != HF_OK) {
        EXPECT_TEXT(err.text, "");
    }
    return url;
}

TEST(several_urls_are_one_of_all_their_hosts)
{
    struct hf__url *url =
        joined("redis://u:p@a:1/2?tls=off redis://u:p@b/2?tls=off  "
               "REDIS://u:p@[::1]:3/2?tls=off ");

    EXPECT_TEXT(url->scheme, "redlock");
    EXPECT_TEXT(parts(url), "u|p|a=1,b=0,::1=3|/2");
    EXPECT_TEXT(hf__url_option(url, "tls"), "off");
    EXPECT_TEXT(url->redacted, "redlock://u@a:1,b,[::1]:3/2?tls=off");
    hf__url_free(url);
    url = joined("rediss://a rediss://b rediss://c");
    EXPECT_TEXT(url->redacted, "redlock://a,b,c?tls=verify");
    hf__url_free(url);
    url = joined("rediss://a/?key=k rediss://b/?key=k");
    EXPECT_TEXT(url->redacted, "redlock://a,b/?key=k&tls=verify");
    hf__url_free(url);
}

/* What a value has in it says nothing of encryption. */
TEST(several_secure_urls_are_verified_whatever_their_values_hold)
{
    static const char *const options[][2] = {
        {"password_file=/etc/tls=x/pw", "verify"},
        {"ca=tls=off&key=k", "verify"},
        {"ca=x?tls=off", "verify"},
        {"notls=off", "verify"},
        {"key=k&tls=require", "require"},
        {"tls=require&key=k", "require"},
        {"tls=", ""},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char text[200];
        struct hf__url *url;

        snprintf(text, sizeof text, "rediss://a/0?%s rediss://b/0?%s",
                 options[i][0], options[i][0]);
        url = joined(text);
        EXPECT_TEXT(hf__url_option(url, "tls"), options[i][1]);
        hf__url_free(url);
    }
}

TEST(several_urls_differ_in_the_host_alone)
{
    static const char *const wrong[][2] = {
        {"redis://a rediss://b", "number 2 differ in scheme"},
        {"redis://a redis://u@b", "number 2 differ in user or password"},
        {"redis://u:p@a redis://u:q@b", "differ in user or password"},
        {"redis://a/0 redis://b/0 redis://c/1", "number 3 differ in database"},
        {"redis://a/0 redis://b", "differ in database"},
        {"redis://a?x=1 redis://b?x=2", "differ in options"},
        {"redis://a redis://", "number 2 has no host"},
        {"mysql://a mysql://b",
         "of mysql:// there is none; of redis:// there is"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hf__url *url = NULL;

        EXPECT_IS(hf__backend_url(wrong[i][0], &url, &err), HF_EINVAL);
        EXPECT_HAS(err.text, wrong[i][1]);
    }
}

/* A path and a password may have one. */
TEST(a_space_alone_makes_no_second_url)
{
    struct hf__url *url = joined("sqlite:/a b://c.db");

    EXPECT_TEXT(url->path, "/a b://c.db");
    hf__url_free(url);
    url = joined("redis://u:p q@a/0");
    EXPECT_TEXT(url->password, "p q");
    hf__url_free(url);
}

TEST(a_copy_has_all_of_it_and_lives_by_itself)
{
    struct hf__url *url = parsed("redlock://u:p@a:1,b/2?tls=off&x=%20");
    struct hf__url *copy = NULL;

    EXPECT_IS(hf__url_copy(url, &copy), HF_OK);
    hf__url_free(url);
    EXPECT_TEXT(copy->scheme, "redlock");
    EXPECT_TEXT(parts(copy), "u|p|a=1,b=0|/2");
    EXPECT_TEXT(hf__url_option(copy, "tls"), "off");
    EXPECT_TEXT(hf__url_option(copy, "x"), " ");
    EXPECT_TEXT(copy->redacted, "redlock://u@a:1,b/2?tls=off&x=%20");
    hf__url_free(copy);
}
