/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: a primary and its standby, to which is done what it
 * reads until there is no more to read.
 *
 *     postgres_pair_by_hand [--synchronous]
 *
 * It writes "URL0 URL1", each both hosts in another order, and then a line for
 * each that it reads when that is done: kill N, restart N (it is what it was),
 * follow N (it is made a standby of the other, with the other's data), promote
 * N, synchronous N (it waits for its standby), asynchronous N, pause N, resume
 * N, cut 0 (the link between the two), heal 0, caught_up N (it has applied what
 * the other had written), switch N (to that one, in order), well N (it gets
 * what the other writes). The first is the primary when they start. Exits with
 * 2 where PostgreSQL is not installed.
 */
#include "tests/servers/by_hand.h"
#include "tests/servers/postgres_pair.h"

#include <string.h>

static struct hf__postgres_pair *p;

static void restart(int which)
{
    hf__postgres_pair_restart(p, which);
}

static void follow(int which)
{
    hf__postgres_pair_follow(p, which);
}

static void promote(int which)
{
    hf__postgres_pair_promote(p, which);
}

static void set_synchronous(int which)
{
    hf__postgres_pair_set_synchronous(p, which, true);
}

static void set_asynchronous(int which)
{
    hf__postgres_pair_set_synchronous(p, which, false);
}

static void kill_one(int which)
{
    hf__postgres_pair_kill(p, which);
}

static void pause_one(int which)
{
    hf__postgres_pause(hf__postgres_pair_node(p, which));
}

static void resume_one(int which)
{
    hf__postgres_resume(hf__postgres_pair_node(p, which));
}

static void cut(int which)
{
    (void)which;
    hf__postgres_pair_cut_link(p);
}

static void heal(int which)
{
    (void)which;
    hf__postgres_pair_heal_link(p);
}

static void await_caught_up(int which)
{
    hf__postgres_pair_await_caught_up(p, which);
}

static void switch_over(int which)
{
    hf__postgres_pair_switch_over(p, which);
}

static void expect_well(int which)
{
    hf__postgres_pair_expect_well(p, which);
}

static const struct hf__by_hand_word known[] = {
    {"kill", kill_one},
    {"restart", restart},
    {"follow", follow},
    {"promote", promote},
    {"synchronous", set_synchronous},
    {"asynchronous", set_asynchronous},
    {"pause", pause_one},
    {"resume", resume_one},
    {"cut", cut},
    {"heal", heal},
    {"caught_up", await_caught_up},
    {"switch", switch_over},
    {"well", expect_well},
    {NULL, NULL},
};

static void tell_url(int which, char *url, size_t size)
{
    hf__postgres_pair_url(p, which, "hf_own", url, size);
}

int main(int argc, char **argv)
{
    struct hf__postgres_pair_opts opts = {
        .is_synchronous = argc > 1 && strcmp(argv[1], "--synchronous") == 0};

    if (!hf__postgres_is_installed()) {
        return 2;
    }
    p = hf__postgres_pair_start(&opts);
    hf__postgres_sql(hf__postgres_pair_node(p, 0), NULL,
                     "CREATE DATABASE hf_own OWNER " HF__POSTGRES_USER);
    hf__postgres_pair_await_caught_up(p, 1);
    hf__by_hand_pair(known, tell_url);
    hf__postgres_pair_free(p);
    return 0;
}
