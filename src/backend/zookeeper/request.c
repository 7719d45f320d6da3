/* SPDX-License-Identifier: MIT */
/*
 * Requests and their answers: calls with a slot for each, how they are awaited,
 * and changes that are sent together.
 *
 * Calls are freed by whoever has them last: the reference that drops them, or
 * the library with its last answer. Calls that the library leaves unanswered
 * when its handle is closed (ZOOKEEPER-2894) are freed with the session.
 * Requests that are sent alone are in send.c. Called by the reference's thread,
 * and by the library's with answers.
 */
#include "src/backend/zookeeper/call.h"
#include "src/backend/zookeeper/errors.h"
#include "src/backend/zookeeper/internal.h"
#include "src/base/alloc.h"

#include <string.h>

/* Much longer than the library takes to queue the answers that are left. */
#define LINGER_MS 20

/* A release has two requests, or four if it searches (grant.c), and a renewal's
 * proof of life is one. */
enum { SPARE_SLOTS = 4 };

static struct hf__zk_calls *allocate(int n)
{
    return hf__alloc(sizeof(struct hf__zk_calls) +
                     (size_t)n * sizeof(struct hf__zk_slot));
}

int hf__zk_calls_reserve(struct hf__zk_ref *f)
{
    if (f->spare == NULL) {
        f->spare = allocate(SPARE_SLOTS);
    }
    return f->spare == NULL ? (int)HF_ENOMEM : (int)HF_OK;
}

static struct hf__zk_calls *take_spare(struct hf__zk_ref *f, int n)
{
    struct hf__zk_calls *spare = n <= SPARE_SLOTS ? f->spare : NULL;

    if (spare != NULL) {
        f->spare = NULL;
        spare->is_spare = true;
    }
    return spare;
}

struct hf__zk_calls *hf__zk_calls_new(struct hf__zk_ref *f, int n)
{
    struct hf__zk_calls *calls = allocate(n);

    if (calls == NULL) {
        calls = take_spare(f, n);
    } else {
        (void)hf__zk_calls_reserve(f); /* the spare may be in use */
    }
    if (calls == NULL) {
        return NULL;
    }
    hf__mutex_init(&calls->mutex);
    calls->session = f->session;
    calls->ref = f;
    calls->n = n;
    for (int i = 0; i < n; i++) {
        calls->slots[i].calls = calls;
        calls->slots[i].answer.rc = HF__ZK_PENDING;
    }
    HF_SCOPED_LOCK(&f->session->mutex);
    hf__list_push(&f->session->calls, &calls->in_session);
    return calls;
}

static void free_answer(struct hf__zk_answer *answer)
{
    for (int i = 0; i < answer->names.n; i++) {
        hf__free(answer->names.list[i]);
    }
    hf__free(answer->names.list);
    hf__free(answer->text);
}

static void free_joins(struct hf__zk_calls *calls);

/* No one else uses these calls any more, and they are in no list. */
static void clear_calls(struct hf__zk_calls *calls)
{
    for (int i = 0; i < calls->n; i++) {
        free_answer(&calls->slots[i].answer);
    }
    free_joins(calls);
    hf__mutex_fini(&calls->mutex);
}

static void free_calls(struct hf__zk_calls *calls)
{
    clear_calls(calls);
    hf__free(calls);
}

static void unlist(struct hf__zk_calls *calls)
{
    hf__mutex_lock(&calls->session->mutex);
    hf__list_remove(&calls->in_session);
    hf__mutex_unlock(&calls->session->mutex);
}

static void end_calls(struct hf__zk_calls *calls)
{
    unlist(calls);
    free_calls(calls);
}

/* Called by the reference, which gets them back as its spare. */
static void put_back(struct hf__zk_ref *f, struct hf__zk_calls *calls)
{
    unlist(calls);
    clear_calls(calls);
    memset(calls, 0,
           sizeof *calls + (size_t)SPARE_SLOTS * sizeof calls->slots[0]);
    f->spare = calls;
}

void hf__zk_calls_drop(struct hf__zk_calls *calls)
{
    if (calls == NULL) {
        return;
    }
    hf__mutex_lock(&calls->mutex);
    struct hf__zk_ref *f = calls->ref;
    calls->ref = NULL;
    bool is_last = calls->in_flight == 0;
    hf__mutex_unlock(&calls->mutex);
    if (is_last && calls->is_spare && f->spare == NULL) {
        put_back(f, calls);
    } else if (is_last) {
        end_calls(calls);
    }
}

