/* SPDX-License-Identifier: MIT */
/*
 * Cells: who uses locks alone needs no table of them and no rights on it, who
 * uses cells makes it or is told what helps, and what others wrote there is
 * told of and stays as it is.
 */
#include "tests/store_postgres/site.h"
#include "tests/store_server/cell.h"

#include "src/backend/postgres/postgres.h"

#include <stdlib.h>
#include <string.h>

static const char *tables_of_cells(void)
{
    return value("SELECT count(*) FROM pg_tables WHERE schemaname='public' AND "
                 "tablename='holdfast_cell'");
}

/* ---- made when it is needed */

TEST(the_table_of_cells_is_made_by_the_first_who_uses_one)
{
    DOOR(d);
    DOOR(other);
    uint64_t version;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    use(&d, "job");
    EXPECT_IS(clean_cells(&d, 0), 0);
    EXPECT_TEXT(tables_of_cells(), "0");
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    version = told();
    EXPECT_TEXT(tables_of_cells(), "1");
    EXPECT_IS(get(&other, "stock"), HF_OK);
    EXPECT_IS(told(), version);
}

TEST(a_table_of_cells_that_is_dropped_is_made_anew)
{
    DOOR(d);
    uint64_t version;
    int session = HF_OK;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    version = told();
    sql("DROP TABLE holdfast_cell");
    prepare_put("stock", 0, "new");
    EXPECT_IS(ask_again(&d, 10000, &session), HF_EUNAVAIL);
    EXPECT_IS(session, HF_EUNAVAIL);
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(ask_again(&d, 10000, NULL), HF_OK);
    EXPECT_SAFE_MORE(told(), version);
}

TEST(the_longest_value_comes_back_as_it_was)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put_bytes(&d, "stock", 0, 0, HF__CELL_MAX), HF_OK);
    EXPECT_IS(put_bytes(&d, "stock", told(), 0xfe, HF__CELL_MAX), HF_OK);
    memset(last.value, 0, sizeof last.value);
    EXPECT_IS(get(&d, "stock"), HF_OK);
    EXPECT_IS(last.op.state.length, HF__CELL_MAX);
    EXPECT_IS(last.value[HF__CELL_MAX - 1], 0xfe);
    EXPECT_IS(put_bytes(&d, "stock", told(), 0, 0), HF_OK);
    EXPECT_IS(get(&d, "stock"), HF_OK);
    EXPECT(last.op.state.has_value);
    EXPECT_IS(last.op.state.length, 0);
}

/* ---- rights */

/* The tables are an administrator's, and this user may do so much there. */
static const char *url_of(const char *name, const char *of_cells)
{
    const char *user = make_user(name);

    sql("REVOKE CREATE ON SCHEMA public FROM public");
    sql("GRANT SELECT,INSERT,UPDATE,DELETE ON holdfast_lock,holdfast_beside,"
        "holdfast_ticket TO %s",
        user);
    if (of_cells != NULL) {
        sql("GRANT %s ON holdfast_cell TO %s", of_cells, user);
    }
    return url_as(user);
}

TEST(who_may_make_no_table_is_told_what_helps_and_has_his_locks)
{
    DOOR(d);

    sql("%s", hf__pg_ddl(NULL));
    sql("DROP TABLE holdfast_cell");
    EXPECT_IS(enter(&d, url_of("locks", NULL)), HF_OK);
    use(&d, "job");
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_EAUTH);
    EXPECT_HAS(last.error.text, "\"holdfast check --ddl\"");
    EXPECT_IS(get(&d, "stock"), HF_EAUTH);
    EXPECT_IS(clean_cells(&d, 0), 0);
    use(&d, "job");
}

TEST(who_may_only_read_cells_cleans_none)
{
    DOOR(d);
    DOOR(owner);

    sql("%s", hf__pg_ddl(NULL));
    EXPECT_IS(enter(&owner, url_of("owner", "ALL")), HF_OK);
    EXPECT_IS(delete_cell(&owner, "gone", 0), HF_OK);
    EXPECT_IS(enter(&d, url_of("reader", "SELECT")), HF_OK);
    EXPECT_IS(clean_cells(&d, 0), 0);
    EXPECT_IS(get(&d, "gone"), HF_OK);
    EXPECT_IS(put(&d, "gone", told(), "new"), HF_EAUTH);
    EXPECT_HAS(last.error.text, "SELECT, INSERT, UPDATE, DELETE");
    use(&d, "job");
    EXPECT_IS(clean_cells(&owner, 0), 1);
}

TEST(a_table_of_cells_of_another_shape_is_named_and_locks_go_on)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    sql("CREATE TABLE holdfast_cell(name_key bytea PRIMARY KEY,version bigint "
        "NOT NULL DEFAULT 0,writer bytea NOT NULL DEFAULT '',value text)");
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_EPROTO);
    EXPECT_HAS(last.error.text, "table holdfast_cell is not as Holdfast makes "
                                "it: value is text, and must be bytea");
    EXPECT_IS(get(&d, "stock"), HF_EPROTO);
    use(&d, "job");
}

/* ---- nonsense in a row */

/* Whoever reads it or wants to replace it is told, and it stays. */
static void expect_damaged(struct door *d, const char *assignments,
                           uint64_t version)
{
    char sum[64];

    EXPECT_IS(put(d, "stock", 0, "ten"), HF_OK);
    sql("UPDATE holdfast_cell SET %s", assignments);
    snprintf(sum, sizeof sum, "%s",
             value("SELECT md5(c::text) FROM "
                   "holdfast_cell c"));
    EXPECT_IS(get(d, "stock"), HF_EPROTO);
    EXPECT_HAS(last.error.text, "holdfast_cell was changed by somebody else");
    EXPECT_IS(put(d, "stock", version, "new"), HF_EPROTO);
    EXPECT_IS(delete_cell(d, "stock", version), HF_EPROTO);
    EXPECT_IS(put(d, "stock", 0, "new"), HF_EPROTO);
    EXPECT_IS(clean_cells(d, 0), 0);
    EXPECT_TEXT(value("SELECT md5(c::text) FROM holdfast_cell c"), sum);
    EXPECT_IS(put(d, "other", 0, "ten"), HF_OK);
    sql("DELETE FROM holdfast_cell");
}

