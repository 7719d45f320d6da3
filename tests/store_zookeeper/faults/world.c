/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h. Servers are the test's: its first process starts them,
 * and those that it forks only talk to them.
 */
#include "tests/store_zookeeper/faults/world.h"

#include "src/base/time.h"
#include "tests/contract/urls.h"

#include <stdlib.h>
#include <string.h>

enum { PATH = 320 };

static char hosts[HF__ZOOKEEPER_URL];
static char extra[256];

void free_server(struct hf__zookeeper **s)
{
    hf__zookeeper_free(*s);
}

void free_ensemble(struct hf__zookeeper_ensemble **e)
{
    hf__zookeeper_ensemble_free(*e);
}

void free_proxy(struct hf__proxy **p)
{
    hf__proxy_free(*p);
}

void say_options(const char *options)
{
    snprintf(extra, sizeof extra, "%s", options);
}

struct hf__zookeeper *start_server(const char *options)
{
    struct hf__zookeeper *s = hf__zookeeper_start(NULL);

    hf__zookeeper_url(s, "", hosts, sizeof hosts);
    say_options(options);
    return s;
}

static struct hf__zookeeper_ensemble *
start_three(const struct hf__zookeeper_opts *opts, const char *options)
{
    struct hf__zookeeper_ensemble *e = hf__zookeeper_ensemble_start(0, opts);

    hf__zookeeper_ensemble_url(e, "", hosts, sizeof hosts);
    say_options(options);
    return e;
}

struct hf__zookeeper_ensemble *start_ensemble(const char *options)
{
    return start_three(NULL, options);
}

struct hf__zookeeper_ensemble *start_divisible_ensemble(const char *options)
{
    const struct hf__zookeeper_opts opts = {.is_divisible = true};

    return start_three(&opts, options);
}

struct hf__proxy *start_proxy(const struct hf__zookeeper *s)
{
    return hf__proxy_start(hf__zookeeper_port(s), &hf__framing_zookeeper);
}

hf_client *open_at(int port, const char *options)
{
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;
    char url[512];
    int r;

    snprintf(url, sizeof url, "zookeeper://127.0.0.1:%d?%s", port, options);
    r = hf_open(url, NULL, &client, &err);
    if (r != HF_OK) {
        printf("%s: %s\n", url, err.text);
    }
    EXPECT_IS(r, HF_OK);
    return client;
}

hf_client *open_by(const struct hf__proxy *p, const char *options)
{
    return open_at(hf__proxy_port(p), options);
}

int hf__store_url(const char *store, char *url, size_t size)
{
    (void)store;
    snprintf(url, size, "%s%s%s", hosts, extra[0] ? "?" : "", extra);
    return 0;
}

/* ---- its tree */

const char *folder_of(const char *name)
{
    static _Thread_local char paths[4][PATH];
    static _Thread_local int next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH, "/holdfast/%s", name);
    return path;
}

int claims_of(const struct hf__zookeeper *s, const char *name)
{
    int n = hf__zookeeper_count(s, folder_of(name));

    return n < 0 ? 0 : n;
}

void await_claims(const struct hf__zookeeper *s, const char *name, int n)
{
    int64_t start = hf__test_now_ms();

    while (claims_of(s, name) != n) {
        if (since(start) > patience(15000)) {
            printf("%s has:\n%s\n", name,
                   hf__zookeeper_list(s, folder_of(name)));
        }
        EXPECT_LESS(since(start), patience(15000) + 1);
        hf__test_pause_ms(20);
    }
}

int64_t session_of(const struct hf__zookeeper *s, const char *name, int i)
{
    static _Thread_local struct hf__zookeeper_node node;
    char path[2 * PATH];
    const char *at = hf__zookeeper_list(s, folder_of(name));

    while (i-- > 0 && at != NULL) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL || at[0] == '\0') {
        return 0;
    }
    snprintf(path, sizeof path, "%s/%.*s", folder_of(name),
             (int)strcspn(at, "\n"), at);
    return hf__zookeeper_look(s, path, &node) ? node.owner : 0;
}

int64_t lease_of_session(int64_t session_ms)
{
    return session_ms * 2 / 3;
}

/* ---- those who wait */

static void wait_for_it(void *arg)
{
    struct waiter *w = arg;
    hf_lock *lock = NULL;
    hf_acquire_opts opts = wanting(w->wait_ms, HF_LEASE_DEFAULT_MS);

    w->result = hf_acquire(w->client, w->name, &opts, &lock, NULL);
    if (w->result == HF_OK) {
        w->fence = hf_fence(lock);
        atomic_store(&w->is_done, true);
        w->released = hf_release(lock, NULL);
        hf_free(lock);
    }
    atomic_store(&w->is_done, true);
}

void begin_to_wait(struct waiter *w, hf_client *client, const char *name,
                   int64_t wait_ms)
{
    *w = (struct waiter){.client = client, .name = name, .wait_ms = wait_ms};
    w->thread = hf__test_start(wait_for_it, w);
}

int end_waiting(struct waiter *w)
{
    hf__test_join(w->thread);
    return w->result;
}

/* ---- a history */

struct history *new_history(void)
{
    return shared_page(sizeof(struct history));
}

int64_t now_us(void)
{
    return hf__between_ns((hf__time){0}, hf__now()) / 1000;
}

/* The clock is read before each look: what is held then was held at that time,
 * for the grant was there already. */
void stay_inside(struct history *h, hf_lock *lock, int name, int who,
                 int64_t ms)
{
    struct stay stay = {.name = name, .who = who, .fence = hf_fence(lock)};
    int64_t start = hf__test_now_ms();
    int64_t at_us = now_us();
    int i;

    stay.from_us = at_us;
    if (!hf_held(lock)) {
        return;
    }
    do {
        stay.until_us = at_us;
        hf__test_pause_ms(1);
        at_us = now_us();
    } while (hf_held(lock) && since(start) < ms);
    i = atomic_fetch_add(&h->n, 1);
    EXPECT_LESS(i, STAYS_MAX);
    h->stays[i] = stay;
}

static int by_name_and_time(const void *a, const void *b)
{
    const struct stay *one = a;
    const struct stay *other = b;

    if (one->name != other->name) {
        return one->name < other->name ? -1 : 1;
    }
    return (one->from_us > other->from_us) - (one->from_us < other->from_us);
}

static bool is_crime(const struct stay *before, const struct stay *after)
{
    bool is_at_once = after->from_us <= before->until_us;

    if (is_at_once || after->fence <= before->fence) {
        printf("name %d: %d had fence %llu from %lld to %lld us, %d has %llu "
               "from %lld to %lld\n",
               before->name, before->who, (unsigned long long)before->fence,
               (long long)before->from_us, (long long)before->until_us,
               after->who, (unsigned long long)after->fence,
               (long long)after->from_us, (long long)after->until_us);
        return true;
    }
    return false;
}

int count_crimes(const struct history *h)
{
    int n = atomic_load(&h->n);
    struct stay *sorted = calloc((size_t)n + 1, sizeof *sorted);
    int crimes = 0;

    EXPECT(sorted != NULL);
    memcpy(sorted, h->stays, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_name_and_time);
    for (int i = 1; i < n; i++) {
        crimes += sorted[i].name == sorted[i - 1].name &&
                  is_crime(&sorted[i - 1], &sorted[i]);
    }
    free(sorted);
    return crimes;
}

void expect_innocent(const struct history *h)
{
    printf("%d stays\n", atomic_load(&h->n));
    EXPECT_SAFE_IS(count_crimes(h), 0);
}
