/* SPDX-License-Identifier: MIT */
/*
 * What the wrapper knows of its guardian and of the hook's process when it
 * waited for all that the guardian left: whoever was waited for has no number
 * any more, and what has it then is a stranger.
 */
#include "src/cli/tree.h"
#include "src/cli/wrapper.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that died and waits to be waited for. */
static pid_t dead_child(void)
{
    siginfo_t info;
    pid_t pid = fork();

    if (!pid) {
        _exit(0);
    }
    EXPECT_IS(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    return pid;
}

static pid_t sleeping_child(void)
{
    pid_t pid = fork();

    if (!pid) {
        (void)pause(); /* until it is killed: no signal has a handler here */
        _exit(1);
    }
    return pid;
}

static struct cli_guardian dead_guardian(void)
{
    pid_t pid = dead_child();

    return (struct cli_guardian){.pid = pid,
                                 .started = cli_process_started(pid)};
}

TEST(who_is_waited_for_with_the_orphans_is_noted)
{
    struct cli_guardian guardian = dead_guardian();
    struct cli_hook hook = {.pid = dead_child(), .fd = -1};
    pid_t orphan = sleeping_child();

    cli_orphans_kill(&guardian, &hook, 0);
    EXPECT(guardian.is_reaped);
    EXPECT(hook.is_reaped);
    EXPECT_IS(waitpid(orphan, NULL, 0), -1);
}

TEST(a_hook_that_lives_is_left_alone)
{
    struct cli_guardian guardian = dead_guardian();
    struct cli_hook hook = {.pid = sleeping_child(), .fd = -1};

    cli_orphans_kill(&guardian, &hook, 0);
    EXPECT(guardian.is_reaped);
    EXPECT(!hook.is_reaped);
    EXPECT_IS(kill(hook.pid, SIGKILL), 0);
    EXPECT_IS(waitpid(hook.pid, NULL, 0), (int)hook.pid);
}

TEST(without_a_hook_nobody_is_taken_for_it)
{
    struct cli_guardian guardian = dead_guardian();
    struct cli_hook hook = {.fd = -1};

    cli_orphans_reap(&guardian, &hook, 1);
    EXPECT(guardian.is_reaped);
    cli_orphans_reap(&guardian, &hook, 1);
    EXPECT(!hook.is_reaped);
}
