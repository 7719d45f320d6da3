/* SPDX-License-Identifier: MIT */
/*
 * How a lock of scheme=row ends, besides by its release: its transaction is
 * rolled back, its connection is killed, says nothing, or the server is. Each
 * is a loss that its holder is told at the next renewal, the next holder's
 * fence is higher, and what does not end it is no loss.
 */
#include "src/backend/mysql_session/pool.h"
#include "tests/servers/proxy.h"
#include "tests/store_mysql_row/world.h"

#include <string.h>

/* Nothing but its own client ends a transaction and leaves the connection, so
 * the test speaks by that one which has the party's lock. */
static void say(struct party *p, const char *statement)
{
    struct hf__ul_session *f = p->conn.state;

    HF__LIST_EACH (it, &f->pool->conns) {
        struct hf__ul_conn *conn = HF__ELEMENT(it, struct hf__ul_conn, in_pool);

        if (conn->n_locks > 0) {
            hf__mutex_lock(&f->pool->mutex);
            EXPECT(hf__ul_conn_try(f, conn));
            hf__mutex_unlock(&f->pool->mutex);
            hf__table_begin(&f->mysql.t, hf__after_ms(hf__now(), slowly(5000)),
                            &p->error);
            hf__text_clear(&f->mysql.sql);
            hf__text_add(&f->mysql.sql, statement);
            EXPECT_IS(hf__wire_run(&f->mysql), HF_OK);
            EXPECT_IS(f->mysql.reply.error, 0);
            hf__ul_conn_give(f, conn);
            return;
        }
    }
    EXPECT(false);
}

/* It was lost, and who has it next has a higher fence. */
static void expect_loss(struct party *loser, struct party *next)
{
    EXPECT_IS(renew(loser, "job"), HF_LOST);
    EXPECT_IS(acquire(next, "job"), HF_OK);
    EXPECT_SAFE_MORE(fence_of(next, "job"), fence_of(loser, "job"));
    EXPECT_IS(release(loser, "job"), HF_LOST);
    EXPECT_IS(renew(next, "job"), HF_OK);
}

TEST(a_transaction_that_was_rolled_back_under_its_lock_is_a_loss)
{
    JOB_OF(alice, bob);

    say(&alice, "ROLLBACK");
    UNTIL(transactions() == 0);
    expect_loss(&alice, &bob);
}

/* Its connection goes on, and says so later than the renewal waits. */
TEST(a_late_answer_of_a_transaction_that_is_over_renews_nothing)
{
    struct hf__proxy *p =
        hf__proxy_start(hf__mariadb_port(server()), &hf__framing_mysql);
    PARTY(bob);
    PARTY_AT(alice, url_by(hf__proxy_port(p)));
    struct request q;
    struct hf__op *op = &q.op;
    hf_error error = HF_ERROR_INIT;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    say(&alice, "ROLLBACK");
    hf__proxy_delay(p, HF__TO_CLIENT, slowly(300));
    ask(&alice, &q, HF__OP_RENEW, "job");
    EXPECT_IS(hf__conn_execute(&alice.conn, &op, 1, hf__after_ms(hf__now(), 50),
                               &error),
              HF_OK);
    EXPECT_IS(op->result, HF_EUNKNOWN);
    hf__proxy_heal(p);
    expect_loss(&alice, &bob);
    hf__proxy_free(p);
}

TEST(one_that_was_committed_under_it_is_told_by_the_release)
{
    JOB_OF(alice, bob);

    say(&alice, "COMMIT");
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

/* As long as the connection lives, so does the user lock that says whose it is:
 * nobody enters before the loss could be told. */
TEST(nobody_enters_while_the_loser_does_not_know)
{
    JOB_OF(alice, bob);

    say(&alice, "ROLLBACK");
    EXPECT_SAFE_IS(acquire(&bob, "job"), HF_BUSY);
    expect_loss(&alice, &bob);
}

TEST(a_holder_that_is_killed_has_lost_it)
{
    JOB_OF(alice, bob);

    end_connection(holder());
    UNTIL(transactions() == 0);
    expect_loss(&alice, &bob);
}

TEST(a_holder_that_says_nothing_loses_it_when_the_session_is_over)
{
    PARTY_AT(alice, url_with("session_timeout=1s"));
    PARTY(bob);
    struct waiting w;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    watch_name(&w, &bob, "job");
    EXPECT_IS(wait_up_to(&w, slowly(10000)), HF_OK);
    EXPECT(w.watch.has_fired);
    EXPECT_MORE(w.took_ms, 900);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_SAFE_MORE(fence_of(&bob, "job"), fence_of(&alice, "job"));
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
}

TEST(a_killed_statement_is_no_loss)
{
    JOB_OF(alice, bob);

    hf__mariadb_sql(server(), "KILL QUERY %lld", (long long)holder());
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
}

/* It waits, for the table is in use. */
TEST(a_change_of_the_table_ends_no_lock)
{
    JOB_OF(alice, bob);

    EXPECT_IS(hf__mariadb_try(server(),
                              "SET STATEMENT lock_wait_timeout=1 FOR ALTER "
                              "TABLE %s.holdfast_row ADD x INT",
                              database()),
              1205);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
}

TEST(fences_rise_over_all_ends)
{
    uint64_t last = 0;

    for (int i = 0; i < 6; i++) {
        PARTY(alice);

        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        EXPECT_SAFE_MORE(fence_of(&alice, "job"), last);
        last = fence_of(&alice, "job");
        if (i == 0) {
            /* Ahead of the clock, from which they would go on otherwise. */
            last += 3600 * UINT64_C(1000000);
            hf__mariadb_sql(server(),
                            "UPDATE %s.holdfast_row_holder SET fence=%llu",
                            database(), (unsigned long long)last);
        }
        if (i % 3 == 0) {
            end_connection(holder());
        } else if (i % 3 == 1) {
            say(&alice, "ROLLBACK");
        }
        leave(&alice);
        UNTIL(transactions() == 0);
    }
}

TEST_WITHIN(60, fences_rise_over_a_crash_of_the_server)
{
    struct hf__mariadb *own =
        hf__mariadb_start(&(struct hf__mariadb_opts){.on_disk = true});
    char url[HF__MARIADB_URL + 32];
    uint64_t fence;

    hf__mariadb_fresh_url(own, url, sizeof url);
    snprintf(url + strlen(url), sizeof url - strlen(url), "?scheme=row");
    {
        PARTY_AT(alice, url);

        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        fence = fence_of(&alice, "job");
        hf__mariadb_kill(own);
        hf__mariadb_restart(own, NULL);
        EXPECT_IS(renew(&alice, "job"), HF_LOST);
    }
    PARTY_AT(bob, url);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_SAFE_MORE(fence_of(&bob, "job"), fence);
    leave(&bob);
    hf__mariadb_free(own);
}
