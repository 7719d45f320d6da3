/* SPDX-License-Identifier: MIT */
/*
 * What the scripts promise beyond the contract of a store: what they leave
 * behind, what goes through when memory is full or scripts are forgotten. What
 * only a quorum's member is asked is in member.c.
 */
#include "src/backend/conn.h"
#include "src/backend/registry.h"
#include "tests/store_redis/asking.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is left */

static int64_t pttl(void)
{
    return strtoll(hf__redis_command(server(), "PTTL %s", record("job")), NULL,
                   10);
}

TEST(a_thousand_grants_leave_one_small_record)
{
    struct hf__ask plain = {.client = 1};
    char fields[16];
    AUTO_CONNECTION *c = connect_to_store();

    for (int i = 0; i < 1000; i++) {
        struct hf__op take = asked(HF__OP_ACQUIRE, 1 + i % 200);
        struct hf__op leave = asked(HF__OP_RELEASE, 1 + i % 200);

        take.lock_mode.mode = i % 2 == 0 ? HF__MODE_EXCLUSIVE : HF__MODE_SHARED;
        EXPECT_IS(tell(&take, &plain), HF_OK);
        EXPECT_IS(tell(&leave, &plain), HF_OK);
        if (i == 9) {
            snprintf(fields, sizeof fields, "%s",
                     hf__redis_command(server(), "HLEN %s", record("job")));
        }
    }
    EXPECT_IS(count_keys(), 1);
    EXPECT_TEXT(hf__redis_command(server(), "HLEN %s", record("job")), fields);
    EXPECT_MORE(pttl(), 86400000);
    EXPECT_LESS(pttl(), 86400000 + 30001);
}

/* ---- what goes through */

TEST(who_holds_is_served_when_memory_is_full)
{
    AUTO_SERVER *own = own_server(NULL);
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, 30000);
    AUTO_LOCK *held = acquire(alice, "held");
    AUTO_LOCK *shared = NULL;
    AUTO_LOCK *none = NULL;

    opts.shared = 1;
    EXPECT_IS(hf_acquire(alice, "shared", &opts, &shared, NULL), HF_OK);
    hf__redis_command(own, "CONFIG SET maxmemory 1");
    EXPECT_IS(hf_renew(held, NULL), HF_OK);
    EXPECT_IS(hf_renew(shared, NULL), HF_OK);
    EXPECT_IS(hf_release(held, NULL), HF_OK);
    EXPECT_IS(hf_release(shared, NULL), HF_OK);
    EXPECT_IS(hf_acquire(alice, "held", &opts, &none, NULL), HF_EUNAVAIL);
    hf__redis_command(own, "CONFIG SET maxmemory 0");
    EXPECT_IS(try_once(alice, "held"), HF_OK);
    EXPECT_IS(try_once(alice, "shared"), HF_OK);
}

/* ---- more at once than a socket takes */

enum { MANY = 512 };
static struct hf__op many[MANY];
/* Long enough that the server reads them little by little. */
enum { KEY_LENGTH = 9 + 250 };
static char keys[MANY][KEY_LENGTH + 1];

static void ask_many(struct hf__conn *conn, enum hf__op_kind kind, int who)
{
    struct hf__op *ops[MANY];
    hf_error err = HF_ERROR_INIT;

    for (int i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "holdfast:%03d%0*d", i,
                 KEY_LENGTH - 9 - 3, 0);
        many[i] = asked(kind, who);
        many[i].key = (struct hf__key){keys[i], KEY_LENGTH, 9};
        ops[i] = &many[i];
    }
    EXPECT_IS(hf__conn_execute(conn, ops, MANY,
                               hf__after_ms(hf__now(), patience(20000)), &err),
              HF_OK);
}

static void execute_many(struct hf__conn *conn, enum hf__op_kind kind, int who,
                         int result)
{
    ask_many(conn, kind, who);
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(many[i].result, result);
    }
}

TEST(five_hundred_go_out_and_come_back_at_once)
{
    struct hf__conn conn = {0};

    memset(whose.note, '"', HF_NOTE_MAX);
    memset(whose.label, '\\', HF_NOTE_MAX);
    open_session(&conn, url_as("", ""));
    execute_many(&conn, HF__OP_ACQUIRE, 1, HF_OK);
    hf__redis_command(server(), "SCRIPT FLUSH");
    execute_many(&conn, HF__OP_ACQUIRE, 2, HF_BUSY);
    execute_many(&conn, HF__OP_RELEASE, 1, HF_OK);
    hf__conn_close(&conn);
}

/* ---- forgotten again and again */

static atomic_bool is_over;

static void flush_again_and_again(void *arg)
{
    redisContext *c = arg;

    while (!atomic_load(&is_over)) {
        freeReplyObject(redisCommand(c, "SCRIPT FLUSH"));
    }
}

/* Asked to try again; nothing is the matter with the server. */
TEST_WITHIN(60, scripts_that_are_forgotten_twice_at_once_are_no_failure)
{
    struct hf__conn conn = {0};
    int again = 0;
    AUTO_CONNECTION *c = connect_to_store();
    struct hf__test_thread *thread;

    open_session(&conn, url_as("", ""));
    atomic_store(&is_over, false);
    thread = hf__test_start(flush_again_and_again, c);
    int64_t end = hf__test_now_ms() + patience(20000);
    while (again == 0 && hf__test_now_ms() < end) {
        ask_many(&conn, HF__OP_ACQUIRE, 1);
        for (int i = 0; i < MANY; i++) {
            EXPECT(many[i].result == HF_OK || many[i].result == HF__AGAIN);
            again += many[i].result == HF__AGAIN;
        }
    }
    atomic_store(&is_over, true);
    hf__test_join(thread);
    EXPECT_MORE(again, 0);
    hf__conn_close(&conn);
}
