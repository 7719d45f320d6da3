/* SPDX-License-Identifier: MIT */
/*
 * Groups of statements below the store: what is told of one that was undone,
 * as late as at its commit; values of each kind; and a session that has lost
 * what was prepared and its settings.
 */
#include "tests/store_postgres/site.h"

#include "src/backend/postgres/errors.h"

#include <string.h>

#define ASK(name, number, text)                                                \
    static const struct hf__pg_statement name = {number, text}

ASK(numbers, 30, "SELECT n FROM unnest($1) n ORDER BY n");
ASK(bytes, 31, "SELECT k,length(k)::bigint FROM unnest($1) k");
ASK(texts, 32, "SELECT string_agg(coalesce(t,'-'),',') FROM unnest($1) t");
ASK(values, 33, "SELECT $1,$2,$3,$4::bytea,-7::int,-8::smallint,true");
ASK(half, 34, "SELECT 12/$1");
ASK(insert, 35, "INSERT INTO holdfast_late VALUES($1,$2)");
ASK(table, 0,
    "CREATE TABLE holdfast_late(n bigint,of bigint UNIQUE DEFERRABLE INITIALLY "
    "DEFERRED)");
ASK(nowhere, 36, "SELECT FROM nowhere");
ASK(forget, 0, "DISCARD ALL");
ASK(settings, 0,
    "SELECT current_setting('lock_timeout')||current_setting('search_path')");

/* The session behind the door; its call has ten seconds. */
static struct hf__pg *begin(struct door *d)
{
    struct hf__pg *s;

    if (!hf__conn_is_open(&d->conn)) {
        EXPECT_IS(enter(d, url_with("")), HF_OK);
    }
    s = d->conn.state;
    hf__table_begin(&s->t, hf__after_ms(hf__now(), 10000), &d->error);
    hf__pg_begin_packet(s);
    return s;
}

static void expect_bytes(struct hf__pg *s, int column, const char *text,
                         size_t length)
{
    size_t n;
    const char *said = hf__pg_bytes(s, 0, column, &n);

    EXPECT_IS(n, length);
    EXPECT(memcmp(said, text, n) == 0);
}

TEST(values_of_each_kind_come_back)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    hf__pg_ask(s, &values);
    hf__pg_put_i64(s, INT64_MIN);
    hf__pg_put_bytes(s, "\0\xff'\\", 4);
    hf__pg_put_text(s, "gr\303\274n");
    hf__pg_put_null(s);
    EXPECT_IS(hf__pg_run_well(s), HF_OK);
    EXPECT_IS(hf__pg_i64(s, 0, 0), INT64_MIN);
    expect_bytes(s, 1, "\0\xff'\\", 4);
    expect_bytes(s, 2, "gr\303\274n", 5);
    EXPECT(hf__pg_is_null(s, 0, 3));
    EXPECT_IS(hf__pg_i64(s, 0, 3), 0);
    EXPECT_IS(hf__pg_i64(s, 0, 4), -7);
    EXPECT_IS(hf__pg_i64(s, 0, 5), -8);
    EXPECT_IS(hf__pg_i64(s, 0, 6), 1);
}

TEST(arrays_of_each_kind_come_back)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    hf__pg_ask(s, &numbers);
    hf__pg_put_array(s, HF__PG_INT8, 2);
    hf__pg_item_i64(s, 5);
    hf__pg_item_i64(s, -5);
    hf__pg_ask(s, &numbers);
    hf__pg_put_array(s, HF__PG_INT8, 0);
    hf__pg_end_group(s);
    hf__pg_ask(s, &bytes);
    hf__pg_put_array(s, HF__PG_BYTEA, 1);
    hf__pg_item(s, "", 0);
    hf__pg_ask(s, &texts);
    hf__pg_put_array(s, HF__PG_TEXT, 3);
    hf__pg_item(s, "a\"{,}\\", 6);
    hf__pg_item(s, NULL, 0);
    hf__pg_item(s, "NULL", 4);
    EXPECT_IS(hf__pg_send(s), HF_OK);
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT_IS(s->reply.n_rows, 2);
    EXPECT_IS(hf__pg_i64(s, 0, 0), -5);
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT_IS(s->reply.n_rows, 0);
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT_IS(s->reply.n_rows, 1);
    EXPECT_IS(hf__pg_i64(s, 0, 1), 0);
    EXPECT_IS(hf__pg_next(s), HF_OK);
    expect_bytes(s, 0, "a\"{,}\\,-,NULL", 13);
}

