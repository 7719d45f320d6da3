/* SPDX-License-Identifier: MIT */
/*
 * Words of strangers made harmless, durations, passwords in URLs, and the
 * nearest valid word.
 */
#include "src/cli/clock.h"
#include "src/cli/options.h"
#include "src/cli/secret.h"
#include "src/cli/text.h"
#include "tests/lib/test.h"

#include <string.h>

typedef void (*form)(struct cli_text *, const char *);

static const char *as(form write, const char *word)
{
    static struct cli_text text;

    cli_text_cut(&text, 0);
    cli_text_bytes(&text, "", 0);
    write(&text, word);
    return text.data;
}

TEST(harmless_words_are_shown_as_they_are)
{
    EXPECT_TEXT(as(cli_text_clean, "nächster Job/1 €😀"), "nächster Job/1 €😀");
    EXPECT_TEXT(as(cli_text_clean, ""), "");
}

TEST(what_moves_a_cursor_is_shown_as_bytes)
{
    EXPECT_TEXT(as(cli_text_clean, "a\033[2Jb\r\n"), "a\\x1b[2Jb\\x0d\\x0a");
    EXPECT_TEXT(as(cli_text_clean, "\x7f"), "\\x7f");
    EXPECT_TEXT(as(cli_text_clean, "\xc2\x9b"), "\\xc2\\x9b");
    /* NOLINTNEXTLINE(misc-misleading-bidirectional): what is tested */
    EXPECT_TEXT(as(cli_text_clean, "\xe2\x80\xae"), "\\xe2\\x80\\xae");
    EXPECT_TEXT(as(cli_text_clean, "a\xff\xc3"), "a\\xff\\xc3");
    EXPECT_TEXT(as(cli_text_clean, "\xed\xa0\x80"), "\\xed\\xa0\\x80");
}

TEST(a_word_for_a_shell_is_quoted_when_it_must_be)
{
    EXPECT_TEXT(as(cli_text_shell, "plain-1.2/x"), "plain-1.2/x");
    EXPECT_TEXT(as(cli_text_shell, ""), "''");
    EXPECT_TEXT(as(cli_text_shell, "a b"), "'a b'");
    EXPECT_TEXT(as(cli_text_shell, "it's $HOME"), "'it'\\''s $HOME'");
    EXPECT_TEXT(as(cli_text_shell, "~root"), "'~root'");
    EXPECT_TEXT(as(cli_text_shell, "a\nb"), "$'a\\x0ab'");
}

TEST(json_strings_are_always_valid)
{
    EXPECT_TEXT(as(cli_text_json, NULL), "null");
    EXPECT_TEXT(as(cli_text_json, "a\"b\\c"), "\"a\\\"b\\\\c\"");
    EXPECT_TEXT(as(cli_text_json, "\n\t\x01"), "\"\\n\\t\\u0001\"");
    EXPECT_TEXT(as(cli_text_json, "ä😀"), "\"ä😀\"");
    EXPECT_TEXT(as(cli_text_json, "\xff!"), "\"\\ufffd!\"");
    EXPECT_TEXT(as(cli_text_json, "\xc2\x85"), "\"\\u0085\"");
}

static int64_t duration(const char *text)
{
    int64_t ms = 0;

    return cli_duration_parse(text, &ms) ? ms : -1;
}

TEST(durations_are_read_as_people_write_them)
{
    EXPECT_IS(duration("250ms"), 250);
    EXPECT_IS(duration("30s"), 30000);
    EXPECT_IS(duration("30"), 30000);
    EXPECT_IS(duration("0.5"), 500);
    EXPECT_IS(duration("1.5s"), -1); /* as in a URL */
    EXPECT_IS(duration("1h30m"), 5400000);
    EXPECT_IS(duration("1d2h3m4s5ms"), 93784005);
    EXPECT_IS(duration("0"), 0);
    EXPECT_IS(duration("36525d"), INT64_C(3155760000000));
}

TEST(what_is_no_duration_is_refused)
{
    static const char *const bad[] = {
        "",       " 1s",  "-1s",
        "1 s",    "1x",   "s",
        "1m1h",   "1s1s", "1ms1",
        "1.",     "1e3",  "1S",
        "36526d", "++1",  "0x10",
        "1s30",   "1.s",  ".5s",
        "1..5",   "1µs",  "99999999999999999999999s",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_IS(duration(bad[i]), -1);
    }
}

