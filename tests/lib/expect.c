/* SPDX-License-Identifier: MIT */
/*
 * What a test may call: expectations, its folder, time and threads. A failed
 * expectation says why in the page shared with the runner and ends its
 * process at once, whichever thread or forked child it is in. Deciding what
 * that means for the test is left to the runner in tests/lib/test.c.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct hf__test_thread {
    pthread_t native;
    void (*fn)(void *);
    void *arg;
};

struct hf__test_page *hf__test_page;

int64_t hf__test_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void hf__test_pause_ms(int64_t ms)
{
    int64_t until = hf__test_now_ms() + ms;
    struct timespec at = {.tv_sec = (time_t)(until / 1000),
                          .tv_nsec = (long)(until % 1000 * 1000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
           EINTR) {
    }
}

int64_t hf__test_patience(int64_t ms)
{
    return getenv("HOLDFAST_TEST_SLOW") ? ms * HF__TEST_SLOW_FACTOR : ms;
}

bool hf__test_conclude(enum hf__test_outcome o, const char *format, ...)
{
    int before = HF__TEST_RUNNING;
    va_list args;

    if (!atomic_compare_exchange_strong(&hf__test_page->outcome, &before,
                                        (int)o)) {
        return false;
    }
    va_start(args, format);
    vsnprintf(hf__test_page->why, sizeof hf__test_page->why, format, args);
    va_end(args);
    return true;
}

/* The end of a test by an EXPECT; `is_first`: nothing had failed before. */
static _Noreturn void end_ordinarily(bool is_first)
{
    if (is_first) {
        atomic_store(&hf__test_page->is_ordinary, true);
    }
    _exit(1);
}

/* The end by a safety oracle, which also counts if it is not the first. */
static _Noreturn void end_unsafely(void)
{
    atomic_store(&hf__test_page->is_unsafe, true);
    _exit(1);
}

void hf__test_unexpected(const char *text, const char *file, int line)
{
    end_ordinarily(hf__test_conclude(HF__TEST_FAILED, "%s:%d: expected %s",
                                     file, line, text));
}

void hf__test_unsafe(const char *text, const char *file, int line)
{
    hf__test_conclude(HF__TEST_FAILED, "%s:%d: not safe: expected %s", file,
                      line, text);
    end_unsafely();
}

static bool relates(int64_t a, char relation, int64_t b)
{
    switch (relation) {
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '>':
        return a > b;
    }
    return a < b;
}

static bool conclude_numbers(int64_t a, int64_t b, const char *text,
                             const char *file, int line)
{
    return hf__test_conclude(HF__TEST_FAILED,
                             "%s:%d: expected %s; they are %" PRId64
                             " and %" PRId64,
                             file, line, text, a, b);
}

void hf__test_compare(int64_t a, int64_t b, const char *relation,
                      const char *text, const char *file, int line)
{
    if (!relates(a, relation[0], b)) {
        end_ordinarily(conclude_numbers(a, b, text, file, line));
    }
}

void hf__test_oracle(int64_t a, int64_t b, const char *relation,
                     const char *text, const char *file, int line)
{
    if (!relates(a, relation[0], b)) {
        conclude_numbers(a, b, text, file, line);
        end_unsafely();
    }
}

void hf__test_soon(int64_t took, int64_t bound, const char *text,
                   const char *file, int line)
{
    if (took >= bound && took >= (bound = hf__test_stretched(bound))) {
        bool is_first = conclude_numbers(took, bound, text, file, line);

        if (is_first) {
            atomic_store(&hf__test_page->is_late, true);
        }
        end_ordinarily(is_first);
    }
}

void hf__test_text(const char *a, const char *b, const char *a_text,
                   const char *b_text, const char *file, int line)
{
    if (a == b || (a && b && strcmp(a, b) == 0)) {
        return;
    }
    end_ordinarily(hf__test_conclude(
        HF__TEST_FAILED, "%s:%d: expected %s == %s; they are\n\"%s\"\n\"%s\"",
        file, line, a_text, b_text, a ? a : "(null)", b ? b : "(null)"));
}

void hf__test_has(const char *haystack, const char *needle, const char *text,
                  const char *file, int line)
{
    if (haystack && needle && strstr(haystack, needle)) {
        return;
    }
    end_ordinarily(hf__test_conclude(
        HF__TEST_FAILED, "%s:%d: expected %s to contain\n\"%s\"\nit is\n\"%s\"",
        file, line, text, needle ? needle : "(null)",
        haystack ? haystack : "(null)"));
}

_Noreturn void hf__test_skip(const char *reason, const char *file, int line)
{
    (void)file;
    (void)line;
    _exit(hf__test_conclude(HF__TEST_SKIPPED, "%s", reason) ? 0 : 1);
}

const char *hf__test_folder(void)
{
    int none = HF__TEST_NO_FOLDER;
    const char *parent = getenv("TMPDIR");

    if (atomic_compare_exchange_strong(&hf__test_page->folder_state, &none,
                                       HF__TEST_MAKING_FOLDER)) {
        snprintf(hf__test_page->folder, sizeof hf__test_page->folder,
                 "%s/holdfast-XXXXXX", parent && parent[0] ? parent : "/tmp");
        if (!mkdtemp(hf__test_page->folder)) {
            hf__test_conclude(HF__TEST_FAILED, "mkdtemp %s: %s",
                              hf__test_page->folder, strerror(errno));
            _exit(1);
        }
        atomic_store(&hf__test_page->folder_state, HF__TEST_HAVE_FOLDER);
    }
    while (atomic_load(&hf__test_page->folder_state) != HF__TEST_HAVE_FOLDER) {
        hf__test_pause_ms(1);
    }
    return hf__test_page->folder;
}

int hf__test_exit_code(int pid)
{
    int status = -1;

    EXPECT_IS(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        printf("process %d ended with signal %d\n", pid, WTERMSIG(status));
    }
    EXPECT_SAFE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void *thread_main(void *arg)
{
    struct hf__test_thread *t = arg;

    t->fn(t->arg);
    return NULL;
}

struct hf__test_thread *hf__test_start(void (*fn)(void *), void *arg)
{
    struct hf__test_thread *t = calloc(1, sizeof *t);

    EXPECT(t);
    t->fn = fn;
    t->arg = arg;
    EXPECT_IS(pthread_create(&t->native, NULL, thread_main, t), 0);
    return t;
}

void hf__test_join(struct hf__test_thread *t)
{
    EXPECT_IS(pthread_join(t->native, NULL), 0);
    free(t);
}

void hf__test_start_all(struct hf__test_thread **threads, int n,
                        void (*fn)(void *), void *arg)
{
    for (int i = 0; i < n; i++) {
        threads[i] = hf__test_start(fn, arg);
    }
}

void hf__test_join_all(struct hf__test_thread **threads, int n)
{
    for (int i = 0; i < n; i++) {
        hf__test_join(threads[i]);
    }
}
