/* SPDX-License-Identifier: MIT */
/*
 * Servers that know neither NOWAIT nor SKIP LOCKED: here the words are sent
 * misspelt (the linker puts a call of this file in the place of
 * mysql_real_query()), so that the server refuses them as an older one does.
 */
#include "tests/rows/mysql/world.h"

#include <stdio.h>
#include <string.h>

int __wrap_mysql_real_query(MYSQL *, const char *, unsigned long);
int __real_mysql_real_query(MYSQL *, const char *, unsigned long);

static bool knows_nowait;
static int refused; /* statements with words that are unknown */

static void misspell(char *text, const char *word)
{
    char *at = strstr(text, word);

    if (at != NULL) {
        *at = '_';
        refused++;
    }
}

int __wrap_mysql_real_query(MYSQL *db, const char *words, unsigned long length)
{
    char text[1024];

    EXPECT_LESS(length, sizeof text);
    memcpy(text, words, length);
    text[length] = '\0';
    if (!knows_nowait) {
        misspell(text, "NOWAIT");
    }
    misspell(text, "SKIP LOCKED");
    return __real_mysql_real_query(db, text, length);
}

static void expect_all_outcomes(int (*lock)(struct db *, int64_t), int each)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    char before[VALUE];

    make_accounts(a);
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, HF_FOREVER), HF_OK);
    snprintf(before, sizeof before, "%s", session_of(b));
    tell(b, "BEGIN");
    refused = 0;
    EXPECT_SAFE_IS(lock(b, 1), HF_BUSY);
    EXPECT_IS(refused, each);
    EXPECT_IS(info.in_transaction, 1);
    EXPECT_IS(lock(b, 2), HF_OK);
    EXPECT_IS(lock(b, 99), HF_ROW_GONE);
    EXPECT_IS(refused, 3 * each); /* nothing is remembered */
    EXPECT_TEXT(session_of(b), before);
    tell(a, "BEGIN");
    EXPECT_SAFE_IS(lock_for(a, 2, 1000), HF_BUSY);
}

static int lock_at_once(struct db *db, int64_t id)
{
    return lock_for(db, id, 0);
}

TEST(without_nowait_a_short_limit_serves)
{
    expect_all_outcomes(lock_at_once, 1);
}

TEST(without_skip_locked_nowait_serves)
{
    knows_nowait = true;
    expect_all_outcomes(lock_skipping, 1);
}

TEST(without_both_a_short_limit_serves)
{
    expect_all_outcomes(lock_skipping, 2);
}
