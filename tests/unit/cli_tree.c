/* SPDX-License-Identifier: MIT */
/*
 * Who descends from us, by the kernel's lists of children and, as where there
 * are none, by a look at all processes. Each test asks both.
 */
#include "src/cli/clock.h"
#include "src/cli/tree.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH 4

typedef int (*way_fn)(const struct cli_tree *, int64_t until_ns, cli_tree_fn,
                      void *arg);

static const way_fn ways[] = {cli_tree_walk, cli_scan};
enum { WAYS = sizeof ways / sizeof *ways };

struct seen {
    int count;
    pid_t pids[64];
};

static void note(void *arg, const struct cli_process *process)
{
    struct seen *seen = arg;

    if (seen->count < 64) {
        seen->pids[seen->count++] = process->pid;
    }
}

static void end(void *arg, const struct cli_process *process)
{
    (void)arg;
    EXPECT(cli_process_signal(process, SIGKILL));
}

/* In one round, however long it takes. */
static struct seen see(way_fn way, const struct cli_tree *tree)
{
    struct seen seen = {0};

    EXPECT_IS(way(tree, INT64_MAX - 1, note, &seen), 0);
    return seen;
}

_Noreturn static void nest(int report)
{
    pid_t pid;
    int depth = 0;

    do {
        pid = getpid();
        (void)setsid();
        (void)!write(report, &pid, sizeof pid);
    } while (++depth < DEPTH && !fork());
    for (;;) {
        (void)pause();
    }
}

/* A child, its child and so on, each in a session of its own. */
static void start_chain(pid_t pids[DEPTH])
{
    int ends[2];

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L);
    EXPECT_IS(pipe2(ends, O_CLOEXEC), 0);
    if (!fork()) {
        nest(ends[1]);
    }
    for (int i = 0; i < DEPTH; i++) {
        EXPECT_IS(read(ends[0], &pids[i], sizeof *pids), (int)sizeof *pids);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void end_all(void)
{
    const struct cli_tree all = {0};

    for (pid_t pid = 0; pid >= 0 || errno == EINTR;) {
        EXPECT_IS(cli_tree_walk(&all, INT64_MAX, end, NULL), 0);
        pid = waitpid(-1, NULL, 0);
    }
}

TEST(descendants_are_come_to_parents_first)
{
    const struct cli_tree all = {0};
    pid_t pids[DEPTH];

    start_chain(pids);
    for (int way = 0; way < WAYS; way++) {
        struct seen seen = see(ways[way], &all);

        EXPECT_IS(seen.count, DEPTH);
        for (int i = 0; way == 0 && i < DEPTH; i++) {
            EXPECT_IS(seen.pids[i], pids[i]);
        }
    }
    end_all();
    for (int way = 0; way < WAYS; way++) {
        EXPECT_IS(see(ways[way], &all).count, 0);
    }
}

TEST(who_is_excepted_is_left_out_with_all_that_it_started)
{
    pid_t pids[DEPTH];

    start_chain(pids);
    for (int way = 0; way < WAYS; way++) {
        const struct cli_tree others = {.except = pids[0]};
        const struct cli_tree later = {.since = cli_process_started(pids[0]) +
                                                1000000};

        EXPECT_IS(see(ways[way], &others).count, 0);
        EXPECT_IS(see(ways[way], &later).count, 0);
    }
    end_all();
}

TEST(who_is_orphaned_stays_in_the_tree)
{
    const struct cli_tree all = {0};
    pid_t pids[DEPTH];

    start_chain(pids);
    (void)kill(pids[0], SIGKILL);
    EXPECT_IS(waitpid(pids[0], NULL, 0), pids[0]);
    for (int way = 0; way < WAYS; way++) {
        EXPECT_IS(see(ways[way], &all).count, DEPTH - 1);
    }
    end_all();
}

TEST(a_dead_child_is_come_to_until_it_is_waited_for)
{
    const struct cli_tree all = {0};
    siginfo_t info;
    pid_t pid = fork();

    if (!pid) {
        _exit(0);
    }
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    for (int way = 0; way < WAYS; way++) {
        EXPECT_IS(see(ways[way], &all).count, 1);
    }
    end_all();
}

TEST(a_walk_that_is_out_of_time_is_back_at_once)
{
    const struct cli_tree all = {0};
    pid_t pids[DEPTH];

    start_chain(pids);
    for (int way = 0; way < WAYS; way++) {
        struct seen seen = {0};

        EXPECT_IS(ways[way](&all, cli_boot_ns(), note, &seen), 0);
        EXPECT_IS(seen.count, 0);
    }
    end_all();
}

enum { MANY = 600 };

/* As who forks while it is looked for: there is always one more. */
static void note_and_fork(void *arg, const struct cli_process *process)
{
    int *count = arg;

    (void)process;
    (void)poll(NULL, 0, 1);
    if (++*count < MANY && !fork()) {
        _exit(0);
    }
}

TEST(a_round_ends_though_children_come_as_fast_as_they_are_listed)
{
    const struct cli_tree all = {0};
    int count = 0;

    if (!fork()) {
        _exit(0);
    }
    EXPECT_IS(cli_tree_walk(&all, INT64_MAX, note_and_fork, &count), 0);
    EXPECT(count > 0 && count < MANY);
    end_all();
    EXPECT_IS(see(cli_tree_walk, &all).count, 0);
}
