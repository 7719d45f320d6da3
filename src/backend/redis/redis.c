/* SPDX-License-Identifier: MIT */
/*
 * The store redis://, also called rediss:// with TLS, and redis+sentinel://
 * where Sentinels know the server (sentinel.c). This file opens, closes and
 * interrupts a session; redis.h says where the rest is. The URL's servers are
 * tried in order, each with its share of the time that is left; one that is a
 * replica, or loads its data, is passed over. A master that is not the first of
 * them must have been a replica, or be the master of one that was passed over:
 * two unrelated masters would each grant all locks. Called as in backend.h.
 */
#include "src/backend/redis/redis.h"

#include "src/backend/redis/sentinel.h"
#include "src/backend/registry.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <stdio.h>
#include <string.h>

/* How long an interrupted command that may have been sent goes on: a server
 * that is well has replied by then. */
#define GRACE_MS 50

#define REPLICAS_MAX 16

static int try_server(struct hf__redis *s, const struct hf__target *target,
                      const struct hf__secret *secret, const char *allow,
                      hf__time until, hf_error *err)
{
    hf__peer_start(&s->peer, target, secret, allow, true);
    return hf__peer_open(&s->peer, &s->rest, &s->head, until, err);
}

/* Is the next server worth a try? */
static bool is_worth_another(const struct hf__redis *s, int r)
{
    return r == HF_EUNAVAIL ||
           (r == HF_EUNSAFE && strcmp(s->peer.server.role, "slave") == 0);
}

/* True if the server was a replica before, or is the master of the replica that
 * was passed over. One that is admitted as a replica grants nothing as a
 * master. */
static bool is_related(const struct hf__redis_server *server,
                       const char *followed)
{
    bool has_followed = server->replid2[strspn(server->replid2, "0")] != '\0';

    return strcmp(server->role, "slave") == 0 || has_followed ||
           (followed[0] != '\0' && strcmp(server->replid, followed) == 0);
}

/* Refuse a master that is not related to the hosts before it. `followed`: the
 * replication id of the last replica that was passed over, or "". */
static int judge_kin(struct hf__redis *s, const char *followed, hf_error *err)
{
    if (s->host == 0 || is_related(&s->peer.server, followed)) {
        return HF_OK;
    }
    if (followed[0] != '\0') {
        /* The replica may be about to find its master again. */
        hf__peer_fail(&s->peer, HF_EUNAVAIL,
                      "it is not the master of the replica that the url names "
                      "before it, or not yet");
    } else {
        hf__peer_fail(&s->peer, HF_EUNSAFE,
                      "it has never followed the hosts that the url names "
                      "before it, and masters that know nothing of each other "
                      "grant one lock twice: name one host, the master first, "
                      "or several by redlock:");
    }
    hf__error_copy(err, &s->peer.err);
    return s->peer.status;
}

/* If the server that is passed over is a replica, store its replication id. */
static void note_followed(const struct hf__redis *s,
                          char followed[sizeof s->peer.server.replid])
{
    if (strcmp(s->peer.server.role, "slave") == 0) {
        (void)snprintf(followed, sizeof s->peer.server.replid, "%s",
                       s->peer.server.replid);
    }
}

static int try_hosts(struct hf__redis *s, const struct hf__url *url,
                     const char *allow, hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    size_t n = hf__url_option(url, "socket") != NULL ? 1 : url->n_hosts;
    char followed[sizeof s->peer.server.replid] = "";
    struct hf__target target;
    int r = hf__redis_target(url, 0, &target, err);

    r = r == HF_OK ? hf__secret_read(url, &secret, err) : r;
    if (r != HF_OK) {
        return r;
    }
    s->n_hosts = n;
    for (s->host = 0; s->host < n; s->host++) {
        hf__time now = hf__now();
        int64_t share = hf__between_ns(now, deadline) / (int64_t)(n - s->host);

        r = hf__redis_target(url, s->host, &target, err);
        if (r == HF_OK) {
            r = try_server(s, &target, &secret, allow, hf__after_ns(now, share),
                           err);
        }
        r = r == HF_OK ? judge_kin(s, followed, err) : r;
        if (!is_worth_another(s, r) || hf__is_interrupted(&s->head)) {
            break;
        }
        note_followed(s, followed);
    }
    return r;
}

/* With several hosts the grade is at most C: the next host may be a replica
 * that lacks grants, or another client may use another host than we do. */
