/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: two servers that replicate each other, which does
 * what it reads until there is no more to read.
 *
 *     mariadb_pair_by_hand [--semi-sync]
 *
 * It writes "URL0 URL1", each both hosts in another order, and then a line for
 * each that it reads when that is done: kill N, restart N (it comes back
 * read_only), restart_writable N, pause N, resume N, readonly N, writable N,
 * cut 0 (the link between the two), heal 0, caught_up N (it has applied what
 * the other had written), applied N (what it got), switch N (to that one, in
 * order), well N (it gets what the other writes and applies it). The first is
 * writable when they start. Exits with 2 where MariaDB is not installed.
 */
#include "tests/servers/by_hand.h"
#include "tests/servers/mariadb_pair.h"

#include <string.h>

static struct hf__mariadb_pair *p;

static void restart(int which)
{
    hf__mariadb_pair_restart(p, which, true);
}

static void restart_writable(int which)
{
    hf__mariadb_pair_restart(p, which, false);
}

static void set_read_only(int which)
{
    hf__mariadb_pair_set_read_only(p, which, true);
}

static void set_writable(int which)
{
    hf__mariadb_pair_set_read_only(p, which, false);
}

static void kill_one(int which)
{
    hf__mariadb_pair_kill(p, which);
}

static void pause_one(int which)
{
    hf__mariadb_pause(hf__mariadb_pair_node(p, which));
}

static void resume_one(int which)
{
    hf__mariadb_resume(hf__mariadb_pair_node(p, which));
}

static void cut(int which)
{
    (void)which;
    hf__mariadb_pair_cut_link(p);
}

static void heal(int which)
{
    (void)which;
    hf__mariadb_pair_heal_link(p);
}

static void await_caught_up(int which)
{
    hf__mariadb_pair_await_caught_up(p, which);
}

static void await_applied(int which)
{
    hf__mariadb_pair_await_applied(p, which);
}

static void switch_over(int which)
{
    hf__mariadb_pair_switch_over(p, which);
}

static void expect_well(int which)
{
    hf__mariadb_pair_expect_well(p, which);
}

static const struct hf__by_hand_word known[] = {
    {"kill", kill_one},
    {"restart", restart},
    {"restart_writable", restart_writable},
    {"pause", pause_one},
    {"resume", resume_one},
    {"readonly", set_read_only},
    {"writable", set_writable},
    {"cut", cut},
    {"heal", heal},
    {"caught_up", await_caught_up},
    {"applied", await_applied},
    {"switch", switch_over},
    {"well", expect_well},
    {NULL, NULL},
};

static void tell_url(int which, char *url, size_t size)
{
    hf__mariadb_pair_url(p, which, "hf_own", url, size);
}

int main(int argc, char **argv)
{
    struct hf__mariadb_pair_opts opts = {
        .is_semi_sync = argc > 1 && strcmp(argv[1], "--semi-sync") == 0};

    if (!hf__mariadb_is_installed()) {
        return 2;
    }
    p = hf__mariadb_pair_start(&opts);
    hf__mariadb_sql(hf__mariadb_pair_node(p, 0), "CREATE DATABASE hf_own");
    hf__mariadb_pair_await_caught_up(p, 1);
    hf__by_hand_pair(known, tell_url);
    hf__mariadb_pair_free(p);
    return 0;
}
