/* SPDX-License-Identifier: MIT */
/*
 * Runs the registered tests one after the other, each in a process (and a
 * process group) of its own, and says in TAP how each ended. What a test
 * tells its runner goes through one page of shared memory, so that a crash,
 * a closed stderr or a failed EXPECT in a forked child can't hide a result:
 * a test passes only if its function returned and nothing failed on the way.
 *
 * A test of which nothing failed but an EXPECT_SOON() is run again, up to
 * three times in all. What failed by an EXPECT_ alone, in a test that came to
 * its end otherwise, is marked: tools/again.py may run it a second time, with
 * nothing beside it. EXPECT_SAFE(), a hang, a sanitizer's exit code and a
 * crash are not, of whichever of its processes, whatever failed before. Nor is
 * a leftover, unless something else failed: then who was still at work is one.
 *
 * The runner adopts orphans (PR_SET_CHILD_SUBREAPER); a process that outlives
 * its test is therefore found whatever session it moved to, and ended.
 * HOLDFAST_TEST_SLOW in the environment makes every limit five times longer,
 * for sanitizers and valgrind. The runner has one thread.
 */
#include "tests/lib/test.h"
#include "tests/lib/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 20, GRACE_MS = 1000 };
enum { SHOWN_BYTES = 65536, RUNS = 3 };

static struct hf__test *first;
static struct hf__test **last = &first;
static pid_t test_pid; /* in the test's process: itself */
static uint64_t seed = 1;
static const char *filter;
static const char *only;
static int part = 1; /* of how many */
static int parts = 1;
static void (*prepare)(void);
static void (*before_each)(void);
char **hf__test_args;

void hf__test_register(struct hf__test *t)
{
    *last = t;
    last = &t->next;
}

void hf__test_prepare(void (*fn)(void))
{
    prepare = fn;
}

void hf__test_before(void (*fn)(void))
{
    before_each = fn;
}

uint64_t hf__test_seed(void)
{
    return seed;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t hf__test_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The test's process. It ends by exit(), so that leak checkers run. */
static _Noreturn void run_test(const struct hf__test *t, int output)
{
    int null = open("/dev/null", O_RDONLY);
    sigset_t none;

    test_pid = getpid();
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(null);
    close(output);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    hf__test_note_fds();
    if (before_each) {
        before_each();
    }
    t->run();
    if (getpid() != test_pid) {
        hf__test_conclude(HF__TEST_FAILED,
                          "a forked child returned from the test");
        _exit(1);
    }
    hf__test_check_fds();
    exit(hf__test_conclude(HF__TEST_PASSED, "%s", "") ? 0 : 1);
}

/* Waits for the test and reaps orphans meanwhile. False: past its limit. */
static bool wait_for(pid_t pid, int limit_s, int *status)
{
    int64_t until = hf__test_now_ms() + (int64_t)limit_s * 1000;
    sigset_t wanted;

    sigprocmask(SIG_BLOCK, NULL, &wanted);
    for (;;) {
        int64_t left = until - hf__test_now_ms();
        struct timespec wait = {(time_t)(left / 1000),
                                (long)(left % 1000 * 1000000)};
        int st;
        pid_t got;
        int sig;

        while ((got = waitpid(-1, &st, WNOHANG)) > 0) {
            if (got == pid) {
                *status = st;
                return true;
            }
            hf__test_note_end(st);
        }
        if (left <= 0) {
            return false;
        }
        sig = sigtimedwait(&wanted, NULL, &wait);
        if (sig > 0 && sig != SIGCHLD) {
            kill(-pid, SIGKILL);
            hf__test_end_leftovers(0);
            hf__test_forget_folder();
            printf("Bail out! Interrupted by signal %d.\n", sig);
            exit(1);
        }
    }
}

static void end_past_limit(pid_t pid, int limit_s)
{
    int before = atomic_exchange(&hf__test_page->outcome, HF__TEST_FAILED);

    if (before != HF__TEST_FAILED) {
        snprintf(hf__test_page->why, sizeof hf__test_page->why,
                 "still running after %d s", limit_s);
    }
    atomic_store(&hf__test_page->is_unsafe, true);
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    hf__test_end_leftovers(0);
}

/* The last word on how the test went, from how its process ended. */
static void judge(int status)
{
    int outcome = atomic_load(&hf__test_page->outcome);
    bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    bool left = hf__test_end_leftovers(GRACE_MS);

    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        atomic_store(&hf__test_page->is_unsafe, true);
    }
    if (outcome != HF__TEST_FAILED && !ended_well) {
        snprintf(hf__test_page->why, sizeof hf__test_page->why,
                 "ended with %s %d%s",
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                 outcome == HF__TEST_PASSED ? ", after its last line" : "");
    } else if (outcome == HF__TEST_RUNNING) {
        snprintf(hf__test_page->why, sizeof hf__test_page->why,
                 "ended before its last line");
    } else if (outcome == HF__TEST_PASSED && left) {
        snprintf(hf__test_page->why, sizeof hf__test_page->why,
                 "leaves a process running");
    } else {
        return;
    }
    atomic_store(&hf__test_page->outcome, HF__TEST_FAILED);
}

static void print_comment(const char *text, size_t length)
{
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;

        printf("#   %.*s\n", (int)line, text);
        text += line + (end ? 1 : 0);
        length -= line + (end ? 1 : 0);
    }
}

