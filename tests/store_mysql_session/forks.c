/* SPDX-License-Identifier: MIT */
/*
 * A process that forks while it holds locks: what its child does with the
 * connections that it got with them, whatever that is, disturbs nobody; and no
 * program that it starts keeps the locks of one that is gone.
 */
#include "tests/store_mysql_session/world.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_child(void (*fn)(void))
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        fn();
        _exit(0);
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
}

static hf_client *client;
static hf_lock *lock;

static void do_nothing(void)
{
}

static void free_all(void)
{
    hf_free(lock);
    hf_close(client);
}

/* It waits for its parent's lock by a client of its own. */
static void wait_in_vain(void)
{
    hf_client *own = open_store();

    EXPECT_IS(attempt(own, "job", 300), HF_TIMEDOUT);
    hf_close(own);
}

TEST_WITHIN_IF(60, hf__test_may_fork_beside_threads(),
               a_child_disturbs_no_connection_of_its_parents)
{
    int64_t holder;

    client = open_store();
    lock = acquire(client, "job");
    holder = holder_of("job");
    expect_child(do_nothing);
    expect_child(free_all);
    expect_child(wait_in_vain);
    EXPECT_IS(hf_wait_lost(lock, session_ms() * 3 / 2), HF_TIMEDOUT);
    expect_held(lock);
    EXPECT_IS(holder_of("job"), holder);
    EXPECT_IS(try_once(client, "other"), HF_OK);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(holder_of("job"), 0);
    free_all();
}

/* The server sees the end of the connection: nobody else has it open. */
static void die_beside(pid_t (*start)(struct peer *))
{
    struct peer *alice;
    pid_t heir;
    int64_t start_ms;

    say_options("session_timeout=60s");
    alice = start_peer();
    AUTO_CLIENT *bob = open_store();

    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_OK);
    heir = start(alice);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    start_ms = hf__test_now_ms();
    kill_peer(alice);
    EXPECT_IS(attempt(bob, "job", patience(20000)), HF_OK);
    EXPECT_SOON(since(start_ms), patience(5000));
    EXPECT_IS(kill(heir, 0), 0);
    EXPECT_IS(kill(heir, SIGKILL), 0);
}

CASE_WITHIN(60, a_program_of_a_dead_holder_keeps_no_lock,
            die_beside(peer_spawns_program));
CASE_WITHIN(60, a_copy_of_a_dead_holder_keeps_no_lock, die_beside(peer_forks));
