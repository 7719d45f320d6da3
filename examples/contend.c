/* SPDX-License-Identifier: MIT */
/*
 * Three workers want one lock, as three programs would: each has its own
 * client. Each holds the lock four times, for a random time. For each attempt
 * the output says who tried, what the result was, and what the store's record
 * of the lock now is. The program checks that no two workers hold the lock at
 * once and that the fencing number only rises; otherwise it says MISTAKE. Its
 * options show what happens to the locks of programs that crash.
 */
#include "examples/contend.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3

static const char usage[] =
    "contend [--turns N] [--cleaner] [--leave-stale] [URL]\n"
    "\n"
    "Three workers want one lock. Without a URL the store is the one of\n"
    "HOLDFAST_URL, else SQLite in a temporary folder.\n"
    "\n"
    "  --turns N      each worker holds the lock N times (4)\n"
    "  --cleaner      locks of other names are left behind meanwhile, and a\n"
    "                 cleaner removes and counts what nobody has used for\n"
    "                 half a second; a URL needs a prefix= of its own for it\n"
    "  --leave-stale  before that a run is killed with the lock: when does\n"
    "                 the next one get it, and why then?\n"
    "\n"
    "Exit: 0; 1 a mistake, or the store failed; 2 wrong usage.\n";

static const char *url;
static int turns = 4;
hf_caps_info caps = HF_CAPS_INFO_INIT;
atomic_bool is_over;
hf_cancel *stop;

/* The lock protects this; it is atomic only so that a broken lock is
 * noticed. */
static atomic_int inside;
atomic_ullong last_fence;

struct worker {
    pthread_t thread;
    int number;
    unsigned seed;
    int turns; /* how often it held the lock */
};

static void on_signal(int number)
{
    (void)number;
    is_over = true;
    hf_cancel_fire(stop);
}

static int between(struct worker *w, int low, int high)
{
    return low + rand_r(&w->seed) % (high - low + 1);
}

hf_client *enter(void)
{
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;

    if (hf_open(url, NULL, &client, &err) != HF_OK) {
        fail(err.text);
    }
    return client;
}

/* Where a lock lives with its session, the lease is the session's; then the
 * option stays at its default. */
int64_t lease(int64_t wanted_ms)
{
    return (caps.flags & HF_CAP_SESSION) != 0 ? HF_LEASE_DEFAULT_MS : wanted_ms;
}

/* Work under the lock, then release it. */
void work(hf_client *client, hf_lock *lock, int ms)
{
    unsigned long long fence = hf_fence(lock);
    hf_error err = HF_ERROR_INIT;

    if (atomic_fetch_add(&inside, 1) != 0) {
        mistake("another one is in, too");
    }
    if (atomic_exchange(&last_fence, fence) >= fence) {
        mistake("the fence did not rise");
    }
    report(client, "GOT IT", lock);
    poll(NULL, 0, ms);
    if (!hf_held(lock)) {
        mistake("the lock was lost");
    }
    atomic_fetch_sub(&inside, 1);
    if (hf_release(lock, &err) != HF_OK) {
        mistake(err.text);
    }
    hf_free(lock);
}

/* Try once, with some patience. False: the store failed or the wait was
 * cancelled, so give up. */
static bool take_turn(struct worker *w, hf_client *client)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    char note[48];
    int r;

    snprintf(note, sizeof note, "turn %d of %d", w->turns + 1, turns);
    opts.wait_ms = between(w, 100, 700);
    opts.lease_ms = lease(LEASE_MS);
    opts.note = note;
    opts.cancel = stop;
    r = hf_acquire(client, NAME, &opts, &lock, &err);
    if (r == HF_TIMEDOUT) {
        report(client, "not got", NULL);
        return true;
    }
    if (r != HF_OK) {
        say("%s: %s", hf_strstatus(r), err.text);
        return false;
    }
    w->turns++;
    work(client, lock, between(w, 200, 900));
    poll(NULL, 0, between(w, 0, 200));
    return true;
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    hf_client *client;
    char name[16];

    snprintf(name, sizeof name, "worker-%d", w->number);
    call_me(name);
    client = enter();
    while (client && !is_over && w->turns < turns && take_turn(w, client)) {
        continue;
    }
    hf_close(client);
    return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    if (pthread_create(thread, NULL, run, arg)) {
        fail("cannot start a thread");
        exit(1);
    }
}