static void ask_half(struct hf__pg *s, int64_t of)
{
    hf__pg_ask(s, &half);
    hf__pg_put_i64(s, of);
}

/* Another of its group was refused. */
static bool is_skipped(const struct hf__pg *s)
{
    return s->reply.sqlstate[0] != '\0' && !s->reply.is_refused;
}

static void expect_reply(struct hf__pg *s, bool is_refused, bool skipped)
{
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT_IS(s->reply.is_refused, is_refused);
    EXPECT_IS(is_skipped(s), skipped);
    EXPECT_TEXT(s->reply.sqlstate, is_refused || skipped ? "22012" : "");
}

/* Also what went well before in it; the groups beside it are as they were. */
TEST(a_group_is_undone_as_a_whole)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    ask_half(s, 1);
    hf__pg_end_group(s);
    ask_half(s, 2);
    ask_half(s, 0);
    ask_half(s, 3);
    hf__pg_end_group(s);
    ask_half(s, 4);
    EXPECT_IS(hf__pg_send(s), HF_OK);
    expect_reply(s, false, false);
    expect_reply(s, false, true);
    expect_reply(s, true, false);
    EXPECT_IS(hf__pg_error_class(s), HF__PG_STATEMENT);
    EXPECT_IS(hf__pg_refusal(s, &d.error), HF_EPROTO);
    EXPECT_HAS(d.error.text, "division by zero");
    EXPECT_TEXT(d.error.sqlstate, "22012");
    expect_reply(s, false, true);
    expect_reply(s, false, false);
    EXPECT_IS(hf__pg_i64(s, 0, 0), 3);
}

static void ask_insert(struct hf__pg *s, int64_t n, int64_t of)
{
    hf__pg_ask(s, &insert);
    hf__pg_put_i64(s, n);
    hf__pg_put_i64(s, of);
}

/* A constraint that is looked at when all else went well. */
TEST(what_cannot_be_committed_is_told_as_undone)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    hf__pg_ask(s, &table);
    EXPECT_IS(hf__pg_run_well(s), HF_OK);
    s = begin(&d);
    ask_insert(s, 1, 1);
    ask_insert(s, 2, 1);
    hf__pg_end_group(s);
    ask_insert(s, 3, 3);
    EXPECT_IS(hf__pg_send(s), HF_OK);
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT(is_skipped(s));
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT(s->reply.is_refused);
    EXPECT_TEXT(s->reply.sqlstate, "23505");
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT_TEXT(s->reply.sqlstate, "");
    EXPECT_TEXT(PQcmdTuples(s->reply.rows), "1");
    EXPECT_TEXT(value("SELECT sum(n) FROM holdfast_late"), "3");
}

/* Before it is done, when it is prepared, or with the settings before it. */
TEST(what_is_refused_before_it_is_done_is_refused_in_the_servers_words)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    hf__pg_ask(s, &nowhere);
    EXPECT_IS(hf__pg_run(s), HF_OK);
    EXPECT(s->reply.is_refused);
    EXPECT_IS(hf__pg_refusal(s, &d.error), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "relation \"nowhere\" does not exist");
    s = begin(&d);
    ask_half(s, 4);
    hf__pg_ask(s, &nowhere);
    EXPECT_IS(hf__pg_send(s), HF_OK);
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT(is_skipped(s));
    EXPECT_IS(hf__pg_next(s), HF_OK);
    EXPECT(s->reply.is_refused);
    expect_refused(url_with("schema=%FF"), HF_EPROTO, "invalid byte sequence");
}

