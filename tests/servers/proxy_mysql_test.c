/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy count statements, replies and handshakes of MySQL as the
 * client does? What it does where it cuts, proxy_redis_cut_test.c sees.
 */
#include "tests/lib/test.h"
#include "tests/servers/scene.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <string.h>

enum { PATIENCE_S = 20, HIT_MS = 10000 };

static void expect_counts(const struct scene *s, int statements)
{
    struct hf__proxy_counts c = hf__proxy_counts(s->proxy);

    EXPECT_IS(c.statements, statements);
    EXPECT_IS(c.replies, statements);
}

TEST(statements_and_replies_are_counted)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);

    EXPECT_IS(mysql_errno(db), 0);
    EXPECT_IS(hf__proxy_counts(s.proxy).handshakes, 1);
    expect_counts(&s, 0);
    EXPECT_IS(scene_insert(db), 0);
    expect_counts(&s, 1);
    EXPECT_IS(scene_query(db, "SELECT * FROM t"), 0);
    EXPECT_IS(scene_query(db, "SELECT * FROM t WHERE a = 9"), 0);
    EXPECT_IS(scene_query(db, "SELECT 1, 2, 3 UNION SELECT 4, 5, 6"), 0);
    EXPECT_IS(scene_query(db, "SELECT NULL"), 0);
    expect_counts(&s, 5);
    EXPECT_IS(scene_query(db, "nonsense"), ER_PARSE_ERROR);
    EXPECT_IS(mysql_ping(db), 0);
    EXPECT_IS(mysql_select_db(db, s.database), 0);
    EXPECT(mysql_stat(db));
    expect_counts(&s, 9);
    EXPECT_IS(mysql_change_user(db, HF__MARIADB_USER, HF__MARIADB_PASSWORD,
                                s.database),
              0);
    expect_counts(&s, 10);
    mysql_close(db);
    expect_counts(&s, 10);
    scene_end(&s);
}

TEST(a_reply_of_several_results_is_one)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);

    EXPECT_IS(scene_query(db, "SELECT 1; INSERT INTO t VALUES (1); SELECT 2"),
              0);
    expect_counts(&s, 1);
    EXPECT_IS(scene_query(db, "INSERT INTO t VALUES (1); SELECT * FROM t"), 0);
    EXPECT_IS(scene_query(db, "SELECT 1; nonsense"), ER_PARSE_ERROR);
    EXPECT_IS(scene_insert(db), 0);
    expect_counts(&s, 4);
    mysql_close(db);
    scene_end(&s);
}

/* Longer than any buffer and than a packet. */
TEST(long_statements_and_replies_are_counted)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);
    static char sql[2000000];
    int n = snprintf(sql, sizeof sql, "SELECT LENGTH('");

    memset(sql + n, 'x', sizeof sql - (size_t)n);
    memcpy(sql + sizeof sql - 3, "')", 3);
    EXPECT_IS(scene_query(db, sql), 0);
    EXPECT_IS(scene_query(db, "SELECT REPEAT('x', 3000000)"), 0);
    EXPECT_IS(scene_query(db, "SELECT a.seq, REPEAT('y', 100) FROM "
                              "seq_1_to_20000 a"),
              0);
    EXPECT_IS(scene_insert(db), 0);
    expect_counts(&s, 4);
    mysql_close(db);
    scene_end(&s);
}

TEST(prepared_statements_are_counted)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);
    MYSQL_STMT *st = mysql_stmt_init(db);
    const char *insert = "INSERT INTO t VALUES (?)";
    const char *select = "SELECT a, a + ? FROM t";
    int a = 5;
    MYSQL_BIND bind = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &a};

    EXPECT_IS(mysql_stmt_prepare(st, insert, strlen(insert)), 0);
    expect_counts(&s, 1);
    EXPECT_IS(mysql_stmt_bind_param(st, &bind), 0);
    EXPECT_IS(mysql_stmt_execute(st), 0);
    EXPECT_IS(mysql_stmt_execute(st), 0);
    expect_counts(&s, 3);
    mysql_stmt_close(st); /* has no reply */
    st = mysql_stmt_init(db);
    EXPECT_IS(mysql_stmt_prepare(st, select, strlen(select)), 0);
    EXPECT_IS(mysql_stmt_bind_param(st, &bind), 0);
    EXPECT_IS(mysql_stmt_execute(st), 0);
    EXPECT_IS(mysql_stmt_store_result(st), 0);
    EXPECT_IS(mysql_stmt_num_rows(st), 2);
    mysql_stmt_close(st);
    st = mysql_stmt_init(db);
    EXPECT_NOT(mysql_stmt_prepare(st, "nonsense", 8), 0);
    mysql_stmt_close(st);
    st = mysql_stmt_init(db);
    EXPECT_IS(mysql_stmt_prepare(st, "SET @a = 1", 10), 0);
    mysql_stmt_close(st);
    EXPECT_IS(scene_insert(db), 0);
    expect_counts(&s, 8);
    mysql_close(db);
    scene_end(&s);
}

