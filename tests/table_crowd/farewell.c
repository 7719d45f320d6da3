/* SPDX-License-Identifier: MIT */
/*
 * Who leaves its place in the server's queues, and is interrupted while the
 * server takes note of it: that is heard out, so that the session lives on. A
 * stranger has locked the ticket's row meanwhile.
 */
#include "src/backend/table/wait.h"
#include "tests/table_crowd/stranger.h"

#include <stdatomic.h>

/* A call of the party's that leaves its place first. */
struct leaving {
    struct party *who;
    struct waiting *elsewhere; /* NULL: it is to wait nowhere */
    atomic_bool is_over;
    int result;
};

static void leave_place(void *arg)
{
    struct leaving *l = arg;
    hf__time limit = hf__after_ms(hf__now(), slowly(5000));

    l->result = l->elsewhere == NULL ? hf__conn_wait(&l->who->conn, NULL, 0,
                                                     limit, &l->who->error)
                                     : wait_up_to(l->elsewhere, slowly(5000));
    atomic_store(&l->is_over, true);
}

/* It has been told that it may enter, and has the bell of its ticket. */
static void stand_first(struct party *p, struct party *before)
{
    struct waiting w;

    EXPECT_IS(queue_up(p, "job", ALONE), HF_BUSY);
    watch_name(&w, p, "job");
    EXPECT_IS(release(before, "job"), HF_OK);
    EXPECT_IS(wait_up_to(&w, slowly(5000)), HF_OK);
    EXPECT(w.watch.has_fired);
}

static void interrupt_farewell(struct leaving *l)
{
    STRANGER(db);
    struct hf__test_thread *thread;
    int64_t start;

    sql(db, "BEGIN");
    sql(db, "SELECT * FROM holdfast_ticket WHERE name_key=%s FOR UPDATE",
        spelled("job"));
    thread = hf__test_start(leave_place, l);
    hf__test_pause_ms(100);
    EXPECT(!atomic_load(&l->is_over));
    start = hf__test_now_ms();
    hf__conn_interrupt(&l->who->conn);
    hf__test_pause_ms(HF__GRACE_MS / 4);
    sql(db, "COMMIT");
    EXPECT_SOON(hf__test_now_ms() - start, HF__GRACE_MS / 2);
    hf__test_join(thread);
    EXPECT_IS(l->result, HF_OK);
}

TEST(who_is_interrupted_while_letting_go_keeps_its_session)
{
    JOB_OF(alice, bob);
    struct leaving l = {.who = &bob};

    stand_first(&bob, &alice);
    interrupt_farewell(&l);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

TEST(who_is_interrupted_on_the_way_to_another_name_keeps_its_session)
{
    JOB_OF(alice, bob);
    struct waiting w;
    struct leaving l = {.who = &bob, .elsewhere = &w};

    EXPECT_IS(acquire(&alice, "other"), HF_OK);
    EXPECT_IS(acquire(&bob, "other"), HF_BUSY);
    watch_name(&w, &bob, "other");
    stand_first(&bob, &alice);
    interrupt_farewell(&l);
    EXPECT(!w.watch.has_fired);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}