/* The first refusal stays, and what comes after it is still owed to nobody. */
TEST(what_is_left_is_skipped)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    ask_half(s, 1);
    hf__pg_end_group(s);
    ask_half(s, 0);
    hf__pg_end_group(s);
    ask_half(s, 3);
    EXPECT_IS(hf__pg_send(s), HF_OK);
    EXPECT_IS(hf__pg_skip(s), HF_OK);
    EXPECT(s->reply.is_refused);
    EXPECT_HAS(PQresultErrorMessage(s->reply.rows), "division by zero");
    s = begin(&d);
    ask_half(s, 4);
    EXPECT_IS(hf__pg_run_well(s), HF_OK);
}

static void expect_settings(struct hf__pg *s)
{
    hf__pg_begin_packet(s);
    hf__pg_ask(s, &settings);
    EXPECT_IS(hf__pg_run_well(s), HF_OK);
    expect_bytes(s, 0, "250mspg_catalog, pg_temp", 24);
}

TEST(a_session_that_was_reset_is_as_before)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    ask_half(s, 1);
    EXPECT_IS(hf__pg_run_well(s), HF_OK);
    expect_settings(s);
    for (int i = 0; i < 3; i++) {
        hf__pg_begin_packet(s);
        hf__pg_ask(s, &forget);
        EXPECT_IS(hf__pg_run_well(s), HF_OK);
        hf__pg_begin_packet(s);
        ask_half(s, 1);
        EXPECT_IS(hf__pg_run_well(s), HF_OK);
        expect_settings(s);
    }
    use(&d, "job");
}

/* By somebody whose connection it was before, unseen. */
TEST(what_is_prepared_by_that_name_already_is_prepared_by_another)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);
    char text[96];
    struct hf__pg_statement taken = {0, text};

    snprintf(text, sizeof text, "PREPARE \"h%d.%u.%016llx\" AS SELECT 1",
             half.number, s->wire.epoch, (unsigned long long)s->server.mark);
    hf__pg_ask(s, &taken);
    EXPECT_IS(hf__pg_run_well(s), HF_OK);
    s = begin(&d);
    ask_half(s, 4);
    EXPECT_IS(hf__pg_run_well(s), HF_OK);
    EXPECT_IS(hf__pg_i64(s, 0, 0), 3);
}

/* In a packet of several it is told as undone, and what is asked next is
 * asked anew. */
TEST(what_was_forgotten_in_a_packet_is_prepared_for_the_next)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    ask_half(s, 1);
    EXPECT_IS(hf__pg_run_well(s), HF_OK);
    s = begin(&d);
    hf__pg_ask(s, &forget);
    hf__pg_end_group(s);
    ask_half(s, 1);
    hf__pg_end_group(s);
    ask_half(s, 2);
    EXPECT_IS(hf__pg_send(s), HF_OK);
    EXPECT_IS(hf__pg_next(s), HF_OK);
    for (int i = 0; i < 2; i++) {
        EXPECT_IS(hf__pg_next(s), HF_OK);
        EXPECT_TEXT(s->reply.sqlstate, "26000");
        EXPECT_IS(hf__pg_error_class(s), HF__PG_UNKNOWN_PREPARED);
    }
    s = begin(&d);
    ask_half(s, 1);
    hf__pg_end_group(s);
    ask_half(s, 2);
    EXPECT_IS(hf__pg_send(s), HF_OK);
    expect_reply(s, false, false);
    expect_reply(s, false, false);
    expect_settings(s);
}

TEST(a_reply_that_is_not_taken_ends_the_session)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    ask_half(s, 1);
    ask_half(s, 2);
    EXPECT_IS(hf__pg_send(s), HF_OK);
    EXPECT_IS(hf__pg_next(s), HF_OK);
    s = begin(&d);
    ask_half(s, 1);
    EXPECT_IS(hf__pg_send(s), HF_EUNAVAIL);
    EXPECT(s->wire.is_dead);
}

TEST(a_session_that_was_ended_says_why)
{
    DOOR(d);
    struct hf__pg *s = begin(&d);

    EXPECT_IS(hf__pg_look(s), HF_OK);
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
        "datname=current_database() AND pid<>pg_backend_pid()");
    UNTIL(hf__pg_look(s) == HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "has closed the connection");
}
