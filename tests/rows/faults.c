/* SPDX-License-Identifier: MIT */
/*
 * Answers that are lost: what was sent once is never sent again, and it is
 * told whether it may have been done.
 */
#include "src/base/alloc.h"
#include "tests/rows/change.h"
#include "tests/servers/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char write_words[] = "UPDATE `account` FORCE INDEX";

static MYSQL *enter_through(const struct hf__proxy *p)
{
    return enter_with(0, hf__proxy_port(p));
}

static struct hf__proxy *open_proxy(void)
{
    return hf__proxy_start(hf__mariadb_port(server()), &hf__framing_mysql);
}

static void lose(struct hf__proxy *p, enum hf__proxy_what what,
                 enum hf__proxy_where where, const char *text)
{
    struct hf__proxy_rule rule = {
        .what = what, .where = where, .action = HF__RESET};

    strncpy(rule.text, text, sizeof rule.text - 1);
    hf__proxy_rule(p, &rule);
}

TEST(a_write_whose_answer_is_lost_is_unknown_and_not_repeated)
{
    struct hf__proxy *p = open_proxy();
    AUTO_DB *db = enter_through(p);
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);

    make_accounts(other);
    lose(p, HF__REPLY, HF__BEFORE, write_words);
    EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNKNOWN);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    EXPECT_IS(c.calls, 1);
    EXPECT_IS(info.version, 2);
    EXPECT_HAS(err.text, "read the row");
    EXPECT_SAFE(strcmp(row_says(other, 1), "101 2") == 0);
    hf__proxy_free(p);
}

TEST(a_write_that_is_lost_on_its_way_is_unknown_and_was_not_done)
{
    struct hf__proxy *p = open_proxy();
    AUTO_DB *db = enter_through(p);
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);

    make_accounts(other);
    lose(p, HF__STATEMENT, HF__BEFORE, write_words);
    EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNKNOWN);
    EXPECT_IS(c.calls, 1);
    EXPECT_SAFE(strcmp(row_says(other, 1), "100 1") == 0);
    hf__proxy_free(p);
}

TEST(what_is_lost_before_the_write_is_unavailable)
{
    static const char *const words[] = {
        "SAVEPOINT",   "RELEASE", "SELECT @@", "SET SESSION",
        "SHOW CREATE", "EXPLAIN", "LIMIT 0",   "SELECT `version`,0"};

    for (int i = 0; i < 8; i++) {
        struct hf__proxy *p = open_proxy();
        AUTO_DB *db = enter_through(p);
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_mysql_update u = by_version(&c);

        tell(other, "DROP TABLE IF EXISTS account");
        make_accounts(other);
        lose(p, HF__REPLY, HF__BEFORE, words[i]);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNAVAIL);
        EXPECT_IS(hf__proxy_counts(p).hits, 1);
        EXPECT_TEXT(row_says(other, 1), "100 1");
        hf__proxy_free(p);
    }
}

TEST(in_a_transaction_a_lost_answer_means_that_nothing_was_done)
{
    struct hf__proxy *p = open_proxy();
    AUTO_DB *db = enter_through(p);
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);

    make_accounts(other);
    tell(db, "BEGIN");
    lose(p, HF__REPLY, HF__BEFORE, write_words);
    EXPECT_IS(change(db, 1, &u), HF_EUNAVAIL);
    EXPECT_IS(info.in_transaction, 0);
    UNTIL(lock_for(other, 1, 0) == HF_EUNSAFE); /* it still answers */
    tell(other, "BEGIN");
    UNTIL(lock_for(other, 1, 0) == HF_OK);
    EXPECT_SAFE(strcmp(row_says(other, 1), "100 1") == 0);
    hf__proxy_free(p);
}

