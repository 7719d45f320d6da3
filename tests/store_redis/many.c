/* SPDX-License-Identifier: MIT */
/*
 * Operations of one kind go to the server as one command. Each must come out as
 * if it had been alone: what fails for one is not its neighbours', and what one
 * says of itself is not said of another.
 */
#include "src/backend/conn.h"
#include "src/backend/redis/ask.h"
#include "src/backend/registry.h"
#include "tests/store_redis/world.h"

#include <stdio.h>
#include <string.h>

#define LEASE_US (30 * INT64_C(1000000))

enum { MANY = 2 * HF__MANY_MAX + 3 };

static const struct hf__owner owners[] = {
    {.label = "first", .host = "a", .pid = 1},
    {.label = "second \"\\\n", .host = "b", .pid = -2},
};
static struct hf__op ops[MANY];
static char keys[MANY][24];
static hf_error errors[MANY];

#define AUTO_CONN __attribute__((cleanup(end_session), unused)) struct hf__conn

static void end_session(struct hf__conn *conn)
{
    hf__conn_close(conn);
}

/* Of n names, of all manners. */
static void prepare(enum hf__op_kind kind, const char *folder, int n)
{
    for (int i = 0; i < n; i++) {
        snprintf(keys[i], sizeof keys[i], "holdfast:%s/%03d", folder, i);
        errors[i] = (hf_error)HF_ERROR_INIT;
        ops[i] = (struct hf__op){
            .kind = kind,
            .key = {keys[i], (uint16_t)strlen(keys[i]), 9},
            .token = {{(unsigned char)i, (unsigned char)(i / 256), 7}},
            .lease_us = LEASE_US + i / 5,
            .queueing = i % 7 == 0 ? HF__QUEUE_ALWAYS : HF__QUEUE_NEVER,
            .owner = &owners[i / 3 % 2],
            .err = &errors[i],
        };
        if (i % 5 == 4 && i < MANY / 3) { /* which go alone */
            ops[i].lock_mode =
                (struct hf__lock_mode){HF__MODE_SLOTS, 2 + i % 2};
        }
    }
}

static void execute(struct hf__conn *conn, int n, bool is_alone)
{
    struct hf__op *batch[MANY];
    hf_error err = HF_ERROR_INIT;
    int step = is_alone ? 1 : n;

    for (int i = 0; i < n; i++) {
        batch[i] = &ops[i];
    }
    for (int i = 0; i < n; i += step) {
        EXPECT_IS(hf__conn_execute(conn, batch + i, step,
                                   hf__after_ms(hf__now(), patience(20000)),
                                   &err),
                  HF_OK);
    }
}

/* Keys of four kinds in turn: nothing there, no hash, a hash of somebody
 * else's, a record that is damaged. */
static void damage(const char *folder, int n)
{
    for (int i = 0; i < n; i++) {
        char name[24];

        snprintf(name, sizeof name, "%s/%03d", folder, i);
        if (i % 4 == 1) {
            hf__redis_command(server(), "SET %s x", record(name));
        } else if (i % 4 == 2) {
            hf__redis_command(server(), "HSET %s colour red", record(name));
        } else if (i % 4 == 3) {
            hf__redis_command(server(), "HSET %s fence red", record(name));
        }
    }
}

struct outcome {
    int result;
    int slot;
    bool is_queued;
    bool has_fence;
    hf_reason reason;
    char text[sizeof((hf_error *)0)->text];
};

static void do_all(struct hf__conn *conn, enum hf__op_kind kind, bool is_alone,
                   struct outcome outcomes[MANY])
{
    prepare(kind, is_alone ? "lone" : "many", MANY);
    execute(conn, MANY, is_alone);
    for (int i = 0; i < MANY; i++) {
        /* Both folders are as long: the server's words are at one place. */
        char *script = strstr(errors[i].text, " script:");
        char *name = strstr(errors[i].text, "lone");

        if (name != NULL) {
            /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
            memcpy(name, "many", 4);
        }
        outcomes[i] = (struct outcome){ops[i].result,     ops[i].slot,
                                       ops[i].is_queued,  ops[i].fence != 0,
                                       ops[i].ret_reason, ""};
        snprintf(outcomes[i].text, sizeof outcomes[i].text, "%.*s",
                 script == NULL ? (int)strlen(errors[i].text)
                                : (int)(script - errors[i].text),
                 errors[i].text);
    }
}

