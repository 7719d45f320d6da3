/* SPDX-License-Identifier: MIT */
/*
 * Who shares a link, and what is left of it in the process and on the server:
 * sessions, nodes, descriptors, threads, a forked child.
 */
#include "tests/store_zookeeper/link/side.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 60 };

struct crowd {
    struct hf__zookeeper *server; /* where nobody else has a session */
    struct side sides[MANY];
    struct hf__test_thread *threads[MANY];
    atomic_int next;
    atomic_int open;
};

static void join_crowd(void *arg)
{
    struct crowd *crowd = arg;
    int i = atomic_fetch_add(&crowd->next, 1);
    struct side *s = &crowd->sides[i];
    char name[32];

    EXPECT_IS(meet(s, crowd->server, 7), HF_OK);
    atomic_fetch_add(&crowd->open, 1);
    snprintf(name, sizeof name, "/n%d", i);
    for (int turn = 0; turn < 20; turn++) {
        CALLS(calls) = calls_of(s, 2);

        hf__zk_create(calls, 0, name, "", 0, ZOO_EPHEMERAL);
        hf__zk_delete(calls, 1, name, -1);
        await(calls);
        EXPECT_IS(rc_of(calls, 0), ZOK);
        EXPECT_IS(rc_of(calls, 1), ZOK);
    }
    /* All are there at once, and so nobody is the last to leave yet. */
    UNTIL(atomic_load(&crowd->open) >= MANY);
}

TEST_WITHIN(60, sixty_fronts_of_a_client_are_one_session)
{
    AUTO_SERVER *server = hf__zookeeper_start(NULL);
    static struct crowd crowd;

    crowd.server = server;

    for (int i = 0; i < MANY; i++) {
        crowd.threads[i] = hf__test_start(join_crowd, &crowd);
    }
    for (int i = 0; i < MANY; i++) {
        hf__test_join(crowd.threads[i]);
    }
    for (int i = 1; i < MANY; i++) {
        EXPECT_IS(hf__zk_session_id(&crowd.sides[i].ref),
                  hf__zk_session_id(&crowd.sides[0].ref));
    }
    EXPECT_IS(hf__zookeeper_sessions(server), 1);
    for (int i = 0; i < MANY; i++) {
        part(&crowd.sides[i]);
    }
    EXPECT_IS(hf__zookeeper_sessions(server), 0);
}

TEST(clients_and_whoever_is_none_have_links_of_their_own)
{
    MET(a);
    SIDE(b);
    SIDE(c);

    EXPECT_IS(meet(&b, hf__zookeeper_shared(), 0), HF_OK);
    EXPECT_IS(meet(&c, hf__zookeeper_shared(), 0), HF_OK);
    EXPECT_NOT(hf__zk_session_id(&a.ref), hf__zk_session_id(&b.ref));
    EXPECT_NOT(hf__zk_session_id(&b.ref), hf__zk_session_id(&c.ref));
}

static bool is_there(const char *name)
{
    struct hf__zookeeper_node node;

    return hf__zookeeper_look(hf__zookeeper_shared(), under(name), &node);
}

TEST(the_last_to_leave_ends_the_session)
{
    MET(a);
    SIDE(b);

    EXPECT_IS(meet(&b, hf__zookeeper_shared(), 1), HF_OK);
    EXPECT_IS(create(&a, under("mine"), ZOO_EPHEMERAL), ZOK);
    part(&a);
    EXPECT(is_there("mine"));
    part(&b);
    EXPECT(!is_there("mine"));
}

/* Somebody may count on the node: it ends with the session's time, and not
 * before, however we leave. */
TEST(a_session_that_owns_what_may_be_held_is_not_ended)
{
    for (int i = 0; i < 5; i++) {
        SIDE(s);
        char name[8];

        snprintf(name, sizeof name, "held%d", i);
        EXPECT_IS(meet(&s, hf__zookeeper_shared(), 1), HF_OK);
        own(&s, under(name));
        part(&s);
        EXPECT_SAFE(is_there(name));
    }
    hf__test_pause_ms(LIFE_MS / 4);
    EXPECT_SAFE(is_there("held4"));
    int64_t from = hf__test_now_ms();
    while (is_there("held4")) {
        EXPECT_SOON(hf__test_now_ms() - from, 2 * LIFE_MS);
        hf__test_pause_ms(20);
    }
}