TEST(durations_are_written_as_they_are_read)
{
    char buf[CLI_DURATION_SIZE];

    EXPECT_TEXT(cli_duration(0, buf), "0s");
    EXPECT_TEXT(cli_duration(-5, buf), "0s");
    EXPECT_TEXT(cli_duration(93784005, buf), "1d2h3m4s5ms");
    EXPECT_TEXT(cli_duration(30000, buf), "30s");
    EXPECT_TEXT(cli_duration_short(90999, buf), "1m30s");
    EXPECT_TEXT(cli_duration_short(999, buf), "999ms");
    EXPECT_IS(duration(cli_duration(INT64_C(3155759999999), buf)),
              INT64_C(3155759999999));
}

static void expect_hidden(const char *url, const char *shown)
{
    CLI_AUTO(cli_free_auto) char *text = cli_secret_hide(url);

    EXPECT_TEXT(text, shown);
}

TEST(passwords_in_a_url_are_hidden)
{
    expect_hidden("redis://u:pw@h:1/0", "redis://u:***@h:1/0");
    expect_hidden("redis://:pw@h", "redis://:***@h");
    expect_hidden("redis://u:p@w@h", "redis://u:***@h");
    expect_hidden("redis://u:a@1 redis://v:b@2",
                  "redis://u:***@1 redis://v:***@2");
    expect_hidden("redis://u:p w@h", "redis://u:***@h");
    expect_hidden("redis://u:p#w@h", "redis://u:***@h");
    expect_hidden("redis://u:p/w?@h/0", "redis://u:***@h/0");
    expect_hidden("redis://h?pass=a b redis://v:b@2",
                  "redis://h?pass=*** redis://v:***@2");
    expect_hidden("mysql://h/db?password=x&prefix=y",
                  "mysql://h/db?password=***&prefix=y");
}

TEST(a_mistyped_password_is_hidden)
{
    expect_hidden("redis://u:p/w@h", "redis://u:***@h");
    expect_hidden("redis://u:p@x/y@h", "redis://u:***@h");
    expect_hidden("redis://u:p?w@h/0", "redis://u:***@h/0");
    expect_hidden("redis://u:p#w@h", "redis://u:***@h");
    expect_hidden("redis://:secret", "redis://:***");
    expect_hidden("mysql:///u:pw@h/db", "mysql:///u:***@h/db");
    expect_hidden("mysql:///u:pw", "mysql:///u:***");
    expect_hidden("redis:///u:p?w@h", "redis:///u:***@h");
    expect_hidden("redis://h/u:pw@h", "redis://h/u:***@h");
    expect_hidden("redis://u:12/pw@h/0", "redis://u:***@h/0");
    expect_hidden("redis://u:12?pw@h/0", "redis://u:***@h/0");
    expect_hidden("mysql://u@h:pw/db", "mysql://u@h:***");
    expect_hidden("redlock://:a@h:1,b:pw,c/0", "redlock://:***@h:1,b:***");
    expect_hidden("redis://u:a@h:pw redis://v:b@2",
                  "redis://u:***@h:*** redis://v:***@2");
    expect_hidden("redis://h?Password=x&a=b", "redis://h?Password=***&a=b");
    expect_hidden("a && b=c", "a && b=c");
    expect_hidden("redis://h?pasword=x", "redis://h?pasword=***");
    expect_hidden("redis://h?pwd=x&secret=y", "redis://h?pwd=***&secret=***");
}

static void expect_all_hidden(const char *word, const char *shown)
{
    CLI_AUTO(cli_free_auto) char *text = cli_secret_hide_all(word);

    EXPECT_TEXT(text, shown);
}

TEST(what_may_have_been_meant_as_a_url_hides_its_password)
{
    expect_all_hidden("user:pw@host", "user:***@host");
    expect_all_hidden("redis:/user:pw@host", "redis:***@host");
    expect_all_hidden("redis//user:p w@host", "redis//user:***@host");
    expect_all_hidden("redis://u:p@h", "redis://u:***@h");
    expect_all_hidden("--urll=u:p@h", "--urll=u:***@h");
    expect_all_hidden("sqlite:/a:b@c", "sqlite:/a:b@c");
    expect_all_hidden("fault+file:/a:b@c", "fault+file:/a:b@c");
    expect_all_hidden("a@b:c", "a@b:c");
    expect_all_hidden("mysql:u:pw", "mysql:***");
    expect_all_hidden("--urll=fault+mysql:u:pw/d", "--urll=fault+mysql:***");
    expect_all_hidden("redis:u:p@h:pw/0", "redis:***@h:***");
    expect_all_hidden("redis:u:p@h?token=x", "redis:***@h?token=***");
    expect_all_hidden("mysql:/u:pw", "mysql:***");
    expect_all_hidden("redis:h:6379/0", "redis:h:6379/0");
    expect_all_hidden("db:migrate", "db:migrate");
    expect_all_hidden("12:30:5x", "12:30:5x");
    expect_all_hidden("./a:b:c", "./a:b:c");
    expect_all_hidden("--url=sqlite:/a:b:c", "--url=sqlite:/a:b:c");
    expect_all_hidden("redis://h/0?token=x&tls=off&y",
                      "redis://h/0?token=***&tls=off&***");
    expect_all_hidden("sqlite:/a?Prefix=b&prefix=b",
                      "sqlite:/a?Prefix=***&prefix=b");
    expect_all_hidden("redis://root:pw/0", "redis://root:***");
    expect_all_hidden(":@", ":@");
    expect_all_hidden("", "");
}