/* However many bytes are asked for, one is kept back. */
TEST(inside_a_reply_of_many_packets_is_never_all_of_it)
{
    static const size_t bytes[] = {0, 1, 4, 5, 30, 60, 100000};
    struct scene s = scene_start();

    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        MYSQL *db = scene_connect(&s, PATIENCE_S);

        hf__proxy_rule(s.proxy, &(struct hf__proxy_rule){.what = HF__REPLY,
                                                         .where = HF__INSIDE,
                                                         .bytes = bytes[i]});
        EXPECT_IS(scene_query(db, "SELECT 1, 'two' UNION SELECT 3, 'four'"),
                  CR_SERVER_LOST);
        EXPECT_IS(hf__proxy_counts(s.proxy).hits, i + 1);
        EXPECT_IS(hf__proxy_counts(s.proxy).replies, 0);
        mysql_close(db);
    }
    scene_end(&s);
}

TEST(a_rule_may_be_about_a_text)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);

    hf__proxy_rule(s.proxy, &(struct hf__proxy_rule){
                                .what = HF__REPLY, .n = 2, .text = "INSERT"});
    EXPECT_IS(scene_query(db, "SELECT 1"), 0);
    EXPECT_IS(scene_insert(db), 0);
    EXPECT_IS(scene_query(db, "SELECT 1"), 0);
    EXPECT_IS(scene_query(db, "SELECT 1"), 0);
    EXPECT_IS(scene_insert(db), CR_SERVER_LOST);
    EXPECT_IS(scene_rows(&s), 2);
    mysql_close(db);
    scene_end(&s);
}

TEST(a_rule_may_hold_always_and_on_one_connection)
{
    struct scene s = scene_start();
    MYSQL *first = scene_connect(&s, PATIENCE_S);
    MYSQL *second = scene_connect(&s, PATIENCE_S);

    hf__proxy_rule(s.proxy, &(struct hf__proxy_rule){.what = HF__STATEMENT,
                                                     .connection = 2});
    EXPECT_IS(scene_insert(first), 0);
    EXPECT_NOT(scene_insert(second), 0);
    mysql_close(second);
    hf__proxy_rule(s.proxy, &(struct hf__proxy_rule){.what = HF__STATEMENT,
                                                     .always = true});
    for (int i = 0; i < 3; i++) {
        EXPECT_NOT(scene_insert(first), 0);
        mysql_close(first);
        first = scene_connect(&s, PATIENCE_S);
        EXPECT_IS(mysql_errno(first), 0);
    }
    hf__proxy_heal(s.proxy);
    EXPECT_IS(scene_insert(first), 0);
    EXPECT_IS(hf__proxy_counts(s.proxy).hits, 4);
    EXPECT_IS(scene_rows(&s), 2);
    mysql_close(first);
    scene_end(&s);
}

TEST(a_handshake_is_cut_before_inside_or_after)
{
    struct scene s = scene_start();
    struct hf__proxy_rule rule = {.what = HF__HANDSHAKE, .bytes = 20};
    MYSQL *db;

    for (int i = HF__BEFORE; i <= HF__INSIDE; i++) {
        rule.where = (enum hf__proxy_where)i;
        hf__proxy_rule(s.proxy, &rule);
        db = scene_connect(&s, PATIENCE_S);
        printf("%s\n", mysql_error(db));
        EXPECT_NOT(mysql_errno(db), 0);
        EXPECT_IS(hf__proxy_counts(s.proxy).handshakes, 0);
        mysql_close(db);
    }
    rule.where = HF__AFTER;
    hf__proxy_rule(s.proxy, &rule);
    db = scene_connect(&s, PATIENCE_S);
    EXPECT(hf__proxy_wait_hits(s.proxy, 3, HIT_MS));
    EXPECT_NOT(scene_insert(db), 0);
    mysql_close(db);
    EXPECT(!hf__proxy_wait_hits(s.proxy, 4, 1));
    EXPECT_IS(scene_rows(&s), 0);
    scene_end(&s);
}
