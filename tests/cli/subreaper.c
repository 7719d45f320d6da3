/* SPDX-License-Identifier: MIT */
/*
 * Loaded before the C library into `holdfast run`: the worst that the kernel
 * does to who becomes a child subreaper. It keeps that in a bit beside another,
 * which it sets in all descendants of a process that becomes one; neither
 * write is atomic, so of two at once one may be lost (seen once in some 700
 * tries on Linux 6.18). Here it is lost for sure: a child of the first process
 * is none if that one became one after it was forked. Thread: main of each
 * process.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

#define WAIT_MS 20000

static atomic_bool *has_become; /* the first process; seen by all */
static bool had_become;         /* when we were forked */
static bool is_forked;

static void note_before(void)
{
    had_become = atomic_load(has_become);
}

static void note_child(void)
{
    is_forked = true;
}

__attribute__((constructor)) static void begin(void)
{
    void *page = MAP_FAILED;

    if (strcmp(program_invocation_short_name, "holdfast") == 0) {
        page = mmap(NULL, sizeof *has_become, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    if (page != MAP_FAILED) {
        has_become = page;
        (void)pthread_atfork(note_before, NULL, note_child);
    }
}

static bool is_overtaken(void)
{
    for (int i = 0; i < WAIT_MS && !atomic_load(has_become); i++) {
        (void)poll(NULL, 0, 1);
    }
    return atomic_load(has_become);
}

SHOWN int prctl(int option, ...)
{
    unsigned long words[4];
    va_list list;
    long r;

    va_start(list, option);
    for (int i = 0; i < 4; i++) {
        words[i] = va_arg(list, unsigned long);
    }
    va_end(list);
    r = syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
    if (has_become == NULL || option != PR_SET_CHILD_SUBREAPER) {
        return (int)r;
    }
    if (!is_forked) {
        atomic_store(has_become, true);
    } else if (!had_become && is_overtaken()) {
        (void)syscall(SYS_prctl, option, 0L, 0L, 0L, 0L);
    }
    return (int)r;
}
