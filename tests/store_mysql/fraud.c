/* SPDX-License-Identifier: MIT */
/*
 * Servers that are none, and somebody who stands between: what they are told
 * of a password, of a terminal, of a file. With TLS: see tls.c.
 */
#include "tests/store_mysql/impostor.h"
#include "tests/store_mysql/site.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRANGER 65534

#define USER     "who-comes"
#define PASSWORD "not-for-everybody"

static const char *url_of(const struct hf__impostor *m, const char *options)
{
    static _Thread_local char url[512];

    snprintf(url, sizeof url, "mysql://" USER ":" PASSWORD "@127.0.0.1:%d/db%s",
             hf__impostor_port(m), options);
    return url;
}

/* It is refused, and learns the user's name. */
static void expect_nothing_told(const struct hf__impostor_opts *opts,
                                const char *options)
{
    struct hf__impostor *m = hf__impostor_start(opts);
    char words[96];

    snprintf(words, sizeof words,
             "127.0.0.1 port %d asks for more than a proof",
             hf__impostor_port(m));
    expect_refused(url_of(m, options), HF_EUNSAFE, words);
    EXPECT(!hf__impostor_has_heard(m, PASSWORD));
    EXPECT_IS(hf__impostor_packets(m), 1);
    hf__impostor_free(m);
}

static void ask_in_clear(const char *options)
{
    expect_nothing_told(
        &(struct hf__impostor_opts){.asks_by = "mysql_clear_password"},
        options);
    expect_nothing_told(&(struct hf__impostor_opts){.asks_by = "dialog",
                                                    .question = "\4Password"},
                        options);
    /* They want it in clear, or by a key that the impostor has made. */
    expect_nothing_told(
        &(struct hf__impostor_opts){.asks_by = "sha256_password"}, options);
    expect_nothing_told(
        &(struct hf__impostor_opts){.asks_by = "caching_sha2_password",
                                    .then = "\1\4"},
        options);
    /* Known by an older scramble, by no name, by a part of a good one. */
    expect_nothing_told(
        &(struct hf__impostor_opts){.asks_by = "mysql_old_password"}, options);
    expect_nothing_told(&(struct hf__impostor_opts){.asks_by = "nobody_knows"},
                        options);
}

TEST(a_password_is_told_to_no_server_in_clear)
{
    ask_in_clear("");
    ask_in_clear("?tls=off");
}

/* There is no such file. */
TEST(a_part_of_a_plugins_name_is_none)
{
    struct hf__impostor_opts opts = {.asks_by = "password"};
    struct hf__impostor *m = hf__impostor_start(&opts);

    expect_refused(url_of(m, ""), HF_EAUTH, "not installed");
    EXPECT(!hf__impostor_has_heard(m, PASSWORD));
    hf__impostor_free(m);
}

/* Who looked for it there would wait for a writer for ever, with the library's
 * mutex and the loader's locked. */
TEST(a_plugin_that_a_server_names_is_not_looked_for)
{
    struct hf__impostor_opts opts = {.asks_by = "of_its_own"};
    struct hf__impostor *m = hf__impostor_start(&opts);
    char path[512];

    snprintf(path, sizeof path, "%s/of_its_own.so", hf__test_folder());
    EXPECT_IS(mkfifo(path, 0600), 0);
    EXPECT_IS(setenv("MARIADB_PLUGIN_DIR", hf__test_folder(), 1), 0);
    expect_refused(url_of(m, ""), HF_EUNSAFE, "than a proof");
    hf__impostor_free(m);
}

/* The one that it names first is not what counts. */
TEST(a_greeting_by_another_plugin_is_answered_by_a_scramble)
{
    struct hf__impostor_opts opts = {.plugin = "caching_sha2_password",
                                     .asks_by = "mysql_native_password"};
    struct hf__impostor *m = hf__impostor_start(&opts);

    expect_refused(url_of(m, ""), HF_EAUTH, "check user and password");
    EXPECT(hf__impostor_has_heard(m, USER));
    EXPECT(!hf__impostor_has_heard(m, PASSWORD));
    EXPECT_IS(hf__impostor_packets(m), 2);
    hf__impostor_free(m);
}

