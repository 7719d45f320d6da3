/* SPDX-License-Identifier: MIT */
/*
 * What a session finds of its server when it opens: how many members decide,
 * and for how long a grant is safe after it was last heard of. Called by the
 * session's thread.
 */
#include "src/backend/zookeeper/zookeeper.h"
#include "src/base/error.h"

#include <string.h>

/* Fewer survive nobody's loss. */
#define QUORUM_MIN 3

int hf__zk_count_members(const char *config)
{
    static const char begin[] = "server.";
    static const char observer[] = ":observer";
    int n = 0;

    for (const char *line = config; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *role = strstr(line, observer);

        if (strncmp(line, begin, sizeof begin - 1) == 0 &&
            (role == NULL || role > line + length)) {
            n++;
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    return n == 0 ? 1 : n;
}

/* The library says that the session is over, and its news are under way. HF_OK:
 * they did not come. */
static int await_end(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    for (;;) {
        unsigned seen = hf__parker_seen(&s->front.parker);
        int r = hf__zk_may_wait(&s->front, deadline, err);

        if (r != HF_OK) {
            return r == HF_BUSY ? HF_OK : r;
        }
        hf__park(&s->front.parker, seen, deadline);
    }
}

static void take_config(struct hf__zk *s, const char *text)
{
    s->members = hf__zk_count_members(text);
    s->is_alone = strstr(text, "server.") == NULL;
}

static int read_config(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->front, 1);

    if (calls == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a session");
    }
    hf__zk_config(calls, 0);
    int r = hf__zk_await(calls, deadline, err);
    const struct hf__zk_answer *answer = hf__zk_answer(calls, 0);
    if (r < 0) {
        return r;
    }
    switch (answer->rc) {
    case ZOK:
        take_config(s, answer->text);
        return HF_OK;
    case ZNONODE: /* before 3.5 */
    case ZNOAUTH:
        return HF_OK; /* nobody tells: it counts as one */
    case ZINVALIDSTATE:
    case ZAUTHFAILED:
        r = await_end(s, deadline, err);
        break;
    default:
        break;
    }
    return r < 0 ? r
                 : hf__zk_fail(&s->front, answer, ZOO_CONFIG_NODE, false, err);
}

/* Who lost the connection meanwhile is let in again, or told why not: a server
 * that refuses us may hang up before we have heard it. */
static int ask_config(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    int r = read_config(s, deadline, err);
    int ready = r == HF_EUNAVAIL ? hf__zk_ready(&s->front, deadline, err)
                                 : (int)HF_BUSY;

    if (ready == HF_OK) {
        return read_config(s, deadline, err);
    }
    return ready < 0 ? ready : r;
}

int hf__zk_facts(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    s->members = 1;
    s->is_alone = false;
    int r = ask_config(s, deadline, err);
    /* The session's time is the leader's to count from when he heard of us
     * last, which is no more than a third of it before we sent: prove.c sees
     * to that. */
    s->head.facts = (struct hf__facts){
        .grade = s->members >= QUORUM_MIN ? 'A' : 'B',
        .reach = HF_REACH_HOSTS,
        .lease_us = (int64_t)hf__zk_timeout_ms(&s->front) * 2000 / 3,
    };
    return r;
}
