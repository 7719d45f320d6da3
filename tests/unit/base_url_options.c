/* SPDX-License-Identifier: MIT */
/*
 * The options of a URL: found, decoded, within their bounds, and none that
 * nobody knows.
 */
#include "src/base/base.h"
#include "src/base/url.h"
#include "tests/lib/test.h"
#include "tests/unit/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

TEST(options_are_found_and_decoded)
{
    HF_AUTO(hf__url_free_auto)
    struct hf__url *url = parsed("a:p?x=1&y=a%20b%26c=d+e&x=2&z=&w_=?%2f@");

    EXPECT_IS(url->n_options, 5);
    EXPECT_TEXT(hf__url_option(url, "x"), "1");
    EXPECT_TEXT(hf__url_option(url, "y"), "a b&c=d+e");
    EXPECT_TEXT(hf__url_option(url, "z"), "");
    EXPECT_TEXT(hf__url_option(url, "w_"), "?/@");
    EXPECT(hf__url_option(url, "q") == NULL);
    EXPECT(hf__url_option(url, "") == NULL);
}

TEST(files_of_tls)
{
    HF_AUTO(hf__url_free_auto)
    struct hf__url *good = parsed("a:?ca=/dev/null&key=/dev/null&q=/none");
    HF_AUTO(hf__url_free_auto)
    struct hf__url *bad = parsed("a:?ca=/dev/null&cert=/none");
    HF_AUTO(hf__url_free_auto) struct hf__url *none = parsed("a:?q=/none");

    EXPECT_IS(hf__url_check_tls_files(good, false, &err), HF_OK);
    EXPECT_IS(hf__url_check_tls_files(good, true, &err), HF_EINVAL);
    EXPECT_TEXT(err.text, "tls=off needs no ca");
    EXPECT_IS(hf__url_check_tls_files(bad, false, &err), HF_EAUTH);
    EXPECT_IS(err.native, ENOENT);
    EXPECT_TEXT(err.text,
                "cert: /none can't be read: No such file or directory");
    EXPECT_IS(hf__url_check_tls_files(none, false, &err), HF_OK);
    EXPECT_IS(hf__url_check_tls_files(none, true, &err), HF_OK);
}

TEST(duration_options)
{
    HF_AUTO(hf__url_free_auto)
    struct hf__url *url = parsed("a:?good=5s&low=5ms&high=2h&bad=5x");
    int64_t ms = -7;

    EXPECT_IS(hf__url_duration(url, "good", 100, 60000, &ms, &err), HF_OK);
    EXPECT_IS(ms, 5000);
    ms = -7;
    EXPECT_IS(hf__url_duration(url, "none", 100, 60000, &ms, &err), HF_OK);
    EXPECT_IS(ms, -7);
    EXPECT_IS(hf__url_duration(url, "low", 100, 60000, &ms, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "option \"low\" is not a duration from 100ms to 1m");
    EXPECT_IS(hf__url_duration(url, "high", 100, 60000, &ms, &err), HF_EINVAL);
    EXPECT_IS(hf__url_duration(url, "bad", 100, 60000, &ms, NULL), HF_EINVAL);
    EXPECT_IS(ms, -7);
}

static int64_t int_option(const char *value)
{
    char text[100];
    int64_t number = -7;

    snprintf(text, sizeof text, "a:?n=%s", value);
    HF_AUTO(hf__url_free_auto) struct hf__url *url = parsed(text);
    int r = hf__url_int(url, "n", INT64_MIN, INT64_MAX, &number, &err);
    EXPECT_IS(r == HF_OK || number == -7, 1);
    return number;
}

TEST(number_options)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = parsed("a:?n=9");
    int64_t number = -7;

    EXPECT_IS(int_option("0"), 0);
    EXPECT_IS(int_option("-12"), -12);
    EXPECT_IS(int_option("9223372036854775807"), INT64_MAX);
    EXPECT_IS(int_option("-9223372036854775808"), INT64_MIN);
    EXPECT_IS(int_option("9223372036854775808"), -7);
    EXPECT_IS(int_option("-9223372036854775809"), -7);
    EXPECT_IS(int_option("99999999999999999999999"), -7);
    EXPECT_IS(int_option(""), -7);
    EXPECT_IS(int_option("-"), -7);
    EXPECT_IS(int_option("+1"), -7);
    EXPECT_IS(int_option("1.5"), -7);
    EXPECT_IS(int_option("%201"), -7);
    EXPECT_IS(hf__url_int(url, "n", 1, 8, &number, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "\"n\" is not a whole number from 1 to 8");
    EXPECT_IS(hf__url_int(url, "m", 1, 8, &number, &err), HF_OK);
    EXPECT_IS(number, -7);
}

static int check_options(const char *text)
{
    static const char *const valid[] = {"x", "y", NULL};
    static const char *const more[] = {"z", NULL};
    HF_AUTO(hf__url_free_auto) struct hf__url *url = parsed(text);

    return hf__url_check_options(url, valid, more, &err);
}

TEST(unknown_and_repeated_options_are_refused)
{
    static const char *const none[] = {NULL};
    HF_AUTO(hf__url_free_auto) struct hf__url *url = parsed("a:?x=1");

    EXPECT_IS(check_options("a:"), HF_OK);
    EXPECT_IS(check_options("a:?z=1&y=2&x=3"), HF_OK);
    EXPECT_IS(check_options("a:?x=1&q=2"), HF_EINVAL);
    EXPECT_TEXT(err.text, "url: option 2 is unknown; valid ones: x, y, z");
    EXPECT_IS(check_options("a:?x=1&y=2&x=1"), HF_EINVAL);
    EXPECT_TEXT(err.text,
                "url: option \"x\" is given twice; valid ones: x, y, z");
    EXPECT_IS(hf__url_check_options(url, none, NULL, &err), HF_EINVAL);
    EXPECT_TEXT(err.text, "url: option 1 is unknown; valid ones: none");
}

static bool names_secret(void)
{
    return strstr(err.text, "S3cret") || strstr(err.text, "PW");
}

/* As in a password with a '?' that was not written as %3F, and no host. */
TEST(no_error_of_an_option_repeats_what_may_be_a_password)
{
    HF_AUTO(hf__url_free_auto)
    struct hf__url *url = parsed("a://root:12?x=PW/db");
    int64_t number = 0;

    EXPECT_IS(check_options("a://root:12?S3cret=PW/db"), HF_EINVAL);
    EXPECT(!names_secret());
    EXPECT_IS(hf__url_duration(url, "x", 100, 60000, &number, &err), HF_EINVAL);
    EXPECT(!names_secret());
    EXPECT_IS(hf__url_int(url, "x", 1, 8, &number, &err), HF_EINVAL);
    EXPECT(!names_secret());
}
