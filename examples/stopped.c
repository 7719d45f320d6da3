/* SPDX-License-Identifier: MIT */
/*
 * The functions of stopped.h. The lock is in an SQLite store in a temporary
 * folder; the first holder is a child process, the second is this one.
 */
#include "examples/stopped.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME     "report"
#define LEASE_MS 1000

/* The exit codes of the first holder's process. */
enum end { REFUSED = 10, FAILED };

static char folder[512];

struct holder {
    hf_client *client;
    hf_lock *lock;
};

const char *make_folder(void)
{
    const char *place = getenv("TMPDIR");

    setvbuf(stdout, NULL, _IOLBF, 0); /* two processes print */
    snprintf(folder, sizeof folder, "%s/holdfast-guard-XXXXXX",
             place && *place ? place : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(1);
    }
    return folder;
}

void remove_folder(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        unlinkat(dirfd(dir), entry->d_name, 0); /* fails for "." and "..", as it
                                                   should */
    }
    if (dir) {
        closedir(dir);
    }
    rmdir(folder);
}

static bool enter(struct holder *h, const hf_acquire_opts *opts)
{
    hf_error err = HF_ERROR_INIT;
    char url[600];

    snprintf(url, sizeof url, "sqlite:%s/locks.db", folder);
    if (hf_open(url, NULL, &h->client, &err) != HF_OK ||
        hf_acquire(h->client, NAME, opts, &h->lock, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    return true;
}

static const char *name_of(int r)
{
    if (r == HF_OK) {
        return "written";
    }
    return r == HF_LOST ? "refused, its fence is late" : hf_strstatus(r);
}

/* ---- the first */

static int run_first(int parent, save_fn *save, void *arg)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct holder me = {0};
    bool is_held;
    char byte = 0;
    int r;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing else would end it */
    opts.lease_ms = LEASE_MS;
    /* With automatic renewal it would be the same, because a stopped process
     * renews nothing. But one that is stopped while it writes to an SQLite
     * database keeps all others out. */
    opts.auto_renew = 0;
    if (!enter(&me, &opts)) {
        return FAILED;
    }
    printf("first   has the lock: pid %d, fence %llu; it computes\n",
           (int)getpid(), (unsigned long long)hf_fence(me.lock));
    /* The process is stopped somewhere in here, and does not notice. */
    if (write(parent, &byte, 1) != 1 || read(parent, &byte, 1) != 1) {
        return FAILED;
    }
    r = save(arg, hf_fence(me.lock), FIRST);
    is_held = hf_held(me.lock); /* it could have asked before it wrote */
    printf("first   writes what it has computed: %s (hf_held() now: %s)\n",
           name_of(r), is_held ? "yes" : "no");
    hf_free(me.lock);
    hf_close(me.client);
    return r == HF_LOST && !is_held ? REFUSED : FAILED;
}

static pid_t start_first(int *ret_line, save_fn *save, void *arg)
{
    char byte;
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
        (pid = fork()) < 0) {
        perror("the first holder");
        return -1;
    }
    if (pid == 0) {
        close(ends[0]);
        _exit(run_first(ends[1], save, arg));
    }
    close(ends[1]);
    *ret_line = ends[0];
    (void)!read(ends[0], &byte, 1); /* returns also if the child has ended */
    return pid;
}

/* Stop the process; true once all its threads are stopped. */
static bool stop(pid_t pid)
{
    int status;

    return kill(pid, SIGSTOP) == 0 && waitpid(pid, &status, WUNTRACED) == pid &&
           WIFSTOPPED(status);
}

/* Continue the process where it was; returns how it ended. */
static int go_on(pid_t pid, int line)
{
    char byte = 0;
    int status;

    if (write(line, &byte, 1) != 1 || kill(pid, SIGCONT) < 0 ||
        waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        return FAILED;
    }
    return WEXITSTATUS(status);
}

/* ---- the second */

static bool save_as_second(const struct holder *h, save_fn *save, void *arg)
{
    int r = save(arg, hf_fence(h->lock), SECOND);

    printf("second  writes: %s\n", name_of(r));
    return r == HF_OK;
}

static bool run_second(pid_t first, int line, save_fn *save, void *arg)
{
    struct holder me = {0};
    hf_error err = HF_ERROR_INIT;
    bool is_fine = enter(&me, NULL); /* once the first lease expired */

    if (is_fine) {
        printf("second  has the lock: pid %d, fence %llu\n", (int)getpid(),
               (unsigned long long)hf_fence(me.lock));
        is_fine = save_as_second(&me, save, arg);
    }
    if (is_fine) {
        printf("main    lets the first go on: SIGCONT\n");
        is_fine = go_on(first, line) == REFUSED &&
                  save_as_second(&me, save, arg) &&
                  hf_release(me.lock, &err) == HF_OK;
    }
    hf_free(me.lock);
    hf_close(me.client);
    return is_fine;
}

bool stop_one_who_writes(save_fn *save, void *arg)
{
    int line = -1;
    pid_t first = start_first(&line, save, arg);
    bool is_fine = first > 0 && stop(first);

    if (is_fine) {
        printf("main    stops it: SIGSTOP\n");
        is_fine = run_second(first, line, save, arg);
    }
    if (line >= 0) {
        close(line);
    }
    return is_fine;
}
