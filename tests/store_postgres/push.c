/* SPDX-License-Identifier: MIT */
/*
 * Holders that are told of a break: also of one that happened while they were
 * not connected; and a break is done where nobody can be told any more.
 */
#include "tests/store_postgres/world.h"

/* Until its renewal would tell it there is much time. */
enum { LEASE_MS = 90000, SOON_MS = 15000 };

static void expect_told(hf_lock *job)
{
    EXPECT_IS(hf_wait_lost(job, SOON_MS), HF_LOST);
    expect_lost(job, HF_REASON_BROKEN);
}

static hf_lock *share(hf_client *client, const char *name)
{
    hf_acquire_opts opts = wanting(0, LEASE_MS);

    opts.shared = 1;
    return must_acquire(client, name, &opts);
}

/* Those of whom it is the last statement, which they sent when they began. */
static int listeners(const char *what)
{
    return answer("SELECT count(%s) FROM pg_stat_activity WHERE datname='%s' "
                  "AND query LIKE 'SELECT broken_token%%'",
                  what, database())[0] -
           '0';
}

TEST_WITHIN(60, what_is_broken_while_nobody_listens_is_told_on_connecting)
{
    struct hf__proxy *proxy = hf__proxy_start(server_port(), server_framing());
    AUTO_CLIENT *bob = open_store();
    hf_client *alice;
    hf_lock *job;
    hf_lock *page;

    reach_by_port(hf__proxy_port(proxy));
    alice = open_store();
    await_listening(alice);
    job = acquire_leased(alice, "job", LEASE_MS);
    page = share(alice, "page");
    hf__proxy_refuse(proxy);
    EXPECT_IS(listeners("pg_terminate_backend(pid)"), 1);
    UNTIL(listeners("1") == 0);
    EXPECT_IS(hf_break(bob, "job", hf_fence(job), NULL), HF_OK);
    EXPECT_IS(hf_break(bob, "page", hf_fence(page), NULL), HF_OK);
    EXPECT_IS(hf_held(job) + hf_held(page), 2);
    hf__proxy_heal(proxy);
    expect_told(job);
    expect_told(page);
    hf_free(job);
    hf_free(page);
    hf_close(alice);
    hf__proxy_free(proxy);
}

/* An application notifies on our channel, too: it is believed in nothing. */
TEST_WITHIN(60, what_is_no_word_of_ours_ends_nothing)
{
    AUTO_STRANGER *db = stranger();
    CLIENTS(alice, bob);
    AUTO_LOCK *job = NULL;

    await_listening(alice);
    job = acquire_leased(alice, "job", LEASE_MS);
    tell(db, "NOTIFY holdfast, 'all is over'");
    tell(db, "NOTIFY holdfast");
    tell(db, "SELECT pg_notify('holdfast', substr(encode(token,'hex'),1,16)) "
             "FROM holdfast_lock");
    hf__test_pause_ms(500);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    expect_held(job);
    EXPECT_IS(hf_break(bob, "job", hf_fence(job), NULL), HF_OK);
    expect_told(job);
}

/* As a queue of eight gigabytes that somebody does not read: when the break is
 * to be committed, the server refuses to notify. */
static void fill_the_queue(void)
{
    hf__postgres_sql(
        server(), database(),
        "SET allow_system_table_mods=on;"
        "CREATE TABLE public.full_queue(a int);"
        "GRANT ALL ON public.full_queue TO PUBLIC;"
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION 'too many notifications in the NOTIFY queue' "
        "USING ERRCODE='54000'; END$$;"
        "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON public.full_queue "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "
        "public.refuse();"
        "ALTER FUNCTION pg_catalog.pg_notify(text,text) RENAME TO notify;"
        "CREATE FUNCTION pg_catalog.pg_notify(text,text) RETURNS "
        "void LANGUAGE sql AS 'INSERT INTO public.full_queue VALUES(1)'");
}

TEST_WITHIN(60, a_break_is_done_where_the_queue_of_notices_is_full)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", LEASE_MS);
    AUTO_LOCK *page = share(alice, "page");

    fill_the_queue();
    EXPECT_TEXT(hf__postgres_try(server(), database(),
                                 "SELECT pg_notify('holdfast','')"),
                "54000");
    EXPECT_IS(hf_break(bob, "job", hf_fence(job), NULL), HF_OK);
    EXPECT_IS(hf_break(bob, "page", hf_fence(page), NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
    expect_lost(job, HF_REASON_BROKEN);
    EXPECT_IS(hf_renew(page, NULL), HF_LOST);
}
