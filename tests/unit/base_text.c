/* SPDX-License-Identifier: MIT */
/*
 * Text as it goes in and out: UTF-8, the caller's hf_error, log lines, and
 * memory that can be denied.
 */
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/rand.h"
#include "src/base/utf8.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_valid(const char *text)
{
    return hf__utf8_is_valid(text, strlen(text));
}

TEST(well_formed_text_is_valid)
{
    EXPECT(is_valid(""));
    EXPECT(is_valid("plain ASCII\n\x7f"));
    EXPECT(is_valid("äß€😀"));
    EXPECT(is_valid("\xc2\x80\xdf\xbf")); /* two bytes */
    EXPECT(is_valid("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
    EXPECT(is_valid("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")); /* the last one */
    EXPECT(hf__utf8_is_valid("a\0b", 3));
}

TEST(ill_formed_text_is_not)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2z",
        "\xe0\x9f\xbf",
        "\xe0\xa0",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe1\x80z",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf0\x90\x80",
        "\xff",
        "\xfe",
        "ok\xc3",
        "\xf8\x88\x80\x80\x80",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_IS(is_valid(bad[i]) ? (int)i : -1, -1);
    }
    EXPECT(!hf__utf8_is_valid("€", 2));
}

TEST(text_is_cut_between_characters)
{
    EXPECT_IS(hf__utf8_cut("abc", 10), 3);
    EXPECT_IS(hf__utf8_cut("abc", 2), 2);
    EXPECT_IS(hf__utf8_cut("", 5), 0);
    EXPECT_IS(hf__utf8_cut("a€b", 1), 1);
    EXPECT_IS(hf__utf8_cut("a€b", 2), 1);
    EXPECT_IS(hf__utf8_cut("a€b", 3), 1);
    EXPECT_IS(hf__utf8_cut("a€b", 4), 4);
    EXPECT_IS(hf__utf8_cut("😀", 3), 0);
    EXPECT_IS(hf__utf8_cut("😀", 4), 4);
    EXPECT_IS(hf__utf8_cut("\x80\x80\x80\x80\x80", 4), 4);
}

/* Each cut of random text is valid if the text is. */
TEST(random_text_stays_valid_when_cut)
{
    static const char *const pieces[] = {"a", "é", "€", "😀", " ", "\xff"};

    for (int i = 0; i < 5000; i++) {
        char text[64] = "";
        size_t length = 0;
        for (int64_t j = hf__random_between(0, 12); j > 0; j--) {
            const char *piece = pieces[hf__random_between(0, 4)];
            memcpy(text + length, piece, strlen(piece) + 1);
            length += strlen(piece);
        }
        EXPECT(hf__utf8_is_valid(text, length));
        size_t cut = hf__utf8_cut(text, (size_t)hf__random_between(0, 60));
        EXPECT(hf__utf8_is_valid(text, cut));
        EXPECT(cut == length || hf__utf8_is_valid(text + cut, length - cut));
    }
}

TEST(a_failure_fills_the_error)
{
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf__fail(&err, HF_EINVAL, "%s is %d", "x", 5), HF_EINVAL);
    EXPECT_IS(err.status, HF_EINVAL);
    EXPECT_IS(err.native, 0);
    EXPECT_TEXT(err.sqlstate, "");
    EXPECT_TEXT(err.text, "x is 5");
    EXPECT_IS(hf__fail_native(&err, HF_EUNAVAIL, ECONNREFUSED, "no"),
              HF_EUNAVAIL);
    EXPECT_IS(err.native, ECONNREFUSED);
    EXPECT_IS(hf__fail(&err, HF_LOST, "again: %s", err.text), HF_LOST);
    EXPECT_TEXT(err.text, "again: no");
    EXPECT_IS(err.native, 0);
    EXPECT_IS(hf__fail(NULL, HF_ENOMEM, "%s", "x"), HF_ENOMEM);
}

TEST(an_error_text_is_clean_and_fits)
{
    hf_error err = HF_ERROR_INIT;
    char wide[800];

    (void)hf__fail(&err, HF_EINVAL, "a\nb\x1b[31m\xff€\x7f\xc3");
    EXPECT_TEXT(err.text, "a?b?[31m?€??");
    for (size_t i = 0; i + 3 <= sizeof wide; i += 3) {
        memcpy(wide + i, "€", 3);
    }
    wide[798] = '\0';
    (void)hf__fail(&err, HF_EINVAL, "%s", wide);
    EXPECT_IS(strlen(err.text), 510); /* 170 whole characters */
    EXPECT(is_valid(err.text));
}

