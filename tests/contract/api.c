/* SPDX-License-Identifier: MIT */
/*
 * The words of api.h, which decide nothing: a status that a test wants to see
 * is handed to it, all others must be good. Any thread of a test may call it.
 */
#include "tests/contract/api.h"
#include "tests/contract/urls.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENT_MS = 10000, LINES = 32, LINE_BYTES = 1024 };

static char lines[LINES][LINE_BYTES];
static atomic_int n_lines;
static atomic_bool is_complete[LINES];

void close_client(hf_client **client)
{
    hf_close(*client);
}

void free_lock(hf_lock **lock)
{
    hf_free(*lock);
}

void free_info(hf_info **info)
{
    hf_info_free(*info);
}

void free_cancel(hf_cancel **cancel)
{
    hf_cancel_free(*cancel);
}

/* Which store, as the build names it. */
static const char *store(void)
{
    EXPECT(hf__test_args[0]);
    return hf__test_args[0];
}

const char *scheme(void)
{
    static _Thread_local char text[40];

    hf__store_scheme(store(), text, sizeof text);
    return text;
}

const char *store_url(const char *options)
{
    static _Thread_local char url[2048];
    size_t length;

    EXPECT_IS(hf__store_url(store(), url, sizeof url), 0);
    length = strlen(url);
    if (options) {
        snprintf(url + length, sizeof url - length, "%c%s",
                 strchr(url, '?') ? '&' : '?', options);
    }
    return url;
}

const char *io_timeout(int64_t ms, const char *more)
{
    static _Thread_local char text[200];

    snprintf(text, sizeof text, "io_timeout=%lldms%s%s",
             (long long)patience(ms), more[0] ? "&" : "", more);
    return text;
}