TEST_WITHIN(60, a_row_of_a_cell_that_makes_no_sense_is_never_replaced)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    expect_damaged(&d, "version=0", 0);
    expect_damaged(&d, "version=0,value=NULL", 0);
    expect_damaged(&d, "version=-7", 7);
    expect_damaged(&d, "version=9007199254740991", HF__FENCE_END - 1);
    expect_damaged(&d, "version=9007199254740992", 7);
    expect_damaged(&d, "version=7,writer=''", 7);
    expect_damaged(&d, "version=7,writer='mine'", 7);
    expect_damaged(&d, "version=7,writer='mine',value=NULL", 7);
    expect_damaged(&d, "version=7,value=repeat('x',65537)::bytea", 7);
    expect_damaged(&d, "version=7,value=repeat('x',10000000)::bytea", 7);
}

TEST(what_somebody_wrote_that_makes_sense_is_a_value)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    sql("UPDATE holdfast_cell SET version=7,value='by hand'");
    EXPECT_IS(get(&d, "stock"), HF_OK);
    EXPECT_IS(told(), 7);
    EXPECT_IS(memcmp(last.value, "by hand", 7), 0);
    EXPECT_IS(put(&d, "stock", 7, "new"), HF_OK);
    EXPECT_MORE(told(), 7);
    /* As if the clock had been ahead. */
    sql("UPDATE holdfast_cell SET version=9007199254740000");
    EXPECT_IS(put(&d, "stock", 9007199254740000, "next"), HF_OK);
    EXPECT_SAFE_IS(told(), 9007199254740001);
    EXPECT_IS(delete_cell(&d, "stock", told()), HF_OK);
    EXPECT_IS(clean_cells(&d, 0), 0);
}

/* ---- cleaning */

TEST(tombstones_go_and_values_stay)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "a", 0, "ten"), HF_OK);
    sql("INSERT INTO holdfast_cell(name_key,version,writer) SELECT "
        "convert_to('holdfast='||i,'UTF8'),7,repeat('w',16)::bytea FROM "
        "generate_series(1,600) i");
    EXPECT_IS(delete_cell(&d, "z", 0), HF_OK);
    hf__test_pause_ms(30); /* only its age is too little then */
    EXPECT_IS(clean_cells(&d, 3600000000), 600);
    EXPECT_IS(clean_cells(&d, 0), 1);
    EXPECT_IS(get(&d, "a"), HF_OK);
}

TEST(a_tombstone_that_a_person_keeps_locked_stops_no_other)
{
    DOOR(d);
    PGconn *person = stranger();

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(delete_cell(&d, "a", 0), HF_OK);
    EXPECT_IS(delete_cell(&d, "b", 0), HF_OK);
    say(person, "BEGIN;SELECT 1 FROM holdfast_cell WHERE "
                "name_key='holdfast=a' FOR UPDATE");
    EXPECT_IS(clean_cells(&d, 0), 1);
    say(person, "ROLLBACK");
    EXPECT_IS(clean_cells(&d, 0), 1);
    PQfinish(person);
}

/* ---- a row that somebody keeps locked */

static void lock_cell(PGconn *person)
{
    say(person, "BEGIN;SELECT 1 FROM holdfast_cell WHERE "
                "name_key='holdfast=stock' FOR UPDATE");
}

TEST(a_row_that_a_person_keeps_locked_is_told_of_and_can_be_read)
{
    DOOR(d);
    PGconn *person = stranger();
    uint64_t version;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    version = told();
    lock_cell(person);
    EXPECT_IS(put(&d, "stock", version, "nine"), HF_EUNAVAIL);
    EXPECT_HAS(last.error.text, "locked");
    EXPECT_IS(get(&d, "stock"), HF_OK);
    EXPECT_IS(told(), version);
    EXPECT_IS(put(&d, "other", 0, "ten"), HF_OK);
    say(person, "ROLLBACK");
    EXPECT_IS(put(&d, "stock", version, "nine"), HF_OK);
    PQfinish(person);
}

/* ---- many at once */

enum { THREADS = 8, EACH = 25 };

static void count_up(void *url)
{
    DOOR(d);
    int done = 0;

    EXPECT_IS(enter(&d, url), HF_OK);
    while (done < EACH) {
        char text[32];
        int r;

        EXPECT_IS(get(&d, "count"), HF_OK);
        last.value[last.op.state.length] = '\0';
        snprintf(text, sizeof text, "%ld",
                 strtol((char *)last.value, NULL, 10) + 1);
        r = put(&d, "count", told(), text);
        EXPECT(r == HF_OK || r == HF_CONFLICT || r == HF__AGAIN);
        done += r == HF_OK;
    }
}

TEST_WITHIN(120, eight_threads_at_one_cell_lose_no_change)
{
    struct hf__test_thread *threads[THREADS];
    DOOR(d);
    char url[HF__POSTGRES_URL];

    snprintf(url, sizeof url, "%s", url_with(""));
    hf__test_start_all(threads, THREADS, count_up, url);
    hf__test_join_all(threads, THREADS);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(get(&d, "count"), HF_OK);
    EXPECT_SAFE_IS(last.op.state.length, 3);
    EXPECT_SAFE_IS(memcmp(last.value, "200", 3), 0);
}