void hf__zk_calls_discard(struct hf__zk_calls *calls)
{
    HF_ASSERT(calls->ref == NULL);
    free_calls(calls);
}

struct hf__zk_slot *hf__zk_slot_sent(struct hf__zk_calls *calls, int i)
{
    struct hf__zk_slot *slot = NULL;

    HF_ASSERT(i >= 0 && i < calls->n);
    slot = &calls->slots[i];
    HF_SCOPED_LOCK(&calls->mutex);
    HF_ASSERT(slot->stage == HF__ZK_UNSENT);
    slot->stage = HF__ZK_SENT;
    slot->answer.was_sent = true;
    slot->sent = hf__now();
    calls->asked = slot->sent;
    calls->in_flight++;
    return slot;
}

/* While the library closes a handle, it answers all requests that are left on
 * one thread and queues them on another; if the first thread is faster, it
 * ends, and the rest is leaked (ZOOKEEPER-2894). So we hold the first thread
 * back for a moment, once. */
static void linger(struct hf__zk_session *session)
{
    if (!atomic_exchange(&session->has_lingered, true)) {
        hf__sleep_until(hf__after_ms(hf__now(), LINGER_MS));
    }
}

/* Did the answer come from a server that has this session? */
static bool is_servers(const struct hf__zk_answer *answer)
{
    return answer->was_sent && !hf__zk_is_unknown(answer->rc) &&
           answer->rc != ZINVALIDSTATE && answer->rc != ZAUTHFAILED &&
           answer->rc != ZSESSIONMOVED;
}

void hf__zk_slot_answer(struct hf__zk_slot *slot, struct hf__zk_answer *answer)
{
    struct hf__zk_calls *calls = slot->calls;
    atomic_uint *sleeper = NULL;

    if (is_servers(answer)) {
        hf__zk_note_answer(calls->session, slot->sent);
    }

    if (answer->rc == ZCLOSING) {
        linger(calls->session);
    }

    hf__mutex_lock(&calls->mutex);
    HF_ASSERT(slot->stage == HF__ZK_SENT);
    slot->answer = *answer;
    slot->stage = HF__ZK_ANSWERED;
    bool is_last = --calls->in_flight == 0;
    bool is_dropped = calls->ref == NULL;
    if (is_last && !is_dropped) {
        sleeper = hf__unpark_begin(&calls->ref->parker);
    }
    hf__mutex_unlock(&calls->mutex);
    hf__unpark_end(sleeper); /* the woken thread wants the mutex */
    if (is_last && is_dropped) {
        end_calls(calls);
    }
}

static bool is_answered(struct hf__zk_calls *calls, hf__time *ret_asked)
{
    HF_SCOPED_LOCK(&calls->mutex);
    *ret_asked = calls->asked;
    return calls->in_flight == 0;
}

int hf__zk_await(struct hf__zk_calls *calls, hf__time deadline, hf_error *err)
{
    struct hf__zk_ref *f = calls->ref;

    for (;;) {
        unsigned seen = hf__parker_seen(&f->parker);
        hf__time asked;

        if (is_answered(calls, &asked)) {
            return HF_OK;
        }
        int r = hf__zk_may_wait(f, deadline, err);
        if (r != HF_OK) {
            return r;
        }
        hf__park(&f->parker, seen,
                 hf__earlier(deadline, hf__zk_mind_silence(f, asked)));
    }
}

const struct hf__zk_answer *hf__zk_answer(struct hf__zk_calls *calls, int i)
{
    static const struct hf__zk_answer unsent = {.rc = HF__ZK_PENDING};
    static const struct hf__zk_answer pending = {.rc = HF__ZK_PENDING,
                                                 .was_sent = true};
    HF_ASSERT(i >= 0 && i < calls->n);
    HF_SCOPED_LOCK(&calls->mutex);
    switch (calls->slots[i].stage) {
    case HF__ZK_UNSENT:
        return &unsent;
    case HF__ZK_SENT:
        return &pending;
    case HF__ZK_ANSWERED:
        break;
    }
    return &calls->slots[i].answer;
}