/* tools/again.py reads this line; what a test prints can't look like it. */
static void print_mark(void)
{
    if (atomic_load(&hf__test_page->is_ordinary) &&
        !atomic_load(&hf__test_page->is_unsafe)) {
        printf("# may be tried again alone\n");
    }
}

static void print_output(int output)
{
    static char text[SHOWN_BYTES];
    ssize_t n = pread(output, text, sizeof text, 0);

    print_comment(text, n > 0 ? (size_t)n : 0);
}

/* tools/count_tap.py tells this from a skip. */
static void report_unfit(const struct hf__test *t, int number)
{
    printf("ok %d - %s # SKIP does not apply: needs %s\n", number, t->name,
           t->condition);
}

static bool report(const struct hf__test *t, int number, int output)
{
    int outcome = atomic_load(&hf__test_page->outcome);
    bool ok = (outcome == HF__TEST_FAILED) == t->must_fail ||
              outcome == HF__TEST_SKIPPED;

    printf("%s %d - %s", ok ? "ok" : "not ok", number, t->name);
    if (outcome == HF__TEST_SKIPPED) {
        printf(" # SKIP %s", hf__test_page->why);
    }
    putchar('\n');
    if (!ok) {
        printf("# %s:%d: %s\n", t->file, t->line,
               t->must_fail ? "should have failed" : "failed");
        print_mark();
        print_comment(hf__test_page->why, strlen(hf__test_page->why));
    }
    if (ok && t->must_fail) {
        printf("# failed as it must:\n");
        print_mark();
        print_comment(hf__test_page->why, strlen(hf__test_page->why));
    } else {
        print_output(output);
    }
    fflush(stdout);
    return ok;
}

/* One run of it; its outcome is in the page. */
static void play(const struct hf__test *t, int output)
{
    int limit_s = t->limit_s ? t->limit_s : LIMIT_S;
    int status = 0;
    pid_t pid;

    memset(hf__test_page, 0, sizeof *hf__test_page);
    hf__test_note_pressure();
    if (getenv("HOLDFAST_TEST_SLOW")) {
        limit_s *= HF__TEST_SLOW_FACTOR;
    }
    pid = fork();
    if (pid == 0) {
        run_test(t, output);
    }
    if (pid < 0 || output < 0) {
        printf("Bail out! The runner: %s.\n", strerror(errno));
        exit(1);
    }
    setpgid(pid, pid);
    if (wait_for(pid, limit_s, &status)) {
        judge(status);
    } else {
        end_past_limit(pid, limit_s);
    }
    hf__test_forget_folder();
}

/* A time that was too long may be the machine's fault, but not each time. */
static bool run_one(const struct hf__test *t, int number)
{
    bool ok;

    for (int i = 1;; i++) {
        int output = memfd_create("test-output", MFD_CLOEXEC);

        play(t, output);
        if (i == RUNS || !atomic_load(&hf__test_page->is_late) ||
            atomic_load(&hf__test_page->is_unsafe)) {
            ok = report(t, number, output);
            close(output);
            return ok;
        }
        printf("# %s is late, and runs again:\n", t->name);
        print_comment(hf__test_page->why, strlen(hf__test_page->why));
        close(output);
    }
}

/* Called once for each test, in their order. */
static bool is_wanted(const struct hf__test *t, int *place)
{
    if (only) {
        return strcmp(t->name, only) == 0;
    }
    return (!filter || strstr(t->name, filter)) &&
           (*place)++ % parts == part - 1;
}

/* True: the tests shall be listed, not run. */
static bool read_arguments(char **argv)
{
    const char *given = getenv("HOLDFAST_TEST_SEED");
    bool list = false;

    seed = given ? strtoull(given, NULL, 0) : seed;
    only = getenv("HOLDFAST_TEST_ONLY");
    only = only ? strdup(only) : NULL;
    unsetenv("HOLDFAST_TEST_ONLY"); /* what a test starts has other tests */
    for (++argv; *argv; argv++) {
        if (strcmp(*argv, "--list") == 0) {
            list = true;
        } else if (strcmp(*argv, "--filter") == 0 && argv[1]) {
            filter = *++argv;
        } else if (strcmp(*argv, "--seed") == 0 && argv[1]) {
            seed = strtoull(*++argv, NULL, 0);
        } else if (strcmp(*argv, "--part") == 0 && argv[1]) {
            if (sscanf(*++argv, "%d/%d", &part, &parts) != 2 || parts < 1) {
                printf("Bail out! --part wants K/N.\n");
                exit(2);
            }
        } else {
            break;
        }
    }
    hf__test_args = argv;
    return list;
}

static void prepare_runner(void)
{
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_SETMASK, &ours, NULL);
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    hf__test_page = mmap(NULL, sizeof *hf__test_page, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (hf__test_page == MAP_FAILED) {
        printf("Bail out! mmap: %s.\n", strerror(errno));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    bool list = read_arguments(argv);
    bool all_ok = true;
    int count = 0;
    int place = 0;

    (void)argc;
    /* Before the runner adopts orphans: what all tests share is none. */
    if (prepare && !list) {
        prepare();
    }
    prepare_runner();
    for (struct hf__test *t = first; t; t = t->next) {
        if (!is_wanted(t, &place)) {
            continue;
        }
        count++;
        if (list) {
            printf("%s\n", t->name);
        } else if (t->applies && !t->applies()) {
            report_unfit(t, count);
        } else {
            all_ok &= run_one(t, count);
        }
    }
    if (!list) {
        printf("1..%d\n", count);
    }
    return all_ok ? 0 : 1;
}