TEST(a_smaller_error_of_an_older_caller_is_respected)
{
    hf_error err;

    memset(&err, '#', sizeof err);
    err.size = offsetof(hf_error, text) + 6;
    (void)hf__fail(&err, HF_BUSY, "ab€€");
    EXPECT_IS(err.status, HF_BUSY);
    EXPECT_TEXT(err.text, "ab€");
    EXPECT_IS(err.text[6], '#');
    memset(&err, '#', sizeof err);
    err.size = offsetof(hf_error, sqlstate);
    (void)hf__fail_native(&err, HF_BUSY, 7, "text");
    EXPECT_IS(err.native, 7);
    EXPECT_IS(err.sqlstate[0], '#');
    memset(&err, '#', sizeof err);
    err.size = 0;
    (void)hf__fail(&err, HF_BUSY, "text");
    EXPECT_IS(((char *)&err.status)[0], '#');
    err.size = sizeof err + 100;
    (void)hf__fail(&err, HF_BUSY, "text");
    EXPECT_TEXT(err.text, "text");
    EXPECT_IS(err.size, sizeof err + 100);
}

TEST(an_error_is_copied_whole)
{
    hf_error a = HF_ERROR_INIT;
    hf_error b = HF_ERROR_INIT;

    (void)hf__fail_native(&a, HF_EAUTH, 1045, "denied");
    memcpy(a.sqlstate, "28000", 6);
    hf__error_copy(&b, &a);
    EXPECT_IS(b.size, a.size);
    EXPECT_IS(b.status, HF_EAUTH);
    EXPECT_IS(b.native, 1045);
    EXPECT_TEXT(b.sqlstate, "28000");
    EXPECT_TEXT(b.text, "denied");
    hf__error_copy(NULL, &a);
    hf__error_copy(&b, NULL);
    hf__error_copy(&b, &b);
    EXPECT_TEXT(b.text, "denied");
}

TEST(errno_has_a_text)
{
    char buf[64];

    EXPECT_TEXT(hf__errno_text(ENOENT, buf, sizeof buf),
                "No such file or directory");
    EXPECT_HAS(hf__errno_text(99999, buf, sizeof buf), "error");
    EXPECT(hf__errno_text(-1, buf, sizeof buf) != NULL);
}

static char last_line[2048];
static int n_lines;

/* cppcheck-suppress constParameter; the type of a callback */
static void sink(void *arg, hf_level level, const char *line)
{
    EXPECT(arg == &n_lines);
    EXPECT(level <= HF_LOG_INFO);
    n_lines++;
    EXPECT_LESS(strlen(line), sizeof last_line);
    memcpy(last_line, line, strlen(line) + 1);
}

TEST(the_log_is_silent_without_a_sink_and_below_its_level)
{
    struct hf__log log = {NULL, NULL, HF_LOG_DEBUG};

    hf__log(NULL, HF_LOG_ERROR, "event=%s", "x");
    hf__log(&log, HF_LOG_ERROR, "event=%s", "x");
    log = (struct hf__log){sink, &n_lines, HF_LOG_INFO};
    hf__log(&log, HF_LOG_DEBUG, "event=%s", "x");
    EXPECT_IS(n_lines, 0);
    hf__log(&log, HF_LOG_INFO, "event=%s", "x");
    EXPECT_IS(n_lines, 1);
    EXPECT_TEXT(last_line, "event=x");
    hf__log(&log, HF_LOG_INFO, "%*s€", 1021, "x");
    EXPECT_IS(strlen(last_line), 1021);
    EXPECT(is_valid(last_line));
}

TEST(log_values_are_quoted_where_needed)
{
    char buf[40];

    EXPECT_TEXT(hf__log_quote("job:1", buf, sizeof buf), "job:1");
    EXPECT_TEXT(hf__log_quote("größe", buf, sizeof buf), "größe");
    EXPECT_TEXT(hf__log_quote("", buf, sizeof buf), "\"\"");
    EXPECT_TEXT(hf__log_quote(NULL, buf, sizeof buf), "\"\"");
    EXPECT_TEXT(hf__log_quote("a b", buf, sizeof buf), "\"a b\"");
    EXPECT_TEXT(hf__log_quote("a=b", buf, sizeof buf), "\"a=b\"");
    EXPECT_TEXT(hf__log_quote("a\"\\", buf, sizeof buf), "\"a\\\"\\\\\"");
    EXPECT_TEXT(hf__log_quote("a\n\x7f", buf, sizeof buf), "\"a\\x0A\\x7F\"");
    EXPECT_TEXT(hf__log_quote("\xff€", buf, sizeof buf), "\"\\xFF€\"");
    EXPECT_TEXT(hf__log_quote("\xc2\x9b"
                              "3",
                              buf, sizeof buf),
                "\"\\xC2\\x9B3\"");
}

