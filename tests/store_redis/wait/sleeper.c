/* SPDX-License-Identifier: MIT */
/*
 * What the words of sleeper.h do. Thread: each party is used by one at a time.
 */
#include "tests/store_redis/wait/sleeper.h"

#include "src/base/rand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOW_FACTOR = 5, SLEEP_MS = 20000 };

struct sleeper crowd[CROWD];
static struct hf__redis *own;

int64_t slowly(int64_t ms)
{
    return getenv("HOLDFAST_TEST_SLOW") ? ms * SLOW_FACTOR : ms;
}

int64_t after(int64_t start_ms)
{
    return hf__test_now_ms() - start_ms;
}

struct hf__redis *start_server(const struct hf__redis_opts *opts)
{
    own = hf__redis_start(opts);
    return own;
}

void end_server(struct hf__redis **s)
{
    hf__redis_free(*s);
}

struct hf__redis *server(void)
{
    return own;
}

/* ---- parties */

void leave(struct party *p)
{
    hf__conn_close(&p->conn);
}

void enter(struct party *p, uint64_t client, const char *user)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = NULL;
    char text[256];
    int r;

    hf__conn_close(&p->conn);
    snprintf(text, sizeof text, "redis://%s127.0.0.1:%d/0", user,
             hf__redis_port(server()));
    p->error = (hf_error)HF_ERROR_INIT;
    EXPECT_IS(hf__url_parse(text, &url, &p->error), HF_OK);
    p->conn.client = client;
    r = hf__conn_open(&p->conn, hf__backend_find("redis"), url, "",
                      hf__after_ms(hf__now(), slowly(5000)), &p->error);
    if (r != HF_OK) {
        printf("%s\n", p->error.text);
    }
    EXPECT_IS(r, HF_OK);
}

static struct hf__key key_of(char *buf, const char *name)
{
    int n = snprintf(buf, HF__KEY_MAX, "holdfast:%s", name);

    return (struct hf__key){buf, (uint16_t)n, 9};
}

static int run(struct party *p, struct hf__op *op)
{
    struct hf__op *ops[] = {op};
    int r;

    op->err = &p->error;
    op->token = p->token;
    op->ret_record = &p->record;
    r = hf__conn_execute(&p->conn, ops, 1,
                         hf__after_ms(hf__now(), slowly(5000)), &p->error);
    if (r != HF_OK || op->result < 0) {
        printf("%s\n", p->error.text);
    }
    EXPECT_IS(r, HF_OK);
    p->is_queued = op->is_queued;
    return op->result;
}

int again(struct party *p, const char *name, struct hf__lock_mode lock_mode,
          enum hf__queueing queueing, int64_t lease_ms)
{
    static const struct hf__owner owner = {.label = "test", .pid = 1};
    struct hf__op op = {.kind = HF__OP_ACQUIRE, .lease_us = lease_ms * 1000};
    char buf[HF__KEY_MAX];

    op.key = key_of(buf, name);
    op.lock_mode = lock_mode;
    op.queueing = queueing;
    op.owner = &owner;
    return run(p, &op);
}

int try_as(struct party *p, const char *name, struct hf__lock_mode lock_mode,
           enum hf__queueing queueing, int64_t lease_ms)
{
    hf__random(&p->token, sizeof p->token);
    return again(p, name, lock_mode, queueing, lease_ms);
}

int try_for(struct party *p, const char *name, int64_t lease_ms)
{
    return try_as(p, name, ALONE, HF__QUEUE_NEVER, lease_ms);
}

void hold_job(struct party *p)
{
    enter(p, 1, "");
    EXPECT_IS(try_for(p, "job", LONG_MS), HF_OK);
}

int let_go(struct party *p, const char *name)
{
    struct hf__op op = {.kind = HF__OP_RELEASE};
    char buf[HF__KEY_MAX];

    op.key = key_of(buf, name);
    return run(p, &op);
}