TEST(a_lock_whose_answer_is_lost_is_no_lock)
{
    struct hf__proxy *p = open_proxy();
    AUTO_DB *db = enter_through(p);
    AUTO_DB *other = enter();

    make_accounts(other);
    tell(db, "BEGIN");
    lose(p, HF__REPLY, HF__BEFORE, "SELECT 1 FROM `account`");
    EXPECT_SAFE_IS(lock_for(db, 1, HF_FOREVER), HF_EUNAVAIL);
    EXPECT_IS(info.in_transaction, 0);
    tell(other, "BEGIN");
    UNTIL(lock_for(other, 1, 0) == HF_OK);
    hf__proxy_free(p);
}

/* ---- a client library that connects anew by itself */

static void connect_anew(MYSQL *db)
{
    char yes = 1;

    EXPECT_IS(mysql_options(db, MYSQL_OPT_RECONNECT, &yes), 0);
}

TEST(a_transaction_that_went_with_a_replaced_connection_is_told)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(other);
    connect_anew(db);
    tell(db, "BEGIN");
    tell(other, "KILL %lu", mysql_thread_id(db));
    UNTIL(attempt(other, "KILL %lu", mysql_thread_id(db)) != 0);
    /* At the first it learns that it has none, at the next it makes one. */
    EXPECT_SAFE_IS(lock_for(db, 1, 0), HF_EUNAVAIL);
    EXPECT_SAFE_IS(lock_for(db, 1, 0), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "MYSQL_OPT_RECONNECT");
    EXPECT_SAFE_IS(lock_for(db, 1, 0), HF_EUNSAFE);
}

static int kill_and_add(void *arg, const hf_mysql_value *old_values,
                        hf_mysql_value *new_values)
{
    MYSQL **both = arg;
    unsigned long id = mysql_thread_id(both[0]);

    tell(both[1], "KILL %lu", id);
    UNTIL(attempt(both[1], "KILL %lu", id) != 0);
    new_values[0] =
        (hf_mysql_value){HF_MYSQL_INT, old_values[0].number + 1, NULL, 0};
    return 0;
}

TEST(a_write_on_a_connection_that_was_killed_is_unknown)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    MYSQL *both[] = {db, other};
    struct change c = {.by = 0};
    hf_mysql_update u = by_version(&c);

    make_accounts(other);
    connect_anew(db);
    u.change = kill_and_add;
    u.arg = both;
    EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNKNOWN);
    /* At most once, though the library may have sent it twice. */
    EXPECT_SAFE(strcmp(row_says(other, 1), "101 2") == 0 ||
                strcmp(row_says(other, 1), "100 1") == 0);
    EXPECT_NOT(attempt(db, "SELECT 1"), 1); /* here it connects anew */
    tell(db, "BEGIN");
    EXPECT_SAFE_IS(change(db, 2, &u), HF_EUNAVAIL);
    EXPECT_SAFE(strcmp(row_says(other, 2), "200 1") == 0);
}

/* ---- memory */

static int pieces; /* that are still to be had */

static void *resize_scarce(void *p, size_t size)
{
    return pieces-- > 0 ? realloc(p, size) : NULL;
}

TEST(memory_that_runs_out_at_any_point_writes_nothing)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);
    char before[512];
    int r = HF_ENOMEM;
    int n = 0;

    EXPECT_IS(hf__alloc_replace(resize_scarce, free), HF_OK);
    make_accounts(db);
    snprintf(before, sizeof before, "%s", session_of(db));
    while (r == HF_ENOMEM) {
        EXPECT_SAFE(strcmp(row_says(db, 1), "100 1") == 0);
        tell(db, "BEGIN");
        pieces = n++;
        r = change(db, 1, &u);
        EXPECT_IS(info.in_transaction, 1);
        tell(db, "COMMIT");
        EXPECT_TEXT(session_of(db), before);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT_MORE(n, 2);
    pieces = 0;
    EXPECT_IS(hf_mysql_guard_sql(before, sizeof before, "fence", 1, &err),
              HF_ENOMEM);
    EXPECT_TEXT(before, "");
}