TEST(log_values_are_cut_at_whole_pieces)
{
    char buf[8];

    EXPECT_TEXT(hf__log_quote("1234567", buf, sizeof buf), "1234567");
    EXPECT_TEXT(hf__log_quote("12345678", buf, sizeof buf), "\"12345\"");
    EXPECT_TEXT(hf__log_quote("123€€", buf, sizeof buf), "\"123\"");
    EXPECT_TEXT(hf__log_quote("12\n", buf, sizeof buf), "\"12\"");
    EXPECT_TEXT(hf__log_quote("x y", buf, 2), "");
    EXPECT_TEXT(hf__log_quote("x", buf, 2), "x");
}

/* An allocator that counts, and can be told to refuse. */
static int n_live;
static bool is_refusing;
static int n_null_releases;

static void *counting_resize(void *p, size_t size)
{
    if (is_refusing) {
        return NULL;
    }
    n_live += p == NULL;
    return realloc(p, size);
}

static void counting_release(void *p)
{
    n_null_releases += p == NULL;
    n_live--;
    free(p);
}

TEST(the_allocator_can_be_replaced_before_use)
{
    EXPECT_IS(hf__alloc_replace(NULL, counting_release), HF_EINVAL);
    EXPECT_IS(hf__alloc_replace(counting_resize, NULL), HF_EINVAL);
    EXPECT_IS(hf__alloc_replace(counting_resize, counting_release), HF_OK);
    HF_AUTO(hf__free_auto) char *text = hf__strdup("abc");
    EXPECT_IS(n_live, 1);
    EXPECT_IS(hf__alloc_replace(realloc, free), HF_CONFLICT);
    hf__free(NULL);
    EXPECT_IS(n_null_releases, 0);
    hf__free(HF_MOVE(text));
    EXPECT(text == NULL);
    EXPECT_IS(n_live, 0);
}

TEST(refused_memory_is_null)
{
    EXPECT_IS(hf__alloc_replace(counting_resize, counting_release), HF_OK);
    char *text = hf__strndup("abcdef", 3);
    EXPECT_TEXT(text, "abc");
    is_refusing = true;
    EXPECT(hf__alloc(8) == NULL);
    EXPECT(hf__strdup("x") == NULL);
    EXPECT(hf__resize(text, 100) == NULL);
    EXPECT_TEXT(text, "abc");
    is_refusing = false;
    hf__free(text);
    EXPECT_IS(n_live, 0);
}

TEST(memory_is_zeroed_and_grows)
{
    unsigned char *p = hf__alloc(1000);
    int sum = 0;

    EXPECT(p != NULL);
    for (size_t i = 0; i < 1000; i++) {
        sum += p[i];
    }
    EXPECT_IS(sum, 0);
    p[999] = 7;
    p = hf__resize(p, 5000);
    EXPECT(p != NULL && p[999] == 7);
    hf__free(p);
    p = hf__alloc(0);
    EXPECT(p != NULL);
    hf__free(p);
    HF_AUTO(hf__free_auto) char *all = hf__strndup("ab", 100);
    EXPECT_TEXT(all, "ab");
}

TEST(a_broken_invariant_says_so_and_aborts)
{
    char said[256] = "";
    int ends[2];
    int status = 0;

    EXPECT_IS(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        hf__assert_failed("1 > 2", "some.c", 7);
    }
    close(ends[1]);
    EXPECT_IS(waitpid(child, &status, 0), child);
    EXPECT(WIFSIGNALED(status));
    EXPECT_IS(WTERMSIG(status), SIGABRT);
    EXPECT_MORE(read(ends[0], said, sizeof said - 1), 0);
    EXPECT_HAS(said, "holdfast: some.c:7: assertion failed: 1 > 2\n");
    close(ends[0]);
}