/* ---- sleepers */

static void sleep_until_woken(void *arg)
{
    struct sleeper *s = arg;
    struct hf__watch *one = &s->watch;
    int r = HF_OK;

    while (r == HF_OK && !s->watch.has_fired &&
           !atomic_load(&s->is_called_off)) {
        r = hf__conn_wait(&s->who.conn, &one, 1,
                          hf__after_ms(hf__now(), SLEEP_MS), &s->who.error);
    }
    atomic_store(&s->state, r < 0 ? r : s->watch.has_fired);
}

void sleep_on(struct sleeper *s, const char *name,
              struct hf__lock_mode lock_mode)
{
    s->watch = (struct hf__watch){.key = key_of(s->key, name)};
    s->watch.fence = s->who.record.fence;
    s->watch.token = s->who.record.token;
    s->watch.lock_mode = lock_mode;
    if (s->who.is_queued) {
        s->watch.ticket = s->who.token;
    }
    atomic_store(&s->state, 0);
    atomic_store(&s->is_called_off, false);
    s->thread = hf__test_start(sleep_until_woken, s);
}

void fall_asleep_as(struct sleeper *s, uint64_t client, const char *name,
                    struct hf__lock_mode lock_mode, enum hf__queueing queueing)
{
    enter(&s->who, client, "");
    EXPECT_IS(try_as(&s->who, name, lock_mode, queueing, 30000), HF_BUSY);
    sleep_on(s, name, lock_mode);
}

void fall_asleep(struct sleeper *s, uint64_t client, const char *name)
{
    fall_asleep_as(s, client, name, ALONE, HF__QUEUE_NEVER);
}

void rise(struct sleeper *s)
{
    hf__test_join(s->thread);
    s->thread = NULL;
}

void call_off(struct sleeper *s)
{
    if (s->thread) {
        atomic_store(&s->is_called_off, true);
        hf__conn_interrupt(&s->who.conn);
        rise(s);
    }
    hf__conn_close(&s->who.conn);
}

int count_woken(struct sleeper *s, int n)
{
    int woken = 0;

    for (int i = 0; i < n; i++) {
        woken += atomic_load(&s[i].state) == 1;
    }
    return woken;
}

int64_t await_woken(struct sleeper *s, int n, int woken, int64_t ms)
{
    int64_t start = hf__test_now_ms();

    while (count_woken(s, n) < woken) {
        EXPECT_SOON(after(start), ms);
        hf__test_pause_ms(1);
    }
    return after(start);
}

void all_fall_asleep(int n)
{
    for (int i = 0; i < n; i++) {
        fall_asleep(&crowd[i], 100 + (uint64_t)i, "job");
        await_registered("job", i + 1);
    }
    hf__test_pause_ms(20);
}

void call_all_off(const int *unused)
{
    (void)unused;
    for (int i = 0; i < CROWD; i++) {
        call_off(&crowd[i]);
    }
}

/* ---- the server's view */

int64_t registered(const char *name)
{
    return strtoll(hf__redis_command(server(), "ZCARD holdfast:{%s}:w", name),
                   NULL, 10);
}

int64_t channels(void)
{
    const char *lines =
        hf__redis_command(server(), "PUBSUB CHANNELS holdfast;wake:*");
    int64_t n = *lines != '\0';

    for (; *lines; lines++) {
        n += *lines == '\n' && lines[1] != '\0';
    }
    return n;
}

void await_count(int64_t (*fn)(void), int64_t n)
{
    int64_t start = hf__test_now_ms();

    while (fn() != n) {
        EXPECT_SOON(after(start), slowly(1000));
        hf__test_pause_ms(1);
    }
}

void await_registered(const char *name, int n)
{
    int64_t start = hf__test_now_ms();

    while (registered(name) != n) {
        EXPECT_SOON(after(start), slowly(1000));
        hf__test_pause_ms(1);
    }
}