TEST(a_server_reads_nothing_of_our_input)
{
    struct hf__impostor_opts opts = {.asks_by = "dialog",
                                     .question = "\4What you have"};
    struct hf__impostor *m = hf__impostor_start(&opts);
    static const char line[] = "the next program's\n";
    char left[sizeof line];
    int saved = dup(STDIN_FILENO);
    int ends[2];

    EXPECT_IS(pipe(ends), 0);
    EXPECT_IS(write(ends[1], line, sizeof line), sizeof line);
    EXPECT_IS(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    expect_refused(url_of(m, ""), HF_EUNSAFE, "than a proof");
    EXPECT(!hf__impostor_has_heard(m, "the next"));
    EXPECT_IS(read(ends[0], left, sizeof left), sizeof left);
    EXPECT_TEXT(left, line);
    EXPECT_NOT(dup2(saved, STDIN_FILENO), -1);
    EXPECT_IS(close(saved) + close(ends[0]) + close(ends[1]), 0);
    hf__impostor_free(m);
}

TEST(a_server_is_sent_no_file)
{
    char path[512];
    struct hf__impostor_opts opts = {.file = path};
    FILE *f;
    struct hf__impostor *m;
    DOOR(d);

    snprintf(path, sizeof path, "%s/secret", hf__test_folder());
    f = fopen(path, "we");
    EXPECT(f != NULL);
    EXPECT(fputs("of this host only", f) >= 0);
    EXPECT_IS(fclose(f), 0);
    m = hf__impostor_start(&opts);
    EXPECT_NOT(enter(&d, url_of(m, "")), HF_OK);
    EXPECT(!hf__impostor_has_heard(m, "of this host only"));
    hf__impostor_free(m);
}

/* ---- a server, or somebody between, that has no TLS */

static void expect_silence(const struct hf__impostor_opts *opts, int status,
                           const char *words)
{
    struct hf__impostor *m = hf__impostor_start(opts);

    expect_refused(url_of(m, "?tls=require"), status, words);
    EXPECT_IS(hf__impostor_heard(m), 0);
    expect_refused(url_of(m, "?tls=verify"), status, words);
    EXPECT_IS(hf__impostor_heard(m), 0);
    hf__impostor_free(m);
}

TEST(who_takes_tls_away_hears_nothing)
{
    expect_silence(&(struct hf__impostor_opts){0}, HF_EUNSAFE, "has no TLS");
    expect_silence(&(struct hf__impostor_opts){.in_pieces = true}, HF_EUNSAFE,
                   "has no TLS");
}

#define GREETING(bytes) .greeting = (bytes), .greeting_bytes = sizeof(bytes) - 1
#define WITHOUT_TLS                                                            \
    "\x4c\0\0\1\x0a"                                                           \
    "10.11.0\0\1\0\0\0"                                                        \
    "01234567\0\x5d\xf7\x2d\2\0\xbf\x81\x15\0\0\0\0\0\0\0\0\0\0"               \
    "89abcdefghij\0mysql_native_password"

TEST(a_greeting_that_is_none_is_not_answered)
{
    /* A report of progress, and a second greeting after it. */
    expect_silence(
        &(struct hf__impostor_opts){GREETING("\x0a\0\0\0\xff\xff\xff"
                                             "\1\1\1\0\0\0\1" WITHOUT_TLS)},
        HF_EPROTO, "no greeting of MySQL");
    /* One of an older protocol, one that is cut, one that never ends. */
    expect_silence(&(struct hf__impostor_opts){GREETING("\x08\0\0\0\x09"
                                                        "3.21.0\0")},
                   HF_EPROTO, "no greeting of MySQL");
    expect_silence(&(struct hf__impostor_opts){GREETING("\x0a\0\0\0\x0a"
                                                        "10.11.0\0\1")},
                   HF_EPROTO, "no greeting of MySQL");
    expect_silence(&(struct hf__impostor_opts){GREETING("SSH-2.0-OpenSSH_9\n")},
                   HF_EPROTO, "no greeting of MySQL");
}

TEST(an_error_in_place_of_a_greeting_is_told)
{
    expect_silence(
        &(struct hf__impostor_opts){GREETING("\x17\0\0\0\xff\x10\4"
                                             "Too many connections")},
        HF_EUNAVAIL, "raise max_connections");
}

#define TOKEN "0123456789abcdef0123456789ABCDEF"

TEST(a_token_that_a_server_repeats_is_not_told)
{
    struct hf__impostor_opts opts = {
        .says = "rejected: UPDATE holdfast_lock SET token=x'" TOKEN
                "' … near x'0123456789ABCDEF01234567"};
    struct hf__impostor *m = hf__impostor_start(&opts);
    DOOR(d);

    EXPECT_IS(enter(&d, url_of(m, "")), HF_EAUTH);
    EXPECT_HAS(d.error.text, "SET token=x'*' … near x'* (check");
    hf__impostor_free(m);
}

/* ---- at a unix socket */

/* Does whoever made it as that user, in a folder of that one, get the password
 * when it asks for it? */
static bool is_told(uid_t maker, uid_t owner, mode_t mode)
{
    static int n;
    char folder[512];
    char path[600];
    char url[800];
    struct hf__impostor_opts opts = {
        .asks_by = "caching_sha2_password", .then = "\1\4", .socket = path};
    struct hf__impostor *m;
    bool was_told;
    DOOR(d);

    snprintf(folder, sizeof folder, "%s/%d", hf__test_folder(), ++n);
    snprintf(path, sizeof path, "%s/s", folder);
    EXPECT_IS(chmod(hf__test_folder(), 0711), 0);
    EXPECT_IS(mkdir(folder, 0700), 0);
    EXPECT_IS(chown(folder, owner, (gid_t)-1), 0);
    EXPECT_IS(chmod(folder, mode), 0);
    EXPECT_IS(seteuid(maker), 0);
    m = hf__impostor_start(&opts);
    EXPECT_IS(seteuid(getuid()), 0);
    snprintf(url, sizeof url,
             "mysql://" USER ":" PASSWORD "@localhost/db?socket=%s", path);
    EXPECT_IS(chmod(path, 0777), 0);
    EXPECT_NOT(enter(&d, url), HF_OK);
    was_told = hf__impostor_has_heard(m, PASSWORD);
    EXPECT_IS(d.error.status, was_told ? HF_EAUTH : HF_EUNSAFE);
    hf__impostor_free(m);
    return was_told;
}

TEST(a_socket_of_our_own_is_told_the_password)
{
    EXPECT(is_told(geteuid(), geteuid(), 0700));
    EXPECT(is_told(geteuid(), geteuid(), 01777));
}

TEST(a_strangers_socket_is_told_no_password)
{
    if (geteuid() != 0) {
        SKIP("only root can make a socket as somebody else");
    }
    EXPECT(!is_told(STRANGER, 0, 01777));
    EXPECT(!is_told(STRANGER, STRANGER, 0775));
    EXPECT(!is_told(STRANGER, STRANGER, 01777));
    /* As of mysqld, in /run/mysqld. */
    EXPECT(is_told(STRANGER, STRANGER, 0755));
}