static bool contend(bool has_cleaner)
{
    struct worker workers[WORKERS];
    pthread_t cleaner;
    int had = 0;

    if (has_cleaner) {
        start(&cleaner, run_cleaner, NULL);
    }
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.number = i + 1};
        workers[i].seed = (unsigned)time(NULL) + (unsigned)i;
        start(&workers[i].thread, run_worker, &workers[i]);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        had += workers[i].turns;
    }
    is_over = true;
    if (has_cleaner) {
        pthread_join(cleaner, NULL);
    }
    say("the lock was held %d times; mistakes: %d", had, mistakes);
    return had == WORKERS * turns && mistakes == 0;
}

/* Ask what the store can do, and print its name, without a password. */
static bool learn(void)
{
    hf_client *client = enter();
    bool is_known = client && hf_caps(client, &caps) == HF_OK;

    if (is_known) {
        printf("%d workers, one lock (%s), store %s\n", WORKERS, NAME,
               caps.store);
    }
    hf_close(client);
    return is_known;
}

static bool run_all(bool has_cleaner, bool leaves_stale)
{
    return learn() && (!leaves_stale || show_stale()) && contend(has_cleaner);
}

/* Run on the given store, where others may have locks, too. */
static bool run_on_given(bool has_cleaner, bool leaves_stale)
{
    if (has_cleaner && !strstr(url, "prefix=")) {
        fail("--cleaner deletes the records of all names that are idle under "
             "the prefix of the URL: give it one of its own, such as "
             "?prefix=contend");
        return false;
    }
    return run_all(has_cleaner, leaves_stale);
}

/* Run in a temporary folder, which is removed afterwards. */
static bool run_in_temporary(bool has_cleaner, bool leaves_stale)
{
    static const char *const files[] = {"", "-wal", "-shm", "-holdfast"};
    const char *place = getenv("TMPDIR");
    char folder[512];
    char path[600];
    bool is_fine;

    snprintf(folder, sizeof folder, "%s/holdfast-contend-XXXXXX",
             place && *place ? place : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        return false;
    }
    snprintf(path, sizeof path, "sqlite:%s/locks.db", folder);
    url = path;
    is_fine = run_all(has_cleaner, leaves_stale);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/locks.db%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    return is_fine;
}

static bool read_turns(const char *word)
{
    char *end;
    long n = word ? strtol(word, &end, 10) : 0;

    turns = (int)n;
    return n > 0 && n <= 1000000 && *end == '\0';
}

static bool prepare_stop(void)
{
    const struct sigaction action = {.sa_handler = on_signal};

    if (hf_cancel_new(&stop) != HF_OK) {
        fail("out of memory");
        return false;
    }
    return sigaction(SIGINT, &action, NULL) == 0 &&
           sigaction(SIGTERM, &action, NULL) == 0;
}

int main(int argc, char **argv)
{
    bool has_cleaner = false;
    bool leaves_stale = false;
    bool is_fine;

    setvbuf(stdout, NULL, _IOLBF, 0);
    start_clock();
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cleaner") == 0) {
            has_cleaner = true;
        } else if (strcmp(argv[i], "--leave-stale") == 0) {
            leaves_stale = true;
        } else if (strcmp(argv[i], "--turns") == 0 && read_turns(argv[i + 1])) {
            i++;
        } else if (strcmp(argv[i], "--help") == 0) {
            return fputs(usage, stdout) < 0;
        } else if (argv[i][0] != '-' && !url) {
            url = argv[i];
        } else {
            fputs(usage, stderr);
            return 2;
        }
    }
    url = url ? url : getenv("HOLDFAST_URL");
    is_fine = prepare_stop() &&
              (url && *url ? run_on_given(has_cleaner, leaves_stale)
                           : run_in_temporary(has_cleaner, leaves_stale));
    hf_cancel_free(stop);
    return !is_fine;
}