/* ---- joined
 *
 * Joined changes are one transaction of the server, where each costs a fraction
 * of what it costs alone. The library does not tell the zxid of a node that a
 * transaction made. But the zxid is the whole transaction's; so the transaction
 * makes one more node, writes to it, for that answer tells the zxid, and
 * deletes it again. No one ever sees that node.
 */

/* Far below the largest request that a server takes, a megabyte by default. */
enum { BYTES_MAX = 256 * 1024 };
/* The sequence that the server adds to a name. */
enum { SEQUENCE_ROOM = 16 };
/* Three more parts, which tell the zxid. */
enum { TELLER_OPS = 3 };

struct member {
    int i; /* index in the calls */
    char *path;
    char *data; /* NULL: the node is deleted */
    int length;
    int mode;
    char *made; /* the path that the server made */
};

struct hf__zk_join {
    struct hf__zk_calls *calls;
    struct hf__zk_join *next;
    bool was_sent;
    int n;
    size_t bytes;
    char *teller;     /* path of the node that tells the zxid; or NULL */
    struct Stat stat; /* the teller's */
    zoo_op_result_t *results; /* the library's until it answers */
    struct member members[];
};

static void free_member(struct member *m)
{
    hf__free(m->path);
    hf__free(m->data);
    hf__free(m->made);
}

static void free_joins(struct hf__zk_calls *calls)
{
    struct hf__zk_join *join = NULL;

    while ((join = calls->joins) != NULL) {
        calls->joins = join->next;
        for (int i = 0; i < join->n; i++) {
            free_member(&join->members[i]);
        }
        hf__free(join->teller);
        hf__free(join->results);
        hf__free(join);
    }
}

/* Returns a join that was not sent, with room for so many bytes more. NULL: out
 * of memory. */
static struct hf__zk_join *open_join(struct hf__zk_calls *calls, size_t bytes)
{
    struct hf__zk_join *join = calls->joins;

    if (join != NULL && !join->was_sent && join->bytes + bytes > BYTES_MAX) {
        hf__zk_join_send(calls);
    }
    if (join != NULL && !join->was_sent) {
        return join;
    }
    join = hf__alloc(sizeof *join + (size_t)calls->n * sizeof *join->members);
    if (join != NULL) {
        join->calls = calls;
        join->next = calls->joins;
        calls->joins = join;
    }
    return join;
}

static char *copy(const char *bytes, size_t length, size_t more)
{
    char *to = hf__alloc(length + more);

    if (to != NULL && length > 0) {
        memcpy(to, bytes, length);
    }
    return to;
}

/* ---- what is joined */

bool hf__zk_join_create(struct hf__zk_calls *calls, int i, const char *path,
                        const char *data, int length, int mode)
{
    size_t size = strlen(path);
    struct hf__zk_join *join = open_join(calls, 2 * size + (size_t)length);
    struct member m = {.i = i, .length = length, .mode = mode};

    if (join != NULL) {
        m.path = copy(path, size, 1);
        m.data = copy(data, (size_t)length, 1);
        m.made = copy("", 0, size + SEQUENCE_ROOM);
    }
    if (m.path == NULL || m.data == NULL || m.made == NULL) {
        free_member(&m);
        return false;
    }
    join->members[join->n++] = m;
    join->bytes += 2 * size + (size_t)length;
    return true;
}

bool hf__zk_join_delete(struct hf__zk_calls *calls, int i, const char *path)
{
    size_t size = strlen(path);
    struct hf__zk_join *join = open_join(calls, size);
    struct member m = {.i = i};

    if (join != NULL) {
        m.path = copy(path, size, 1);
    }
    if (m.path == NULL) {
        return false;
    }
    join->members[join->n++] = m;
    join->bytes += size;
    return true;
}

/* ---- what comes back */

/* Does the rc say surely that nothing was applied? */
static bool is_refusal(int rc)
{
    return rc < ZAPIERROR && rc != ZSESSIONEXPIRED && rc != ZCLOSING &&
           !hf__zk_is_unknown(rc);
}

static struct hf__zk_answer answer_of(struct hf__zk_join *join,
                                      struct member *m, int rc)
{
    struct hf__zk_answer answer = {.rc = rc, .was_sent = true};

