/* SPDX-License-Identifier: MIT */
/*
 * Names of locks are the server's, for all databases: short ones, of one case,
 * compared as text. Each name of a database's is a lock of its own all the
 * same. Without a database there is no table, so no fence and no list.
 */
#include "tests/store_mysql_session/world.h"

#include <string.h>

/* One client holds them all at once, another none. */
static void expect_apart(const char *const names[], int n)
{
    CLIENTS(alice, bob);
    hf_lock *locks[8];

    for (int i = 0; i < n; i++) {
        locks[i] = acquire(alice, names[i]);
    }
    for (int i = 0; i < n; i++) {
        EXPECT_SAFE_IS(try_once(bob, names[i]), HF_BUSY);
        EXPECT_IS(hf_release(locks[i], NULL), HF_OK);
        hf_free(locks[i]);
        EXPECT_IS(try_once(bob, names[i]), HF_OK);
    }
}

/* One whose name has nothing but small letters is a part of the locks' as it
 * is; gone with the scope. */
#define PLAIN_DATABASE(name)                                                   \
    __attribute__((cleanup(drop_database), unused)) const char *plain_ =       \
        plain_database(name)

static void drop_database(const char **name)
{
    hf__mariadb_sql(server(), "DROP DATABASE %s", *name);
}

static const char *plain_database(const char *name)
{
    hf__mariadb_sql(server(), "CREATE DATABASE %s", name);
    name_database(name);
    return name;
}

TEST(names_that_the_server_takes_for_one_are_two)
{
    PLAIN_DATABASE("hf_small_a");
    static const char *const names[] = {"job",  "JOB",        "Job",  "job ",
                                        "job.", "j\xc3\xb6-", "a:job"};

    expect_apart(names, 7);
}

TEST(names_longer_than_the_servers_are_told_apart)
{
    char one[HF_NAME_MAX + 1];
    char other[HF_NAME_MAX + 1];
    const char *const names[] = {one, other};
    PLAIN_DATABASE("hf_small_b");

    for (int length = 30; length <= HF_NAME_MAX; length += 15) {
        memset(one, 'x', sizeof one);
        memset(other, 'x', sizeof other);
        one[length] = other[length] = '\0';
        other[length - 1] = 'y';
        expect_apart(names, 2);
    }
}

TEST(two_databases_of_one_server_have_two_locks_of_one_name)
{
    PLAIN_DATABASE("hf_small_c");
    HELD(job, alice);
    const char *other = plain_database("hf_small_d");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *another = acquire(bob, "job");

    name_database(NULL);
    AUTO_CLIENT *carol = open_store();
    AUTO_LOCK *third = acquire(carol, "job");

    expect_held(job);
    expect_held(another);
    expect_held(third);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(try_once(carol, "job"), HF_BUSY);
    drop_database(&other);
}

TEST(a_lock_of_the_table_is_another)
{
    HELD(job, alice);
    char url[HF__MARIADB_URL];
    hf_client *bob = NULL;

    hf__mariadb_test_url(url, sizeof url);
    EXPECT_IS(hf_open(url, NULL, &bob, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    expect_held(job);
    hf_close(bob);
}

/* ---- without a database */

static int count(void *arg, const hf_info *info)
{
    (void)info;
    ++*(int *)arg;
    return 0;
}

TEST(without_a_database_there_is_neither_fence_nor_list)
{
    name_database(NULL);
    HELD(job, alice, bob);
    AUTO_INFO *info = look_at(bob, "job");
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_gc_info gc = HF_GC_INFO_INIT;
    char whose[40];
    int n = 0;

    EXPECT_IS(hf_caps(bob, &caps), HF_OK);
    EXPECT_IS(caps.flags & (HF_CAP_FENCE | HF_CAP_LIST), 0);
    EXPECT_IS(hf_fence(job), 0);
    EXPECT_IS(hf_list(bob, NULL, count, &n, &err), HF_ENOTSUP);
    EXPECT_HAS(err.text, "name a database in the URL");
    EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
    snprintf(whose, sizeof whose, "connection %lld",
             (long long)holder_of("job"));
    EXPECT_TEXT(hf_info_label(info), whose);
    EXPECT_HAS(hf_info_host(info), HF__MARIADB_USER "@127.0.0.1");
    EXPECT_IS(hf_gc(bob, 0, &gc, NULL), HF_OK);
    EXPECT_IS(gc.removed, 0);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(presence(bob, "job"), HF_FREE);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST(without_a_database_the_waiter_is_next)
{
    name_database(NULL);
    HELD(job, alice);
    hf_client *bob = open_store();
    struct waiter w;

    begin_to_wait(&w, bob, "job", patience(10000));
    hf__test_pause_ms(300);
    EXPECT_SAFE(!atomic_load(&w.is_done));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiting(&w), HF_OK);
    hf__test_pause_ms(session_ms() * 4 / 3);
    expect_held(w.lock);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(hf_release(w.lock, NULL), HF_OK);
    hf_free(w.lock);
    hf_close(bob);
}

/* ---- the table */

TEST(the_ddl_of_this_scheme_is_its_table_alone)
{
    const char *ddl = NULL;

    EXPECT_IS(hf_ddl(store_url(NULL), &ddl, NULL), HF_OK);
    EXPECT_HAS(ddl, "CREATE TABLE IF NOT EXISTS holdfast_session (");
    EXPECT(strstr(ddl, "CREATE") == strrchr(ddl, 'C') ||
           !strstr(strstr(ddl, "CREATE") + 1, "CREATE"));
    EXPECT(!strstr(ddl, "holdfast_lock"));
}

TEST(who_may_make_no_table_is_told_what_makes_it)
{
    hf_error err = HF_ERROR_INIT;

    come_as(new_user("plain", "SELECT,INSERT,UPDATE,DELETE"));
    EXPECT_IS(open_status(store_url(NULL), &err), HF_EAUTH);
    EXPECT_HAS(err.text, "holdfast check --ddl");
    EXPECT_HAS(err.text, "holdfast_session");
    come_as(NULL);
    hf_close(open_store()); /* it makes it */
    come_as(new_user("fair", "SELECT,INSERT,UPDATE,DELETE"));
    AUTO_CLIENT *bob = open_store();

    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* ---- what a URL can't say */

static void expect_told(const char *options, const char *words)
{
    char url[400];
    hf_error err = HF_ERROR_INIT;

    snprintf(url, sizeof url, "mysql://%s:%s@127.0.0.1:%d/%s?%s",
             HF__MARIADB_USER, HF__MARIADB_PASSWORD, hf__mariadb_port(server()),
             database(), options);
    EXPECT_IS(open_status(url, &err), HF_EINVAL);
    EXPECT_HAS(err.text, words);
}

TEST(what_can_not_be_is_told)
{
    expect_told("scheme=session&session_timeout=1500ms",
                "session_timeout: the server counts whole seconds");
    expect_told("scheme=session&session_timeout=0", "session_timeout");
    expect_told("scheme=session&session_timeout=2h", "session_timeout");
    expect_told("scheme=session&locks_per_connection=0",
                "locks_per_connection");
    expect_told("scheme=session&locks_per_connection=-1",
                "locks_per_connection");
    expect_told("session_timeout=3s",
                "session_timeout: it goes with scheme=session");
    expect_told("scheme=table&locks_per_connection=3",
                "locks_per_connection: it goes with scheme=session");
    expect_told("scheme=sessions", "scheme: \"sessions\" is none of");
}
