/* SPDX-License-Identifier: MIT */
/*
 * Threads, mutexes and signals: a thread of ours has its name and takes no
 * signal, a broken pipe raises none, and the application's own stay.
 */
#include "src/base/base.h"
#include "src/base/thread.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a thread of ours found out about itself. */
static struct {
    sigset_t mask;
    char name[16];
    int arg;
} found;

static void look(void *arg)
{
    found.arg = *(int *)arg;
    pthread_sigmask(SIG_SETMASK, NULL, &found.mask);
    hf__thread_name(found.name, sizeof found.name);
}

TEST(a_thread_has_its_name_and_no_signals)
{
    struct hf__thread t = {0};
    sigset_t mask;
    int arg = 42;

    hf__thread_stop(&t);
    EXPECT_IS(hf__thread_start(&t, "hf-größe-14-byte", look, &arg), HF_OK);
    hf__thread_stop(&t);
    hf__thread_stop(&t);
    EXPECT_IS(found.arg, 42);
    EXPECT_TEXT(found.name, "hf-größe-14-b");
    EXPECT_IS(sigismember(&found.mask, SIGTERM), 1);
    EXPECT_IS(sigismember(&found.mask, SIGPIPE), 1);
    EXPECT_IS(sigismember(&found.mask, SIGALRM), 1);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    EXPECT_IS(sigismember(&mask, SIGTERM), 0);
}

TEST(a_name_that_was_cut_in_a_character_stays_text)
{
    char name[16];

    EXPECT_IS(pthread_setname_np(pthread_self(), "abc\xe2\x82"), 0);
    hf__thread_name(name, sizeof name);
    EXPECT_TEXT(name, "abc");
    EXPECT_IS(pthread_setname_np(pthread_self(), ""), 0);
    hf__thread_name(name, sizeof name);
    EXPECT_TEXT(name, "");
}

TEST(threads_that_were_asked_for_are_gone)
{
    struct stat before;
    struct stat after;

    /* A sanitizer has a thread of its own from the first one on. */
    EXPECT_IS(hf__threads_ask(1), HF_OK);
    EXPECT_IS(stat("/proc/self/task", &before), 0);
    for (int n = 0; n <= 4; n++) {
        EXPECT_IS(hf__threads_ask(n), HF_OK);
    }
    EXPECT_IS(stat("/proc/self/task", &after), 0);
    EXPECT_IS(after.st_nlink, before.st_nlink); /* one for each thread */
}

static struct hf__mutex mutex = HF__MUTEX_INIT;
static int shared_count;

static void count_up(void *arg)
{
    struct hf__mutex *m = arg;

    for (int i = 0; i < 10000; i++) {
        HF_SCOPED_LOCK(m);
        shared_count++;
    }
}

TEST(a_mutex_excludes)
{
    struct hf__test_thread *a = hf__test_start(count_up, &mutex);
    struct hf__test_thread *b = hf__test_start(count_up, &mutex);
    struct hf__mutex own;

    hf__test_join(a);
    hf__test_join(b);
    EXPECT_IS(shared_count, 20000);
    hf__mutex_init(&own);
    count_up(&own);
    hf__mutex_fini(&own);
    EXPECT_IS(shared_count, 30000);
}

static int n_once;

static void once_only(void)
{
    n_once++;
}

TEST(once_is_once)
{
    static hf__once_flag once = HF__ONCE_INIT;

    hf__once_run(&once, once_only);
    hf__once_run(&once, once_only);
    EXPECT_IS(n_once, 1);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    EXPECT_IS(sigaction(number, &action, NULL), 0);
}

static atomic_int n_pipe_signals;

static void on_pipe(int number)
{
    (void)number;
    atomic_fetch_add(&n_pipe_signals, 1);
}

static void write_to_broken_pipe(void)
{
    int ends[2];

    EXPECT_IS(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    EXPECT_IS(write(ends[1], "x", 1), -1);
    EXPECT_IS(errno, EPIPE);
    close(ends[1]);
}

TEST(a_broken_pipe_raises_nothing_while_blocked)
{
    struct hf__sigpipe s;
    sigset_t mask;

    handle(SIGPIPE, on_pipe);
    hf__sigpipe_block(&s);
    write_to_broken_pipe();
    errno = 4711;
    hf__sigpipe_restore(&s);
    EXPECT_IS(errno, 4711);
    EXPECT_IS(atomic_load(&n_pipe_signals), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    EXPECT_IS(sigismember(&mask, SIGPIPE), 0);
    write_to_broken_pipe();
    EXPECT_IS(atomic_load(&n_pipe_signals), 1);
}

TEST(a_pending_signal_of_the_application_stays)
{
    struct hf__sigpipe s;
    sigset_t set;

    handle(SIGPIPE, on_pipe);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    hf__sigpipe_block(&s); /* blocked by the application, none pending */
    write_to_broken_pipe();
    hf__sigpipe_restore(&s);
    EXPECT_IS(sigpending(&set), 0);
    EXPECT_IS(sigismember(&set, SIGPIPE), 0);
    write_to_broken_pipe(); /* this one is the application's own */
    hf__sigpipe_block(&s);
    write_to_broken_pipe();
    hf__sigpipe_restore(&s);
    EXPECT_IS(atomic_load(&n_pipe_signals), 0);
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    EXPECT_IS(atomic_load(&n_pipe_signals), 1);
}
