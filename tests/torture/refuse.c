/* SPDX-License-Identifier: MIT */
/*
 * Loaded before the C library into a process of the command: the n-th
 * malloc(), calloc() or realloc() gets nothing. REFUSE_AT is n, REFUSE_STAYS
 * whether all later ones fail too, REFUSE_DEPTH
 * in which process (0: the first, 1: one that it forked, …; each counts for
 * itself), REFUSE_COUNT a file that gets the number
 * of requests when the process ends, REFUSE_IN the program meant ("holdfast");
 * what the command executes is left alone. getpwuid() counts as one request:
 * glibc 2.36 itself crashes when it gets no memory in there; REFUSE_HOME is the
 * error that it always gives. Nothing here allocates.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static struct passwd *(*real_getpwuid)(uid_t);
static int (*real_getattr)(pthread_t, pthread_attr_t *);
static _Thread_local bool is_spared;
static atomic_long count;
static long at; /* 0: nothing fails */
static bool stays;
static bool is_meant;
static long depth;        /* forks since the first process */
static long wanted_depth; /* where something fails */

/* dlsym() may ask for a little memory before there is a calloc(). */
static _Alignas(16) char early[4096];
static size_t early_used;

static void *from_early(size_t size)
{
    size_t start = early_used;

    early_used += (size + 15) / 16 * 16;
    return early_used <= sizeof early ? early + start : NULL;
}

static void find_real(void)
{
    void *symbol;

    symbol = dlsym(RTLD_NEXT, "malloc");
    memcpy(&real_malloc, &symbol, sizeof symbol);
    symbol = dlsym(RTLD_NEXT, "calloc");
    memcpy(&real_calloc, &symbol, sizeof symbol);
    symbol = dlsym(RTLD_NEXT, "realloc");
    memcpy(&real_realloc, &symbol, sizeof symbol);
    symbol = dlsym(RTLD_NEXT, "getpwuid");
    memcpy(&real_getpwuid, &symbol, sizeof symbol);
    symbol = dlsym(RTLD_NEXT, "pthread_getattr_np");
    memcpy(&real_getattr, &symbol, sizeof symbol);
}

static bool is_refused(void)
{
    long n;

    if (!is_meant || is_spared) {
        return false;
    }
    n = atomic_fetch_add(&count, 1) + 1;
    if (at == 0 || depth != wanted_depth || n < at || (n > at && !stays)) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

SHOWN void *malloc(size_t size)
{
    if (!real_malloc) {
        find_real();
    }
    return is_refused() ? NULL : real_malloc(size);
}

SHOWN void *calloc(size_t n, size_t size)
{
    static bool is_looking;

    if (!real_calloc) {
        if (is_looking) {
            return from_early(n * size);
        }
        is_looking = true;
        find_real();
    }
    return is_refused() ? NULL : real_calloc(n, size);
}

SHOWN void *realloc(void *p, size_t size)
{
    if (!real_realloc) {
        find_real();
    }
    return is_refused() ? NULL : real_realloc(p, size);
}

static long number(const char *name)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : 0;
}

SHOWN struct passwd *getpwuid(uid_t uid)
{
    struct passwd *found = NULL;

    if (getenv("REFUSE_HOME")) {
        errno = (int)number("REFUSE_HOME");
    } else if (!is_refused()) {
        is_spared = true;
        found = real_getpwuid(uid);
        is_spared = false;
    }
    return found;
}

/* Asked by the sanitizers alone, which end the process if they get nothing. */
SHOWN int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    int r;

    is_spared = true;
    r = real_getattr(thread, attr);
    is_spared = false;
    return r;
}

static void begin_anew(void)
{
    depth++;
    atomic_store(&count, 0);
}

/* After this the program itself begins. */
__attribute__((constructor)) static void begin(void)
{
    const char *in = getenv("REFUSE_IN");

    find_real();
    at = number("REFUSE_AT");
    stays = number("REFUSE_STAYS") != 0;
    wanted_depth = number("REFUSE_DEPTH");
    (void)pthread_atfork(NULL, NULL, begin_anew);
    is_meant = in && !strcmp(in, program_invocation_short_name);
}

/* Of the first process; the others do not end by exit(). */
__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("REFUSE_COUNT");
    char line[64];
    int length = snprintf(line, sizeof line, "%ld\n", atomic_load(&count));
    int fd = path && is_meant && depth == 0
                 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                 : -1;

    if (fd >= 0) {
        ssize_t n = write(fd, line, (size_t)length);

        (void)n;
        (void)close(fd);
    }
}