    if (is_refusal(rc)) {
        answer.rc = HF__ZK_UNDONE;
        answer.was_sent = false;
    } else if (rc == ZOK && m->data != NULL) {
        answer.text = m->made;
        answer.length = (int)strlen(m->made);
        answer.stat.czxid = join->stat.mzxid;
        answer.stat.mzxid = join->stat.mzxid;
        answer.stat.pzxid = join->stat.mzxid;
        m->made = NULL;
    }
    return answer;
}

/* The last answer may free everything here. */
static void answer_all(struct hf__zk_join *join, int rc, bool was_sent)
{
    struct hf__zk_calls *calls = join->calls;
    int n = join->n;

    for (int i = 0; i < n; i++) {
        struct member *m = &join->members[i];
        struct hf__zk_answer answer = answer_of(join, m, rc);

        answer.was_sent &= was_sent;
        hf__zk_slot_answer(&calls->slots[m->i], &answer);
    }
}

static void on_joined(int rc, const void *data)
{
    answer_all(hf__zk_mutable(data), rc, true);
}

/* ---- what is sent */

int hf__zk_multi(zhandle_t *handle, int n, const zoo_op_t *ops,
                 zoo_op_result_t *results, void_completion_t completion,
                 const void *data)
{
    if (zoo_state(handle) < 0) {
        return ZINVALIDSTATE;
    }
    return zoo_amulti(handle, n, ops, results, completion, data);
}

/* The teller is named as the first node, with an end that no claim has. */
static int add_teller(struct hf__zk_join *join, const struct member *m,
                      zoo_op_t *ops)
{
    static const char end[] = "zxid";
    size_t length = strlen(m->path);

    join->teller = copy(m->path, length, sizeof end);
    if (join->teller == NULL) {
        return 0;
    }
    memcpy(join->teller + length, end, sizeof end);
    zoo_create_op_init(&ops[0], join->teller, "", 0,
                       hf__zk_acl_of(join->calls->session), ZOO_EPHEMERAL, NULL,
                       0);
    zoo_set_op_init(&ops[1], join->teller, "", 0, -1, &join->stat);
    zoo_delete_op_init(&ops[2], join->teller, -1);
    return TELLER_OPS;
}

static int add_member(const struct hf__zk_join *join, struct member *m,
                      zoo_op_t *op)
{
    if (m->data == NULL) {
        zoo_delete_op_init(op, m->path, -1);
    } else {
        zoo_create_op_init(op, m->path, m->data, m->length,
                           hf__zk_acl_of(join->calls->session), m->mode,
                           m->made, (int)strlen(m->path) + SEQUENCE_ROOM);
    }
    return 1;
}

/* Returns how many parts there are; 0: out of memory. */
static int add_all(struct hf__zk_join *join, zoo_op_t *ops)
{
    int n = 0;

    for (int i = 0; i < join->n; i++) {
        n += add_member(join, &join->members[i], &ops[n]);
    }
    for (int i = 0; i < join->n; i++) {
        if (join->members[i].data != NULL) {
            int added = add_teller(join, &join->members[i], &ops[n]);

            return added > 0 ? n + added : 0;
        }
    }
    return n;
}

static int send_together(struct hf__zk_join *join, zoo_op_t *ops)
{
    int n = join->results == NULL || ops == NULL ? 0 : add_all(join, ops);

    return n == 0 ? HF__ZK_UNDONE
                  : hf__zk_multi(join->calls->session->handle, n, ops,
                                 join->results, on_joined, join);
}

void hf__zk_join_send(struct hf__zk_calls *calls)
{
    struct hf__zk_join *join = calls->joins;
    size_t n = 0;
    zoo_op_t *ops = NULL;
    int rc;

    if (join == NULL || join->was_sent) {
        return;
    }
    join->was_sent = true;
    n = (size_t)join->n + TELLER_OPS;
    join->results = hf__alloc(n * sizeof *join->results);
    ops = hf__alloc(n * sizeof *ops);
    for (int i = 0; i < join->n; i++) {
        (void)hf__zk_slot_sent(calls, join->members[i].i);
    }
    rc = send_together(join, ops);
    /* If the library could not finish the request (ZMARSHALLINGERROR), it may
     * still answer it when the connection ends. */
    if (rc != ZOK && rc != ZMARSHALLINGERROR) {
        answer_all(join, rc, false);
    }
    hf__free(ops);
}
