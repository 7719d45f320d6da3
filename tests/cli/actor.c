/* SPDX-License-Identifier: MIT */
/*
 * The command that the tests let `holdfast run` start: it does what its words
 * say, in their order, and writes a line for each thing into LOG: the time
 * on CLOCK_BOOTTIME in nanoseconds, its pid, and the word. It decides
 * nothing; harness.py reads the log.
 *
 *     actor LOG WORD...
 *
 *     say=TEXT  ignore=SIGNAL  catch=SIGNAL  pause=MS  fds  exit=N  die=SIGNAL
 *     fork=plain|setsid|daemon    a process that beats and has these habits
 *     leaderless                  one that beats though its first thread ended
 *     hop=N                       N that fork and end, on and on;
 *                                 LOG.hops has the time of the last hop of each
 *     crowd=N                     N processes that do nothing, until TERM ends
 *                                 them and it; 93: so many are not allowed
 *     beat                        a line each 5 ms, until it is killed
 *
 * Thread: one.
 */
#include "src/base/thread.h"
#include "src/base/time.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEAT_MS 5
/* A storm that nobody ends is over then, or when there is no pid left. */
#define HOPS_END_MS 15000
/* Enough to sleep on. */
#define STACK_SIZE 8192

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},
    {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
    {"KILL", SIGKILL}, {"TSTP", SIGTSTP}, {"WINCH", SIGWINCH},
};
enum { SIGNALS = sizeof signals / sizeof *signals };

static const char *log_path;
static int log_fd;
static volatile sig_atomic_t caught[SIGNALS];

static void note(const char *text)
{
    char line[512];
    int length = snprintf(line, sizeof line, "%" PRId64 " %ld %.400s\n",
                          hf__now().ns, (long)getpid(), text);

    if (write(log_fd, line, (size_t)length) != length) {
        _exit(99);
    }
}

static int find_signal(const char *name)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (!strcmp(signals[i].name, name)) {
            return i;
        }
    }
    _exit(98);
}

static void on_signal(int number)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i].number == number) {
            caught[i]++;
        }
    }
}

static void set_signal(const char *name, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    (void)sigaction(signals[find_signal(name)].number, &action, NULL);
}

static void note_caught(void)
{
    for (int i = 0; i < SIGNALS; i++) {
        for (; caught[i] > 0; caught[i]--) {
            char text[32];

            (void)snprintf(text, sizeof text, "got %s", signals[i].name);
            note(text);
        }
    }
}

static void rest(int64_t ms)
{
    hf__time end = hf__after_ms(hf__now(), ms);

    do {
        int64_t left_ms = hf__between_ns(hf__now(), end) / HF__MS + 1;

        (void)poll(NULL, 0, left_ms > 0 ? (int)left_ms : 0);
        note_caught();
    } while (hf__before(hf__now(), end));
}

_Noreturn static void beat(void)
{
    for (;;) {
        note("beat");
        rest(BEAT_MS);
    }
}

/* The descriptors that were open when we came, "fds 0 1 2". */
static void note_descriptors(void)
{
    char text[256] = "fds";
    size_t length = strlen(text);

    for (int fd = 0; fd < 1024; fd++) {
        if (fd != log_fd && fcntl(fd, F_GETFD) >= 0 &&
            length < sizeof text - 8) {
            length += (size_t)snprintf(text + length, 8, " %d", fd);
        }
    }
    note(text);
}

/* Returns in the parent when the new process beats. */
static void start_other(const char *kind)
{
    bool is_daemon = !strcmp(kind, "daemon");
    int ready[2];
    char byte;
    pid_t pid;

    if (pipe2(ready, O_CLOEXEC)) {
        _exit(97);
    }
    pid = fork();
    if (pid == 0) {
        if (strcmp(kind, "plain")) {
            (void)setsid();
        }
        if (is_daemon && fork() > 0) {
            _exit(0);
        }
        note(kind);
        (void)close(ready[0]);
        (void)close(ready[1]);
        beat();
    }
    (void)close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    (void)close(ready[0]);
    if (is_daemon) {
        (void)waitpid(pid, NULL, 0);
    }
}

static void beat_on(void *arg)
{
    (void)arg;
    beat();
}

