/* SPDX-License-Identifier: MIT */
/*
 * What a session has set watches for: no more than it needs, however long it
 * waits, and in no time, however much it holds.
 */
#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/zookeeper.h"
#include "tests/store_zookeeper/recipe/tree.h"

#include <string.h>

/* Of those before it one may be told to enter, so it looks each second. */
TEST_WITHIN(60, who_waits_for_long_has_one_watch)
{
    PARTY_BEHIND(carol, proxy, "session_timeout=20s");
    PARTIES(alice, bob);
    struct waiting w;
    struct hf__proxy_counts before;
    size_t at_first;

    EXPECT_IS(try_as(&alice, "job", SLOT_OF(1)), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", SLOT_OF(1)), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", SLOT_OF(1)), HF_BUSY);
    begin_to_watch(&w, &carol, "job");
    at_first = spare_watches(&carol);
    before = hf__proxy_counts(proxy);
    wait_in_vain(&w, 4000);
    EXPECT_IS(spare_watches(&carol), at_first);
    printf("# %d requests in 4 s\n",
           hf__proxy_counts(proxy).statements - before.statements);
    EXPECT_LESS(hf__proxy_counts(proxy).statements, before.statements + 6);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    wait_until_woken(&w);
    EXPECT_IS(queue_up(&carol, "job", SLOT_OF(1)), HF_OK);
}

TEST(who_was_told_to_come_watches_nothing_more)
{
    PARTIES(alice, bob);
    struct waiting w;
    size_t room;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    room = spare_watches(&bob);
    begin_to_watch(&w, &bob, "job");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    wait_until_woken(&w);
    EXPECT_IS(spare_watches(&bob), room);
}

/* ---- many grants: as the claims of the link see them; the server has none */

enum { GRANTS = 20000, MORE = 30 };

struct grant {
    char name[32];
    struct hf__op op;
};

static struct hf__zk_common *claims_of(struct party *p)
{
    struct hf__zk *s = p->conn.state;

    return hf__zk_common(&s->ref);
}

static void grant(struct party *p, struct grant *g, int i)
{
    struct hf__zk_own own = {.stage = HF__ZK_CREATED, .slot = -1};

    snprintf(g->name, sizeof g->name, "test:%06d", i);
    g->op.key = (struct hf__key){
        .bytes = g->name, .length = (uint16_t)strlen(g->name), .name_at = 5};
    memcpy(g->op.token.bytes, &i, sizeof i);
    g->op.token.bytes[sizeof i] = 1;
    snprintf(own.name, sizeof own.name, "x-%d", i);
    EXPECT_IS(hf__zk_own_add(claims_of(p), &g->op, &own), HF_OK);
    own.stage = HF__ZK_GRANTED;
    own.fence = 7;
    hf__zk_own_set(claims_of(p), &g->op, &own);
}

static void ignore(void *arg, uint64_t tag)
{
    (void)tag;
    atomic_fetch_add((atomic_int *)arg, 1);
}

struct listening {
    struct party *party;
    atomic_int told;
    atomic_bool is_over;
};

static void listen_on(void *arg)
{
    struct listening *l = arg;
    hf_error err = HF_ERROR_INIT;

    while (!atomic_load(&l->is_over)) {
        EXPECT_IS(hf__conn_listen(&l->party->conn, ignore, &l->told,
                                  hf__after_ms(hf__now(), 100), &err),
                  HF_OK);
    }
}

/* The claims' mutex, which each renewal needs, is not kept from them. */
TEST_WITHIN(120, who_listens_for_many_grants_keeps_nobody_waiting)
{
    static struct grant grants[GRANTS + MORE];
    PARTY(alice);
    struct listening l = {.party = &alice};
    struct hf__test_thread *thread;
    int64_t longest = 0;

    for (int i = 0; i < GRANTS; i++) {
        grant(&alice, &grants[i], i);
    }
    thread = hf__test_start(listen_on, &l);
    for (int i = GRANTS; i < GRANTS + MORE; i++) {
        int64_t start = hf__test_now_ms();

        grant(&alice, &grants[i], i);
        if (hf__test_now_ms() - start > longest) {
            longest = hf__test_now_ms() - start;
        }
        hf__test_pause_ms(30);
    }
    atomic_store(&l.is_over, true);
    hf__test_join(thread);
    printf("# %lld ms at most; told of %d\n", (long long)longest,
           atomic_load(&l.told));
    EXPECT_SOON(longest, slowly(300));
    EXPECT_MORE(atomic_load(&l.told), 0);
    for (int i = 0; i < GRANTS + MORE; i++) {
        hf__zk_own_forget(claims_of(&alice), &grants[i].op);
    }
}

/* Watches on nodes that are not there, until none is left for grants. */
enum { FILLERS = 300, FILLER = 1000 };

static void fill(struct party *p, struct hf__zk_watch *watches[FILLERS])
{
    struct hf__zk *s = p->conn.state;
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->ref, FILLERS);
    char path[FILLER];
    hf_error err = HF_ERROR_INIT;

    EXPECT(calls != NULL);
    memset(path, 'f', sizeof path);
    for (int i = 0; i < FILLERS; i++) {
        snprintf(path, 16, "/filler-%06d", i);
        path[strlen(path)] = '-';
        path[sizeof path - 1] = '\0';
        watches[i] = hf__zk_watch_new(&s->ref);
        hf__zk_exists(calls, i, path, watches[i]);
    }
    EXPECT_IS(hf__zk_await(calls, hf__after_ms(hf__now(), 10000), &err), HF_OK);
    EXPECT_IS(spare_watches(p), 0);
}

static void listen_for(struct party *p, int64_t ms, atomic_int *told)
{
    EXPECT_IS(hf__conn_listen(&p->conn, ignore, told,
                              hf__after_ms(hf__now(), ms), &p->error),
              HF_OK);
}

/* A hint that does not come: its renewal finds the break. */
TEST(a_grant_is_watched_when_there_is_room)
{
    struct hf__zk_watch *fillers[FILLERS];
    PARTIES(alice, bob);
    atomic_int told = 0;
    size_t room;

    fill(&alice, fillers);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&alice, "other"), HF_OK);
    listen_for(&alice, 200, &told);
    EXPECT_IS(break_it(&bob, "other", 0), HF_OK);
    listen_for(&alice, 300, &told);
    EXPECT_IS(atomic_load(&told), 0);
    EXPECT_IS(renew(&alice, "other"), HF_LOST);
    for (int i = 0; i < FILLERS; i++) {
        hf__zk_watch_drop(fillers[i]);
    }
    room = spare_watches(&alice);
    listen_for(&alice, 200, &told);
    EXPECT_LESS(spare_watches(&alice), room);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    listen_for(&alice, 5000, &told);
    EXPECT_IS(atomic_load(&told), 1);
}