/* ---- this process */

static bool blocks_all_signals(const char *task)
{
    char path[64];
    char line[256];
    unsigned long long blocked = 0;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "SigBlk:", 7) == 0) {
            blocked = strtoull(line + 7, NULL, 16);
        }
    }
    fclose(file);
    /* Without those that can't be, and the C library's own two. */
    return (blocked | 1ULL << 8 | 1ULL << 18 | 3ULL << 31) == ~0ULL;
}

TEST(the_library_s_threads_take_no_signals)
{
    MET(s);
    int others = 0;

    DIR *tasks = opendir("/proc/self/task");
    EXPECT(tasks != NULL);
    for (struct dirent *it = readdir(tasks); it != NULL; it = readdir(tasks)) {
        if (it->d_name[0] != '.' && strtol(it->d_name, NULL, 10) != getpid() &&
            blocks_all_signals(it->d_name)) {
            others++;
        }
    }
    closedir(tasks);
    EXPECT_MORE(others, 1);
}

TEST(the_application_s_random_numbers_go_on)
{
    SIDE(s);
    long expected;

    srandom(42);
    expected = random();
    srandom(42);
    EXPECT_IS(meet(&s, hf__zookeeper_shared(), 1), HF_OK);
    EXPECT_IS(random(), expected);
}

TEST(a_forked_child_has_no_part_in_its_parent_s_link)
{
    MET(s);
    EXPECT_IS(create(&s, under("mine"), ZOO_EPHEMERAL), ZOK);
    int64_t session = hf__zk_session_id(&s.ref);
    pid_t child = fork();
    if (child == 0) {
        SIDE(own_side);

        if (hf__test_has_tsan()) {
            _exit(0);
        }
        EXPECT_IS(meet(&own_side, hf__zookeeper_shared(), 1), HF_OK);
        EXPECT_NOT(hf__zk_session_id(&own_side.ref), session);
        EXPECT_IS(look(&own_side, under("mine")), ZOK);
        part(&own_side);
        _exit(0);
    }
    EXPECT_IS(hf__test_exit_code(child), 0);
    EXPECT_IS(look(&s, under("mine")), ZOK);
    EXPECT_IS(hf__zk_session_id(&s.ref), session);
}

struct forking {
    atomic_bool is_over;
    atomic_int turns;
};

static void come_and_go(void *arg)
{
    struct forking *forking = arg;

    while (!atomic_load(&forking->is_over)) {
        SIDE(s);

        EXPECT_IS(meet(&s, hf__zookeeper_shared(), 3), HF_OK);
        EXPECT_IS(look(&s, "/"), ZOK);
        atomic_fetch_add(&forking->turns, 1);
    }
}

/* The registry is never half done in a child. It asks for no address there: a
 * child of a process that just did so in another thread may find the C
 * library's lock taken for ever. */
TEST_WITHIN_IF(60, hf__test_may_fork_beside_threads(),
               forks_while_links_come_and_go)
{
    struct forking forking = {0};
    struct hf__test_thread *thread = hf__test_start(come_and_go, &forking);

    for (int i = 0; i < 50; i++) {
        int before = atomic_load(&forking.turns);
        pid_t child = fork();

        if (child == 0) {
            struct side s = {0};
            struct hf__zk_target target = {.hosts = "127.0.0.1:no-port",
                                           .timeout_ms = LIFE_MS};
            int r = meet_at(&s, &target, 3, 10000);

            part(&s);
            _exit(r == HF_EUNAVAIL ? 0 : 1);
        }
        EXPECT_IS(hf__test_exit_code(child), 0);
        while (i % 10 == 9 && atomic_load(&forking.turns) < before + 1) {
            hf__test_pause_ms(1);
        }
    }
    atomic_store(&forking.is_over, true);
    hf__test_join(thread);
}