/* What ended its first thread is a zombie by its state, but goes on. */
static void start_leaderless(void)
{
    static struct hf__thread thread;

    if (fork() == 0) {
        (void)setsid();
        if (hf__thread_start(&thread, "beat", beat_on, NULL)) {
            _exit(94);
        }
        (void)syscall(SYS_exit, 0);
    }
}

/* Memory that outlives a process that is killed: a file of their times. */
static int64_t *share_times(long count)
{
    char path[512];
    void *times = MAP_FAILED;
    size_t size = (size_t)count * sizeof(int64_t);
    int fd;

    (void)snprintf(path, sizeof path, "%.500s.hops", log_path);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && !ftruncate(fd, (off_t)size)) {
        times = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (times == MAP_FAILED) {
        _exit(92);
    }
    (void)close(fd);
    return times;
}

/* Another pid, and another session, at each moment. */
static void start_hopper(volatile int64_t *ret_last)
{
    hf__time end = hf__after_ms(hf__now(), HOPS_END_MS);

    if (fork()) {
        return;
    }
    while (hf__before(hf__now(), end)) {
        (void)setsid();
        *ret_last = hf__now().ns;
        if (fork()) {
            break;
        }
    }
    _exit(0);
}

static void start_hoppers(long count)
{
    int64_t *times = share_times(count);

    for (long i = 0; i < count; i++) {
        start_hopper(&times[i]);
    }
}

static int do_nothing(void *arg)
{
    (void)arg;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        (void)syscall(SYS_pause);
    }
    return 0;
}

/* They share our memory, so that thousands cost little. Gives how many there
 * are now. */
static long start_crowd(pid_t *pids, long count)
{
    char *stacks =
        mmap(NULL, (size_t)count * STACK_SIZE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    long i = 0;

    for (; stacks != MAP_FAILED && i < count; i++) {
        pids[i] = clone(do_nothing, stacks + (i + 1) * STACK_SIZE,
                        CLONE_VM | SIGCHLD, NULL);
        if (pids[i] < 0) {
            break;
        }
    }
    return i;
}

/* Not every init reaps thousands in time: all are waited for here. */
_Noreturn static void be_crowd(long count)
{
    pid_t *pids = calloc((size_t)count, sizeof *pids);
    long started;
    sigset_t term;

    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &term, NULL);
    started = pids ? start_crowd(pids, count) : 0;
    if (started == count) {
        note("crowd");
        (void)sigwaitinfo(&term, NULL);
    }
    for (long i = 0; i < started; i++) {
        (void)kill(pids[i], SIGKILL);
        (void)waitpid(pids[i], NULL, 0);
    }
    _exit(started == count ? 0 : 93);
}

static void act(const char *word, const char *value)
{
    if (!strcmp(word, "say")) {
        note(value);
    } else if (!strcmp(word, "ignore")) {
        set_signal(value, SIG_IGN);
    } else if (!strcmp(word, "catch")) {
        set_signal(value, on_signal);
    } else if (!strcmp(word, "pause")) {
        rest(strtol(value, NULL, 10));
    } else if (!strcmp(word, "fds")) {
        note_descriptors();
    } else if (!strcmp(word, "fork")) {
        start_other(value);
    } else if (!strcmp(word, "leaderless")) {
        start_leaderless();
    } else if (!strcmp(word, "hop")) {
        start_hoppers(strtol(value, NULL, 10));
    } else if (!strcmp(word, "crowd")) {
        be_crowd(strtol(value, NULL, 10));
    } else if (!strcmp(word, "exit")) {
        _exit((int)strtol(value, NULL, 10));
    } else if (!strcmp(word, "die")) {
        (void)raise(signals[find_signal(value)].number);
    } else if (!strcmp(word, "beat")) {
        beat();
    } else {
        _exit(96);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 95;
    }
    log_path = argv[1];
    log_fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (log_fd >= 0) {
        /* High, so that it can't be mistaken for one that we were given. */
        int high = fcntl(log_fd, F_DUPFD_CLOEXEC, 500);

        (void)close(log_fd);
        log_fd = high;
    }
    for (int i = 2; i < argc; i++) {
        char word[16] = "";
        size_t length = strcspn(argv[i], "=");

        (void)snprintf(word, sizeof word, "%.*s", (int)length, argv[i]);
        act(word, argv[i] + length + (argv[i][length] == '='));
    }
    return 0;
}
