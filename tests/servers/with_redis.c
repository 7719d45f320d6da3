/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: runs a program beside a private Redis, or several,
 * and exits as that does.
 *
 *     with_redis [--group N] -- PROGRAM [ARGUMENT]...
 *
 * What is written stays in an append-only file. The program finds in its
 * environment HOLDFAST_TEST_REDIS_URL (redis:, or of a group redlock:), and
 * HOLDFAST_TEST_REDIS_ followed by PORT, PID, SOCKET and FOLDER, of a group
 * those of each member with a space between, and by ADMIN and ADMIN_PASSWORD.
 * SIGUSR1 to this process, the program's parent, kills what runs, SIGUSR2
 * starts what does not, with its data; other signals are passed on. Without
 * Redis it says in TAP that all is skipped, or in CI that it failed.
 */
#include "tests/servers/beside.h"
#include "tests/servers/redis.h"
#include "tests/servers/redis_private.h"
#include "tests/servers/servers.h"

/* ---- what is told */

static void tell(const struct hf__redis_group *g, bool is_group)
{
    char url[HF__REDIS_URL];

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        const struct hf__redis *s = hf__redis_member(g, i);

        hf__beside_add_number("REDIS", "PORT", hf__redis_port(s), i == 0);
        hf__beside_add_number("REDIS", "PID", hf__redis_pid(s), i == 0);
        hf__beside_add("REDIS", "SOCKET", hf__redis_socket(s), i == 0);
        hf__beside_add("REDIS", "FOLDER", s->folder, i == 0);
    }
    if (is_group) {
        hf__redis_group_url(g, 0, url, sizeof url);
    } else {
        hf__redis_url(hf__redis_member(g, 0), 0, url, sizeof url);
    }
    hf__beside_tell("REDIS", "URL", url);
    hf__beside_tell("REDIS", "ADMIN", HF__REDIS_ADMIN);
    hf__beside_tell("REDIS", "ADMIN_PASSWORD", HF__REDIS_ADMIN_PASSWORD);
}

/* ---- the servers */

static void kill_all(void *group)
{
    struct hf__redis_group *g = group;

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        hf__redis_kill(hf__redis_member(g, i));
    }
}

static void start_what_ended(void *group)
{
    struct hf__redis_group *g = group;
    bool is_started[HF__REDIS_MEMBERS] = {false};

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        if (hf__redis_has_ended(hf__redis_member(g, i))) {
            hf__redis_launch(hf__redis_member(g, i), NULL);
            is_started[i] = true;
        }
    }
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        if (is_started[i]) {
            hf__redis_await(hf__redis_member(g, i));
        }
    }
}

int main(int argc, char **argv)
{
    static const struct hf__redis_opts opts = {.has_aof = true};
    struct hf__beside beside = {
        .command = "with_redis", .kill = kill_all, .launch = start_what_ended};
    struct hf__redis_group *g;
    int n = 0;
    int code;

    argv = hf__beside_program(argc, argv, "--group", &n);
    if (!hf__redis_is_installed()) {
        return hf__beside_missing("redis-server");
    }
    g = hf__redis_group_start(n ? n : 1, &opts);
    tell(g, n > 0);
    beside.servers = g;
    code = hf__beside_run(&beside, argv);
    hf__redis_group_free(g);
    return code;
}
