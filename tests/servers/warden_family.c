/* SPDX-License-Identifier: MIT */
/*
 * Signals to a server that is several processes: each session of PostgreSQL is
 * a child of the one that was started, in a session of its own, where no
 * group's signal comes. That one is stopped first, so that it starts none
 * meanwhile and none becomes another's child. Called by the warden's process.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/warden_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

struct family {
    pid_t server;
    int number; /* the signal */
    int left;   /* on which it has not come */
};

/* What it is to be, by its letter in /proc. */
static bool has_come(int number, char state)
{
    return state == 'Z' || state == 'X' ||
           (number == SIGSTOP ? state == 'T' : number == SIGCONT);
}

static void signal_child(int pid, void *arg)
{
    struct family *f = arg;
    char path[64];
    char state = 0;
    int parent = 0;
    FILE *stat;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    stat = fopen(path, "re");
    if (!stat) {
        return;
    }
    if (fscanf(stat, "%*d (%*[^)]%*[)] %c %d", &state, &parent) == 2 &&
        parent == f->server) {
        kill(pid, f->number);
        f->left += has_come(f->number, state) ? 0 : 1;
    }
    fclose(stat);
}

/* The last of its threads may run for a while after the signal was sent. */
static void await_stop(pid_t server)
{
    siginfo_t what;

    while (waitid(P_PID, (id_t)server, &what, WSTOPPED | WEXITED | WNOWAIT) <
               0 &&
           errno == EINTR) {
    }
}

void hf__warden_stop(pid_t server)
{
    kill(server, SIGSTOP);
    await_stop(server);
}

void hf__warden_signal_family(pid_t server, int number)
{
    struct family f = {.server = server, .number = number};

    if (number != SIGCONT) {
        hf__warden_stop(server);
    }
    for (;;) {
        f.left = 0;
        hf__test_each_number("/proc", signal_child, &f);
        if (!f.left) {
            break;
        }
        hf__test_pause_ms(1);
    }
    kill(server, number);
}
