/* SPDX-License-Identifier: MIT */
/*
 * contend --leave-stale: a process is killed while it holds the lock. When does
 * the next one get the lock, and why then?
 */
#include "examples/contend.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STALE_LEASE_MS 3000

/* In a child process: acquire the lock, send its fence, and wait to be
 * killed. */
static void run_and_die(int parent)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    hf_client *client;
    uint64_t fence;

    signal(SIGINT, SIG_DFL); /* a child must not use the cancel object */
    signal(SIGTERM, SIG_DFL);
    call_me("dead run");
    client = enter();
    opts.wait_ms = LEASE_MS;
    opts.lease_ms = lease(STALE_LEASE_MS);
    opts.note = "killed at work";
    if (client && hf_acquire(client, NAME, &opts, &lock, &err) != HF_OK) {
        fail(err.text);
    }
    fence = hf_fence(lock);
    if (fence && write(parent, &fence, sizeof fence) == sizeof fence) {
        (void)!read(parent, &fence, 1); /* returns if the parent ends */
    }
    _exit(1);
}

/* Kill a process that holds the lock. Returns its fence; 0: it did not get the
 * lock, and said why. */
static unsigned long long leave_dead_run(void)
{
    uint64_t fence = 0;
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
        (pid = fork()) < 0) {
        perror("contend");
        return 0;
    }
    if (pid == 0) {
        close(ends[0]);
        run_and_die(ends[1]);
    }
    close(ends[1]);
    if (read(ends[0], &fence, sizeof fence) == sizeof fence) {
        say("pid %d has the lock, and is killed", pid);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ends[0]);
    return fence;
}

/* Show when the next holder gets the dead one's lock, and why then. */
bool show_stale(void)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    hf_client *client;
    const char *why = "its lease was over";
    double killed_at;

    if (caps.reach == HF_REACH_PROCESS) {
        fail("--leave-stale: a run that dies is another process, and this "
             "store reaches one process only: give another URL, such as "
             "sqlite:/tmp/locks.db");
        return false;
    }
    last_fence = leave_dead_run();
    killed_at = seconds();
    client = last_fence ? enter() : NULL;
    if (!client) {
        return false;
    }
    report(client, "stale", NULL);
    if (caps.flags & HF_CAP_DEATH) {
        why = "its process is gone";
        say("free at once: this store sees that its process is gone");
    } else if (caps.flags & HF_CAP_SESSION) {
        why = "the server has ended its session";
        say("free when the server has not heard of its session for %.1f s: "
            "session_timeout= in the URL is that time",
            (double)caps.lease_ms * 3 / 2 / 1000);
    } else {
        say("free when that lease is over: this store cannot see that its "
            "process is gone");
    }
    opts.lease_ms = lease(LEASE_MS);
    opts.note = "after the dead run";
    opts.cancel = stop;
    if (hf_acquire(client, NAME, &opts, &lock, &err) == HF_OK) {
        say("the next grant, after %.1f s: %s", seconds() - killed_at, why);
        work(client, lock, 0);
    } else {
        mistake(err.text);
    }
    hf_close(client);
    return mistakes == 0;
}