TEST_WITHIN(60, each_comes_out_as_if_it_were_alone)
{
    static const enum hf__op_kind kinds[] = {
        HF__OP_ACQUIRE, HF__OP_ACQUIRE, HF__OP_RENEW,  HF__OP_RELEASE,
        HF__OP_RENEW,   HF__OP_RELEASE, HF__OP_ACQUIRE};
    static struct outcome lone[MANY];
    static struct outcome many[MANY];
    AUTO_CONN conn = {0};

    open_session(&conn, url_as("", ""));
    damage("lone", MANY);
    damage("many", MANY);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int fine = 0;

        do_all(&conn, kinds[k], true, lone);
        do_all(&conn, kinds[k], false, many);
        for (int i = 0; i < MANY; i++) {
            EXPECT_IS(many[i].result, lone[i].result);
            EXPECT_IS(many[i].slot, lone[i].slot);
            EXPECT_IS(many[i].is_queued, lone[i].is_queued);
            EXPECT_IS(many[i].has_fence, lone[i].has_fence);
            EXPECT_IS(many[i].reason, lone[i].reason);
            if (i % 4 != 1) {
                EXPECT_TEXT(many[i].text, lone[i].text);
            }
            EXPECT_IS(many[i].result == HF_EPROTO, i % 4 != 0);
            fine += many[i].result == HF_OK;
        }
        EXPECT_IS(fine, k == 4 || k == 5 ? 0 : (MANY + 3) / 4);
    }
    prepare(HF__OP_RELEASE, "lone", MANY);
    execute(&conn, MANY, false);
    hf__redis_command(server(), "FLUSHDB");
}

TEST(each_is_of_its_own_owner_and_kept_as_that_said)
{
    AUTO_CONN conn = {0};

    open_session(&conn, url_as("", ""));
    prepare(HF__OP_ACQUIRE, "owned", 12);
    for (int i = 0; i < 12; i++) {
        ops[i].lock_mode = (struct hf__lock_mode){HF__MODE_EXCLUSIVE, 0};
        ops[i].owner = &owners[i == 5];
        ops[i].keep_us = i == 5 ? LEASE_US : 0;
    }
    execute(&conn, 12, false);
    for (int i = 0; i < 12; i++) {
        EXPECT_IS(ops[i].result, HF_OK);
        EXPECT_HAS(record_says(keys[i] + 9, "owner"),
                   i == 5 ? "second" : "first");
        EXPECT_IS(*record_says(keys[i] + 9, "keep") != '\0', i == 5);
    }
    prepare(HF__OP_RELEASE, "owned", 12);
    execute(&conn, 12, false);
}

/* Somebody else's name is no reason to keep one's own. */
TEST_WITHIN(60, who_may_not_have_one_name_has_the_others)
{
    static const enum hf__op_kind kinds[] = {HF__OP_ACQUIRE, HF__OP_RENEW,
                                             HF__OP_RELEASE};
    AUTO_SERVER *own =
        own_server_with_users("user bob on >pw ~holdfast:{mine/* &* +@all\n");
    AUTO_CONN conn = {0};

    open_session(&conn, url_as("bob:pw", ""));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        prepare(kinds[k], "mine", 4);
        memcpy(keys[3], "holdfast:not", 12);
        for (int i = 0; i < 4; i++) {
            ops[i].lock_mode = (struct hf__lock_mode){HF__MODE_EXCLUSIVE, 0};
        }
        execute(&conn, 4, false);
        for (int i = 0; i < 4; i++) {
            EXPECT_IS(ops[i].result, i == 3 ? HF_EAUTH : HF_OK);
        }
    }
    EXPECT_TEXT(hf__redis_command(own, "HGET holdfast:{mine/000} token"), "");
}