static char grade_of(const struct hf__redis *s)
{
    char grade = hf__handshake_grade(&s->peer.server);

    if ((s->n_hosts > 1 || s->sentinels != NULL) && grade < 'C') {
        grade = 'C';
    }
    return grade;
}

static void note_prefix(struct hf__redis *s, const struct hf__url *url)
{
    const char *prefix = hf__url_option(url, "prefix");

    (void)snprintf(s->prefix, sizeof s->prefix, "%s",
                   prefix == NULL ? "holdfast" : prefix);
}

static int read_replicas(struct hf__redis *s, const struct hf__url *url,
                         hf_error *err)
{
    int64_t n = 0;
    int r = hf__url_int(url, "wait_replicas", 0, REPLICAS_MAX, &n, err);

    s->wait_replicas = (int)n;
    return r;
}

/* Behind a proxy to several servers, WAIT tells about any one of them. */
static int judge_replicas(struct hf__redis *s, hf_error *err)
{
    return s->wait_replicas == 0 || !s->is_apart
               ? HF_OK
               : hf__fail(err, HF_EUNSAFE,
                          "%s: it does not tell that it is a server of its "
                          "own, by INFO and ROLE, so whose replicas would "
                          "wait_replicas count? Let the user run both, or name "
                          "the server behind the proxy",
                          s->peer.target.shown);
}

/* A handover cannot be undone if too few replicas have it. */
static unsigned redis_caps_of(const struct hf__url *url)
{
    const char *replicas = hf__url_option(url, "wait_replicas");
    unsigned caps = hf__redis_backend.caps;

    if (replicas != NULL && strcmp(replicas, "0") != 0) {
        caps &= ~HF_CAP_HANDOVER;
    }
    return hf__redis_has_sentinels(url) ? caps | HF__CAP_MOVES : caps;
}

static int redis_open(void *state, const struct hf__url *url, const char *allow,
                      hf__time deadline, hf_error *err)
{
    struct hf__redis *s = state;
    int r;

    hf__peer_init(&s->peer);
    s->peer.stale = (struct hf__stale_conn){s->head.stale_session.mark,
                                            s->head.stale_session.server_id};
    note_prefix(s, url);
    s->client = s->head.client;
    while (s->client == 0) {
        hf__random(&s->client, sizeof s->client);
    }
    r = hf__waker_init(&s->rest.waker, err);
    r = r == HF_OK ? read_replicas(s, url, err) : r;
    if (r == HF_OK) {
        r = hf__redis_has_sentinels(url)
                ? hf__sentinel_open(s, url, allow, deadline, err)
                : try_hosts(s, url, allow, deadline, err);
    }
    s->rest.grace_ms = s->head.only_listens ? 0 : GRACE_MS;
    s->is_apart = !hf__handshake_is_one(&s->peer.server);
    r = r == HF_OK ? judge_replicas(s, err) : r;
    if (r == HF_OK) {
        s->head.server_info.grade = grade_of(s);
        s->head.server_info.reach = HF_REACH_HOSTS;
        s->head.server_info.server_id = s->peer.server.server_id;
    }
    return r;
}

static void redis_close_session(void *state)
{
    struct hf__redis *s = state;

    hf__redis_wait_fini(s);
    hf__peer_close(&s->peer);
    hf__sentinel_fini(s);
    s->head.stale_session = (struct hf__stale_session){
        .mark = s->peer.stale.id, .server_id = s->peer.stale.server_id};
    hf__waker_fini(&s->rest.waker);
}

static void redis_interrupt(void *state)
{
    struct hf__redis *s = state;

    hf__waker_wake(&s->rest.waker);
}

const struct hf__backend hf__redis_backend = {
    .scheme = "redis",
    .caps = HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |
            HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_FAIR | HF_CAP_SHARED |
            HF_CAP_SLOTS | HF_CAP_CELLS | HF__CAP_WAIT_LEAVES,
    .size = sizeof(struct hf__redis),
    .options = hf__redis_options,
    .has_no_sigpipe = true,
    .open = redis_open,
    .close = redis_close_session,
    .execute = hf__redis_execute,
    .caps_of = redis_caps_of,
    .wait = hf__redis_wait,
    .listen = hf__redis_listen,
    .list = hf__redis_list,
    .gc = hf__redis_gc,
    .cell = hf__redis_cell,
    .check = hf__redis_check,
    .interrupt = redis_interrupt,
};
