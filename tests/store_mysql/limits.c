/* SPDX-License-Identifier: MIT */
/*
 * A server that lets nobody in, answers nothing, ends our sessions, or takes
 * no more writes: a clear error in time, and no lock that is held suffers from
 * what is refused to others.
 */
#include "tests/servers/servers.h"
#include "tests/store_mysql/world.h"
#include "tests/store_server/damage.h"

#define LETS_IN HF__MARIADB_USER ":" HF__MARIADB_PASSWORD

static int port(void)
{
    return hf__mariadb_port(server());
}

/* ---- not let in */

TEST_WITHIN(60, where_nobody_listens_is_told_at_once)
{
    hf_error err = HF_ERROR_INIT;
    int64_t start = hf__test_now_ms();
    char url[512];

    EXPECT_IS(open_status(url_as(LETS_IN, "127.0.0.1", hf__servers_take_port(),
                                 database()),
                          &err),
              HF_EUNAVAIL);
    EXPECT_HAS(err.text, "127.0.0.1");
    EXPECT_SOON(since(start), patience(4000));
    /* How long the system looks for a name is beyond us. */
    snprintf(url, sizeof url, "%s?connect_timeout=2s",
             url_as(LETS_IN, "no-such-host.invalid", port(), database()));
    EXPECT_IS(open_status(url, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "no-such-host.invalid");
}

/* ---- no more connections */

TEST_WITHIN(60, who_comes_when_all_places_are_taken_is_told)
{
    static const char *const extra[] = {"--max-connections=12", NULL};
    AUTO_SERVER *m = own_server(extra);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    MYSQL *others[12] = {0};
    hf_error err = HF_ERROR_INIT;
    int r;

    for (int i = 0; i < 12; i++) {
        others[i] = mysql_init(NULL);
        if (!mysql_real_connect(others[i], "127.0.0.1", HF__MARIADB_USER,
                                HF__MARIADB_PASSWORD, NULL, (unsigned)port(),
                                NULL, 0)) {
            EXPECT_IS(mysql_errno(others[i]), 1040);
        }
    }
    r = open_status(store_url(NULL), &err);
    EXPECT_IS(r, HF_EUNAVAIL);
    EXPECT_HAS(err.text, "max_connections");
    EXPECT_IS(err.native, 1040);
    hf__test_pause_ms(patience(3000));
    expect_held(job); /* its connections were there */
    EXPECT_IS(try_once(alice, "other"), HF_OK);
    for (int i = 0; i < 12; i++) {
        mysql_close(others[i]);
    }
    hf__test_pause_ms(50);
    EXPECT_IS(open_status(store_url(NULL), &err), HF_OK);
    EXPECT(!hf__mariadb_has_ended(m));
}

TEST_WITHIN(60, a_limit_of_the_user_is_named)
{
    static const char *const extra[] = {"--max-user-connections=100", NULL};
    AUTO_SERVER *m = own_server(extra);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    hf_error err = HF_ERROR_INIT;
    int r;

    hf__mariadb_sql(m, "SET GLOBAL max_user_connections=2");
    r = open_status(store_url(NULL), &err);
    printf("%s\n", err.text);
    EXPECT_IS(r, HF_EUNAVAIL);
    EXPECT_HAS(err.text, "max_user_connections");
    hf__test_pause_ms(patience(2000));
    expect_held(job);
    hf__mariadb_sql(m, "SET GLOBAL max_user_connections=100");
    EXPECT_IS(open_status(store_url(NULL), &err), HF_OK);
}

/* ---- ended by an administrator */

static void kill_sessions(void)
{
    for (;;) {
        char id[32];

        snprintf(id, sizeof id, "%s",
                 hf__mariadb_value(server(),
                                   "SELECT id FROM "
                                   "information_schema.processlist WHERE "
                                   "db='%s' AND command='Sleep' LIMIT 1",
                                   database()));
        if (!id[0]) {
            return;
        }
        (void)hf__mariadb_try(server(), "KILL %s", id);
    }
}

CASE_WITHIN(60, sessions_that_are_killed_cost_nobody_a_lock,
            outlive_ends_of(kill_sessions));

/* A session that was idle for too long: the server has closed it. */
TEST_WITHIN(60, sessions_that_were_idle_too_long_cost_nobody_an_error)
{
    static const char *const extra[] = {"--wait-timeout=1",
                                        "--interactive-timeout=1", NULL};
    AUTO_SERVER *m = own_server(extra);
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__test_pause_ms(2500);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    EXPECT(!hf__mariadb_has_ended(m));
}

/* ---- no more writes */

TEST_WITHIN(60, a_server_that_turns_read_only_is_at_risk_and_then_lost)
{
    AUTO_SERVER *m = own_server(NULL);
    AUTO_CLIENT *alice = open_store();
    int64_t lease_ms = patience(2500);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;
    bool was_at_risk = false;

    hf__mariadb_sql(m, "SET GLOBAL read_only=1");
    EXPECT_IS(hf_acquire(alice, "other", &opts, &none, &err), HF_EUNAVAIL);
    printf("%s\n", err.text);
    EXPECT_HAS(err.text, "read-only");
    EXPECT_IS(hf_acquire(alice, "job", &opts, &none, &err), HF_EUNAVAIL);
    while (hf_held(job)) {
        was_at_risk = was_at_risk || hf_state(job) == HF_STATE_AT_RISK;
        hf__test_pause_ms(5);
    }
    EXPECT(was_at_risk);
    expect_lost(job, HF_REASON_EXPIRED);
    hf__mariadb_sql(m, "SET GLOBAL read_only=0");
    EXPECT_IS(attempt(alice, "job", 3000), HF_OK);
}