TEST(what_a_message_quotes_hides_its_password)
{
    static const char *const rows[][2] = {
        {"allow: \"u:p@h\" is none", "allow: \"u:***@h\" is none"},
        {"no redis://u:p@h, no \"a\"", "no redis://u:***@h, no \"a\""},
        {"to: a@b", "to: a@b"},
        {"\"x:y@", "\"x:***@"},
        {"", ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CLI_AUTO(cli_free_auto)
        char *text = cli_secret_hide_quoted(rows[i][0]);

        EXPECT_TEXT(text, rows[i][1]);
    }
}

TEST(a_url_without_password_stays_as_it_is)
{
    static const char *const plain[] = {
        "sqlite:/a:b@c",
        "redis://u@h:6379/0",
        "redis://h/0?a=b:c@d",
        "mysql://u@h,h2:3/d",
        "redis://u:@h",
        "",
        "x://",
        "redis://[::1]:6379/0",
        "zookeeper://h1:2181,h2:2181/a:b",
        "redis://h:1?x=a@b redis://h:2",
        "redis://h:/0",
        "redis://h?password_file=/a:b@c",
        "sqlite:///a:b@c",
        "fault+FILE:///a:b@c",
        "redis:///0?socket=/a:b@c",
    };

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        expect_hidden(plain[i], plain[i]);
        EXPECT(!cli_secret_is_in(plain[i]));
    }
}

TEST(a_password_can_be_wiped_in_place)
{
    char url[] = "redis://u:secret@h?password=x";

    EXPECT(cli_secret_is_in(url));
    cli_secret_wipe(url);
    EXPECT_TEXT(url, "redis://u:******@h?password=*");
}

TEST(a_mistyped_password_can_be_wiped_in_place)
{
    char empty[] = "mysql:///u:secret@h/db";
    char path[] = "redis://u:12/34@h/0";
    char port[] = "mysql://u:p@h:secret/db";

    EXPECT(cli_secret_is_in(empty) && cli_secret_is_in(path));
    cli_secret_wipe(empty);
    cli_secret_wipe(path);
    cli_secret_wipe(port);
    EXPECT_TEXT(empty, "mysql:///u:******@h/db");
    EXPECT_TEXT(path, "redis://u:*****@h/0");
    EXPECT_TEXT(port, "mysql://u:*@h:*********");
}

static const char *nearest(const char *word)
{
    static const char *const words[] = {"run", "who", "break", "busy-exit"};
    struct cli_suggest near;

    cli_suggest_init(&near, word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        cli_suggest_try(&near, words[i]);
    }
    return near.nearest ? near.nearest : "none";
}

TEST(the_nearest_word_is_suggested)
{
    EXPECT_TEXT(nearest("rnu"), "run");
    EXPECT_TEXT(nearest("braek"), "break");
    EXPECT_TEXT(nearest("busyexit"), "busy-exit");
    EXPECT_TEXT(nearest("busy_exti"), "busy-exit");
    EXPECT_TEXT(nearest("hwo"), "who");
}

TEST(a_word_that_is_near_to_none_gets_no_suggestion)
{
    char longest[200];

    EXPECT_TEXT(nearest("something"), "none");
    EXPECT_TEXT(nearest(""), "none");
    memset(longest, 'r', sizeof longest);
    longest[sizeof longest - 1] = 0;
    EXPECT_TEXT(nearest(longest), "none");
}

TEST(columns_line_up_by_characters_not_bytes)
{
    struct cli_table table = {.columns = 2};
    struct cli_text text = {0};

    cli_table_add(&table, "ä");
    cli_table_add(&table, "b");
    cli_table_add(&table, "long");
    cli_table_add(&table, NULL);
    cli_table_write(&table, &text);
    EXPECT_TEXT(text.data, "ä     b\nlong  -\n");
    cli_table_fini(&table);
    cli_text_fini(&text);
}