static hf_client *open_url(const char *url, const hf_open_opts *opts)
{
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;
    int r = hf_open(url, opts, &client, &err);

    if (r) {
        printf("%s: %s: %s\n", url, hf_strstatus(r), err.text);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT(client);
    return client;
}

hf_client *open_store(void)
{
    return open_url(store_url(NULL), NULL);
}

hf_client *open_with(const char *options)
{
    return open_url(store_url(options), NULL);
}

/* The time-out of urls.c can't be given twice. */
void write_timed_url(char *to, size_t size, const char *options,
                     int64_t timeout_ms)
{
    const char *given = store_url(options);
    const char *at = strstr(given, "session_timeout=");

    snprintf(to, size, "%s", given);
    if (at) {
        snprintf(to + (at - given), size - (size_t)(at - given),
                 "session_timeout=%lldms%s", (long long)timeout_ms,
                 at + strcspn(at, "&"));
    }
}

hf_client *open_lasting(const char *options)
{
    char url[2200];

    write_timed_url(url, sizeof url, options, 60000);
    return open_url(url, NULL);
}

hf_client *open_faulty(const char *options)
{
    char url[2200];

    snprintf(url, sizeof url, "fault+%s", store_url(options));
    return open_url(url, NULL);
}

int open_status(const char *url, hf_error *err)
{
    hf_client *client = NULL;
    int r = hf_open(url, NULL, &client, err);

    EXPECT_IS(client != NULL, r == HF_OK);
    hf_close(client);
    return r;
}

hf_acquire_opts wanting(int64_t wait_ms, int64_t lease_ms)
{
    static atomic_uint owners;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = wait_ms;
    opts.lease_ms = store_leases() ? lease_ms : opts.lease_ms;
    opts.owner_id = ++owners;
    return opts;
}

void set_lease(hf_acquire_opts *opts, int64_t lease_ms)
{
    opts->lease_ms = store_leases() ? lease_ms : opts->lease_ms;
}

void end_after(hf_acquire_opts *opts, int64_t ms)
{
    if (store_leases()) {
        opts->lease_ms = ms;
        opts->auto_renew = 0;
    } else {
        opts->max_hold_ms = ms;
    }
}

hf_lock *must_acquire(hf_client *client, const char *name,
                      const hf_acquire_opts *opts)
{
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    int r = hf_acquire(client, name, opts, &lock, &err);

    if (r) {
        printf("acquiring %s: %s: %s\n", name, hf_strstatus(r), err.text);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT(lock);
    return lock;
}

hf_lock *acquire(hf_client *client, const char *name)
{
    return acquire_leased(client, name, HF_LEASE_DEFAULT_MS);
}

hf_lock *acquire_leased(hf_client *client, const char *name, int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(patience(PATIENT_MS), lease_ms);

    return must_acquire(client, name, &opts);
}

hf_lock *acquire_fixed(hf_client *client, const char *name, int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(patience(PATIENT_MS), lease_ms);

    end_after(&opts, lease_ms);
    return must_acquire(client, name, &opts);
}

void expect_no_grant(hf_client *client, const char *name,
                     const hf_acquire_opts *opts, int status, const char *word)
{
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    EXPECT_IS(hf_acquire(client, name, opts, &lock, &err), status);
    EXPECT(!lock);
    EXPECT_IS(err.status, status);
    EXPECT_HAS(err.text, word);
}

int attempt_with(hf_client *client, const char *name,
                 const hf_acquire_opts *opts)
{
    AUTO_LOCK *lock = NULL;
    int r = hf_acquire(client, name, opts, &lock, NULL);

    EXPECT_IS(lock != NULL, r == HF_OK);
    if (lock) {
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
    return r;
}

int attempt(hf_client *client, const char *name, int64_t wait_ms)
{
    hf_acquire_opts opts = wanting(wait_ms, HF_LEASE_DEFAULT_MS);

    return attempt_with(client, name, &opts);
}

int try_once(hf_client *client, const char *name)
{
    return attempt(client, name, 0);
}

int64_t await_free(hf_client *client, const char *name, int64_t wait_ms)
{
    int64_t start = hf__test_now_ms();
    hf_acquire_opts opts = wanting(wait_ms, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *lock = must_acquire(client, name, &opts);
    int64_t took = since(start);

    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    return took;
}

static int break_and_wait(hf_client *client, hf_client *other)
{
    AUTO_LOCK *lock = acquire_fixed(client, "heard", HF_LEASE_MAX_MS);

    EXPECT_IS(hf_break(other, "heard", hf_fence(lock), NULL), HF_OK);
    return hf_wait_lost(lock, 100);
}

void await_listening(hf_client *client)
{
    AUTO_CLIENT *other = open_store();
    int64_t start = hf__test_now_ms();
    int r = HF_TIMEDOUT;

    while (store_can(HF_CAP_PUSH) && r == HF_TIMEDOUT &&
           since(start) < patience(5000)) {
        r = break_and_wait(client, other);
    }
    EXPECT(r == HF_LOST || !store_can(HF_CAP_PUSH));
}

void expect_lost(hf_lock *lock, hf_reason reason)
{
    EXPECT_IS(hf_held(lock), 0);
    EXPECT_IS(hf_state(lock), HF_STATE_LOST);
    EXPECT_TEXT(hf_strreason(hf_lost_reason(lock)), hf_strreason(reason));
    EXPECT_IS(hf_remaining_ms(lock), 0);
    EXPECT_IS(hf_wait_lost(lock, 0), HF_LOST);
}

void expect_held(hf_lock *lock)
{
    EXPECT_IS(hf_held(lock), 1);
    EXPECT_IS(hf_state(lock), HF_STATE_HELD);
    EXPECT_IS(hf_lost_reason(lock), HF_REASON_NONE);
    EXPECT_MORE(hf_remaining_ms(lock), 0);
    EXPECT_IS(hf_wait_lost(lock, 0), HF_TIMEDOUT);
}

hf_info *look_at(hf_client *client, const char *name)
{
    hf_error err = HF_ERROR_INIT;
    hf_info *info = NULL;
    int r = hf_inspect(client, name, &info, &err);

    if (r) {
        printf("inspecting %s: %s: %s\n", name, hf_strstatus(r), err.text);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT(info);
    return info;
}

hf_presence presence(hf_client *client, const char *name)
{
    AUTO_INFO *info = look_at(client, name);

    return hf_info_presence(info);
}

hf_cancel *new_cancel(void)
{
    hf_cancel *cancel = NULL;

    EXPECT_IS(hf_cancel_new(&cancel), HF_OK);
    EXPECT(cancel);
    return cancel;
}

hf_stats_info stats_of(hf_client *client)
{
    hf_stats_info stats = HF_STATS_INFO_INIT;

    EXPECT_IS(hf_stats(client, &stats), HF_OK);
    return stats;
}

/* The sink: any thread of the library. Each line has a slot of its own. */
static void keep_line(void *arg, hf_level level, const char *line)
{
    int i = atomic_fetch_add(&n_lines, 1);

    (void)arg;
    (void)level;
    if (i < LINES) {
        snprintf(lines[i], sizeof lines[i], "%s", line);
        atomic_store(&is_complete[i], true);
    }
}

hf_client *open_logged_with(hf_open_opts *opts)
{
    opts->log = keep_line;
    return open_url(store_url(NULL), opts);
}

hf_client *open_logged(hf_level level)
{
    hf_open_opts opts = HF_OPEN_OPTS_INIT;

    opts.log_level = level;
    return open_logged_with(&opts);
}

hf_client *open_heard(const char *options, hf_level level, hf_log_fn log,
                      void *arg)
{
    hf_open_opts opts = HF_OPEN_OPTS_INIT;
    char url[2200];

    opts.log = log;
    opts.log_arg = arg;
    opts.log_level = level;
    snprintf(url, sizeof url, "fault+%s", store_url(options));
    return open_url(url, &opts);
}

static bool has_all(const char *line, const char *first, va_list more)
{
    for (const char *text = first; text; text = va_arg(more, const char *)) {
        if (!strstr(line, text)) {
            return false;
        }
    }
    return true;
}

const char *logged(const char *first, ...)
{
    for (int i = 0; i < LINES; i++) {
        va_list more;
        bool has;

        if (!atomic_load(&is_complete[i])) {
            continue;
        }
        va_start(more, first);
        has = has_all(lines[i], first, more);
        va_end(more);
        if (has) {
            return lines[i];
        }
        printf("logged: %s\n", lines[i]);
    }
    return NULL;
}
