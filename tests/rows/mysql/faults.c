/* SPDX-License-Identifier: MIT */
/*
 * A client library of MySQL's that connects anew by itself: it is told what
 * went with the connection before.
 */
#include "tests/rows/change.h"
#include "tests/rows/mysql/world.h"

#include <string.h>

static void connect_anew(struct db *db)
{
    char yes = 1;

    EXPECT_IS(mysql_options(mysql_of(db), MYSQL_OPT_RECONNECT, &yes), 0);
}

/* Returns when it is gone. */
static void kill_it(struct db *by, struct db *whom)
{
    unsigned long id = mysql_thread_id(mysql_of(whom));

    end_session(by, whom);
    UNTIL(*attempt(by, "KILL %lu", id) != '\0');
}

TEST(a_transaction_that_went_with_a_replaced_connection_is_told)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(other);
    connect_anew(db);
    tell(db, "BEGIN");
    kill_it(other, db);
    /* At the first it learns that it has none, at the next it makes one. */
    EXPECT_SAFE_IS(lock_for(db, 1, 0), HF_EUNAVAIL);
    EXPECT_SAFE_IS(lock_for(db, 1, 0), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "MYSQL_OPT_RECONNECT");
    EXPECT_SAFE_IS(lock_for(db, 1, 0), HF_EUNSAFE);
}

static int kill_and_add(void *arg, const hf_row_value *old_values,
                        hf_row_value *new_values)
{
    struct db **both = arg;

    kill_it(both[1], both[0]);
    new_values[0] =
        (hf_row_value){HF_ROW_INT, old_values[0].number + 1, NULL, 0};
    return 0;
}

TEST(a_write_on_a_connection_that_was_killed_is_unknown)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct db *both[] = {db, other};
    struct change c = {.by = 0};
    hf_row_update u = by_version(&c);

    make_accounts(other);
    connect_anew(db);
    u.change = kill_and_add;
    u.arg = both;
    EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNKNOWN);
    /* At most once, though the library may have sent it twice. */
    EXPECT_SAFE(strcmp(row_says(other, 1), "101 2") == 0 ||
                strcmp(row_says(other, 1), "100 1") == 0);
    (void)attempt(db, "SELECT 1"); /* here it connects anew */
    tell(db, "BEGIN");
    EXPECT_SAFE_IS(change(db, 2, &u), HF_EUNAVAIL);
    EXPECT_SAFE(strcmp(row_says(other, 2), "200 1") == 0);
}
