/* SPDX-License-Identifier: MIT */
/*
 * A change of a cell that gets no answer: whatever became of it, the same one
 * asked for again is applied once, and what was given up is not applied later.
 */
#include "tests/servers/proxy.h"
#include "tests/store_mysql/site.h"
#include "tests/store_server/cell.h"

#include <stdlib.h>
#include <string.h>

#define IO_MS 10000

/* ---- a row that somebody keeps locked */

static void query(MYSQL *db, const char *sql)
{
    EXPECT_IS(mysql_query(db, sql), 0);
    mysql_free_result(mysql_store_result(db));
}

static void lock_cell(MYSQL *db)
{
    query(db, "BEGIN");
    query(db, "SELECT version FROM holdfast_cell WHERE "
              "name_key='holdfast=stock' FOR UPDATE");
}

TEST_WITHIN(60, a_row_that_a_person_keeps_locked_is_told_of_and_can_be_read)
{
    DOOR(d);
    MYSQL *person = stranger();
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
    query(person, "ROLLBACK");
    EXPECT_IS(put(&d, "stock", version, "nine"), HF_OK);
    mysql_close(person);
}

static void interrupt_soon(void *conn)
{
    hf__test_pause_ms(200);
    hf__conn_interrupt(conn);
}

/* It waits on the server for the row, and nobody waits for it any more. */
TEST_WITHIN(60, a_change_that_was_given_up_is_not_applied_by_its_ghost)
{
    DOOR(d);
    MYSQL *person = stranger();
    struct hf__test_thread *thread;
    uint64_t version;
    int session = HF_OK;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    version = told();
    lock_cell(person);
    prepare_put("stock", version, "ghost");
    thread = hf__test_start(interrupt_soon, &d.conn);
    EXPECT_IS(ask_again(&d, IO_MS, &session), HF_EUNKNOWN);
    EXPECT_LESS(session, 0);
    hf__test_join(thread);
    EXPECT_IS(enter(&d, url_with("")), HF_OK); /* which ends it */
    query(person, "COMMIT");
    hf__test_pause_ms(300);
    EXPECT_IS(get(&d, "stock"), HF_OK);
    EXPECT_SAFE_IS(told(), version);
    EXPECT_IS(put(&d, "stock", version, "nine"), HF_OK);
    mysql_close(person);
}

/* ---- an answer that does not come */

struct way {
    struct hf__proxy *proxy;
    char url[HF__MARIADB_URL];
};

static void begin_way(struct way *w)
{
    w->proxy = hf__proxy_start(hf__mariadb_port(server()), &hf__framing_mysql);
    snprintf(w->url, sizeof w->url, "mysql://%s:%s@127.0.0.1:%d/%s",
             HF__MARIADB_USER, HF__MARIADB_PASSWORD, hf__proxy_port(w->proxy),
             database());
}

/* The change is cut there; then it is asked for again. */
static void ask_twice(struct way *w, struct door *d, const char *statement,
                      enum hf__proxy_what what, enum hf__proxy_where where)
{
    struct hf__proxy_rule rule = {
        .what = what, .where = where, .action = HF__CLOSE};
    int session = HF_OK;
    uint64_t applied;

    snprintf(rule.text, sizeof rule.text, "%s", statement);
    hf__proxy_rule(w->proxy, &rule);
    EXPECT_IS(ask_again(d, IO_MS, &session), HF_EUNKNOWN);
    EXPECT_LESS(session, 0);
    applied = strtoull(cell_says("stock", "version"), NULL, 10);
    hf__proxy_heal(w->proxy);
    EXPECT_IS(enter(d, w->url), HF_OK);
    EXPECT_IS(ask_again(d, IO_MS, NULL), HF_OK);
    EXPECT_SAFE_IS(told() == applied, what == HF__REPLY);
    EXPECT_SAFE_IS(strtoull(cell_says("stock", "version"), NULL, 10), told());
}

static void lose(enum hf__proxy_what what, enum hf__proxy_where where)
{
    DOOR(d);
    DOOR(other);
    struct way w;
    uint64_t first;

    begin_way(&w);
    EXPECT_IS(enter(&d, w.url), HF_OK);
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    EXPECT_IS(get(&d, "stock"), HF_OK);
    prepare_put("stock", 0, "ten");
    ask_twice(&w, &d, "INSERT INTO holdfast_cell", what, where);
    first = told();
    prepare_put("stock", first, "nine");
    ask_twice(&w, &d, "UPDATE holdfast_cell", what, where);
    EXPECT_SAFE_MORE(told(), first);
    EXPECT_TEXT(cell_says("stock", "value"), "nine");
    first = told();
    /* Asked for once more after another's change it is no success. */
    struct hf__cell_op late = last.op;
    EXPECT_IS(put(&other, "stock", first, "others"), HF_OK);
    prepare_put("stock", late.expected, "nine");
    last.op = late;
    EXPECT_IS(ask_again(&d, IO_MS, NULL), HF_CONFLICT);
    EXPECT_TEXT(cell_says("stock", "value"), "others");
    shut(&d);
    hf__proxy_free(w.proxy);
}

CASE_WITHIN(60, a_change_that_does_not_arrive_is_applied_by_the_next_try,
            lose(HF__STATEMENT, HF__BEFORE));
CASE_WITHIN(60, a_change_whose_answer_is_lost_is_applied_once,
            lose(HF__REPLY, HF__BEFORE));

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

static void count_together(char *url)
{
    struct hf__test_thread *threads[THREADS];
    DOOR(d);

    hf__test_start_all(threads, THREADS, count_up, url);
    hf__test_join_all(threads, THREADS);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(get(&d, "count"), HF_OK);
    EXPECT_SAFE_IS(last.op.state.length, 3);
    EXPECT_SAFE_IS(memcmp(last.value, "200", 3), 0);
    EXPECT_IS(delete_cell(&d, "count", told()), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&d, 0), 1);
}

TEST_WITHIN(120, eight_threads_at_one_cell_lose_no_change)
{
    char url[HF__MARIADB_URL];

    snprintf(url, sizeof url, "%s", url_with(""));
    count_together(url);
}

TEST_WITHIN(120, nor_where_the_server_logs_statements)
{
    static const char *const extra[] = {"--log-bin",
                                        "--binlog-format=STATEMENT", NULL};
    const struct hf__mariadb_opts opts = {.extra = extra};
    struct hf__mariadb *m = hf__mariadb_start(&opts);
    char url[HF__MARIADB_URL];

    hf__mariadb_fresh_url(m, url, sizeof url);
    count_together(url);
    hf__mariadb_free(m);
}
