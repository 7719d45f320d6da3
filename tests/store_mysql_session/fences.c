/* SPDX-License-Identifier: MIT */
/*
 * The fences of several claims are one transaction: what becomes of the others
 * if the server refuses one of them, or the end of it. Whoever is told that he
 * has a lock has it on the server.
 */
#include "tests/store_mysql_session/relay.h"
#include "tests/store_mysql_session/world.h"

#include <stdio.h>

#define LONG "session_timeout=60s"

TEST_WITHIN(60, a_commit_that_is_refused_once_costs_no_lock)
{
    static const char *const names[] = {"a", "b"};
    say_options(LONG);
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), "tls=off");
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *both = NULL;

    EXPECT_IS(try_once(alice, "a"), HF_OK); /* all its connections are there */
    relay_translate(r, "COMMIT", "SIGNAL SQLSTATE '45000' -- ", 1);
    EXPECT_IS(hf_acquire_many(alice, names, 2, &opts, &both, NULL), HF_OK);
    EXPECT_IS(relay_hits(r), 1);
    for (int i = 0; i < 2; i++) {
        EXPECT_MORE(holder_of(names[i]), 0);
        EXPECT_IS(try_once(bob, names[i]), HF_BUSY);
    }
    expect_held(both);
    EXPECT_IS(hf_release(both, NULL), HF_OK);
}

enum { N = 9, ROUNDS = 20 };

struct claimant {
    hf_client *client;
    char name[8];
    int result;
    hf_lock *lock;
};

static void claim(void *arg)
{
    struct claimant *c = arg;
    hf_acquire_opts opts = wanting(patience(5000), HF_LEASE_DEFAULT_MS);

    c->result = hf_acquire(c->client, c->name, &opts, &c->lock, NULL);
}

/* Side by side, so that some are in one batch with the last. */
static int claim_all(struct claimant c[N])
{
    struct hf__test_thread *thread[N];
    int granted = 0;

    for (int i = 0; i < N; i++) {
        c[i].lock = NULL;
        thread[i] = hf__test_start(claim, &c[i]);
    }
    for (int i = 0; i < N; i++) {
        hf__test_join(thread[i]);
    }
    for (int i = 0; i < N; i++) {
        if (c[i].result == HF_OK) {
            EXPECT_MORE(holder_of(c[i].name), 0);
            expect_held(c[i].lock);
            EXPECT_IS(hf_release(c[i].lock, NULL), HF_OK);
            hf_free(c[i].lock);
            granted++;
        }
    }
    return granted;
}

TEST_WITHIN(60, a_row_that_makes_no_sense_costs_no_other_lock)
{
    say_options(LONG);
    AUTO_CLIENT *alice = open_store();
    struct claimant c[N] = {{.client = alice}};

    for (int i = 0; i < N; i++) {
        c[i].client = alice;
        (void)snprintf(c[i].name, sizeof c[i].name, "n%d", i);
        EXPECT_IS(try_once(alice, c[i].name), HF_OK);
    }
    set_row(c[N - 1].name, "fence=18446744073709551615");
    for (int i = 0; i < ROUNDS; i++) {
        EXPECT_IS(claim_all(c), N - 1);
        EXPECT_IS(c[N - 1].result, HF_EPROTO);
    }
}
