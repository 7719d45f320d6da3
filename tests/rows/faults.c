/* SPDX-License-Identifier: MIT */
/*
 * Answers that are lost: what was sent once is never sent again, and it is
 * told whether it may have been done.
 */
#include "tests/rows/change.h"
#include "tests/servers/proxy.h"

#include <string.h>

static struct hf__proxy *open_proxy(void)
{
    return hf__proxy_start(server_port(), framing);
}

/* The n-th with that text. */
static void lose(struct hf__proxy *p, enum hf__proxy_what what,
                 const char *text, int n)
{
    struct hf__proxy_rule rule = {
        .what = what, .where = HF__BEFORE, .action = HF__RESET, .n = n};

    strncpy(rule.text, text, sizeof rule.text - 1);
    hf__proxy_rule(p, &rule);
}

/* What writes: on PostgreSQL the first COMMIT is that of the reading. */
static const struct at {
    const char *text;
    int n;
} written[KINDS] = {{"UPDATE `account` FORCE INDEX", 1}, {"COMMIT", 2}};

TEST(a_write_whose_answer_is_lost_is_unknown_and_not_repeated)
{
    static const char *const says[] = {"101 2", "100 1"};

    for (int i = 0; i < 2; i++) {
        struct hf__proxy *p = open_proxy();
        AUTO_DB *db = enter_at(hf__proxy_port(p));
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);

        make_accounts(other);
        lose(p, i == 0 ? HF__REPLY : HF__STATEMENT, written[its.kind].text,
             written[its.kind].n);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNKNOWN);
        EXPECT_IS(hf__proxy_counts(p).hits, 1);
        EXPECT_IS(c.calls, 1);
        EXPECT_IS(info.version, 2);
        EXPECT_HAS(err.text, "read the row");
        EXPECT_SAFE(strcmp(row_says(other, 1), says[i]) == 0);
        hf__proxy_free(p);
    }
}

TEST(what_is_lost_before_the_write_is_unavailable_and_not_done)
{
    static const struct at before[KINDS][9] = {{{"SAVEPOINT", 1},
                                                {"RELEASE", 1},
                                                {"SELECT @@", 1},
                                                {"SET SESSION", 1},
                                                {"SHOW CREATE", 1},
                                                {"EXPLAIN", 1},
                                                {"LIMIT 0", 1},
                                                {"SELECT `version`,0", 1}},
                                               {{"BEGIN", 1},
                                                {"SET LOCAL", 1},
                                                {"WITH k", 1},
                                                {"LIMIT 0", 1},
                                                {"SELECT \"", 1},
                                                {"COMMIT", 1},
                                                {"UPDATE", 1},
                                                {"BEGIN", 2}}};

    for (const struct at *at = before[its.kind]; at->text != NULL; at++) {
        struct hf__proxy *p = open_proxy();
        AUTO_DB *db = enter_at(hf__proxy_port(p));
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);

        make_accounts(other);
        lose(p, HF__REPLY, at->text, at->n);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNAVAIL);
        EXPECT_IS(hf__proxy_counts(p).hits, 1);
        EXPECT_TEXT(row_says(other, 1), "100 1");
        hf__proxy_free(p);
    }
}

TEST(in_a_transaction_a_lost_answer_means_that_nothing_was_done)
{
    static const char *const words[KINDS][8] = {
        {"UPDATE `account` FORCE INDEX"},
        {"SAVEPOINT", "SET LOCAL", "WITH k", "LIMIT 0", "FOR UPDATE",
         "UPDATE \"", "RELEASE"}};

    for (int i = 0; words[its.kind][i] != NULL; i++) {
        struct hf__proxy *p = open_proxy();
        AUTO_DB *db = enter_at(hf__proxy_port(p));
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);

        make_accounts(other);
        tell(db, "BEGIN");
        lose(p, HF__REPLY, words[its.kind][i], 1);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNAVAIL);
        EXPECT_IS(hf__proxy_counts(p).hits, 1);
        EXPECT_SAFE_IS(info.in_transaction, 0);
        EXPECT_IS(lock_for(other, 1, 0), HF_EUNSAFE); /* it still answers */
        tell(other, "BEGIN");
        UNTIL(lock_for(other, 1, 0) == HF_OK);
        EXPECT_SAFE(strcmp(row_says(other, 1), "100 1") == 0);
        tell(other, "COMMIT");
        hf__proxy_free(p);
    }
}

TEST(a_lock_whose_answer_is_lost_is_no_lock)
{
    struct hf__proxy *p = open_proxy();
    AUTO_DB *db = enter_at(hf__proxy_port(p));
    AUTO_DB *other = enter();

    make_accounts(other);
    tell(db, "BEGIN");
    lose(p, HF__REPLY,
         its.kind == ON_MYSQL ? "SELECT 1 FROM `account`" : "FOR UPDATE", 1);
    EXPECT_SAFE_IS(lock_for(db, 1, HF_FOREVER), HF_EUNAVAIL);
    EXPECT_IS(info.in_transaction, 0);
    tell(other, "BEGIN");
    UNTIL(lock_for(other, 1, 0) == HF_OK);
    hf__proxy_free(p);
}
