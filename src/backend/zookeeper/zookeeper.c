/* SPDX-License-Identifier: MIT */
/*
 * The store zookeeper://: reads its URL, opens, closes and interrupts a
 * session, executes operations, and decides whether a lease that it gave is
 * proven.
 *
 * All operations of a batch are done at once. Most need one round trip: a claim
 * is made and the folder listed right behind it, for the server keeps the order
 * of one session's requests. The names of a batch differ, so no caller can see
 * in which order its operations are applied. All recipes have in common:
 * whoever holds a name or waits for it has an ephemeral child there, made by
 * the ZooKeeper session, and the lease is that session's. Grants rest on
 * nothing that this process remembers, except which child is whose. Called as
 * backend.h says.
 */
#include "src/backend/zookeeper/zookeeper.h"
#include "src/backend/registry.h"
#include "src/backend/zookeeper/steps.h"
#include "src/backend/zookeeper/url.h"
#include "src/base/error.h"
#include "src/base/secret.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- the URL, judged before anybody is asked */

#define TIMEOUT_MS     30000
#define TIMEOUT_MIN_MS 500
#define TIMEOUT_MAX_MS 3600000

const char *const hf__zk_options[] = {
    "recipe", "session_timeout", "tls", "ca", "cert",
    "key",    "password_file",   NULL};

static int read_recipe(const struct hf__url *url, struct hf__zk_url *parts,
                       hf_error *err)
{
    const char *given = hf__url_option(url, "recipe");

    if (given == NULL || strcmp(given, "fair") == 0) {
        parts->recipe = HF__ZK_FAIR;
        return HF_OK;
    }
    if (strcmp(given, "simple") == 0) {
        parts->recipe = HF__ZK_SIMPLE;
        return HF_OK;
    }
    return hf__fail(err, HF_EINVAL, "recipe: \"%s\" is none of fair, simple",
                    given);
}

/* Debian's client library has no TLS, and no other one comes built with
 * headers. */
static int refuse_tls(const struct hf__url *url, hf_error *err)
{
    static const char *const options[] = {"tls", "ca", "cert", "key"};

    for (int i = 0; i < 4; i++) {
        const char *given = hf__url_option(url, options[i]);

        if (given != NULL && (i > 0 || strcmp(given, "off") != 0)) {
            return hf__fail(err, HF_EINVAL,
                            "%s: the ZooKeeper client library of this build "
                            "has no TLS; leave it out and protect the way "
                            "there, or use a library built with OpenSSL",
                            options[i]);
        }
    }
    return HF_OK;
}

static int read_hosts(const struct hf__url *url, struct hf__zk_url *parts,
                      hf_error *err)
{
    size_t length = 0;

    if (url->n_hosts == 0) {
        return hf__fail(err, HF_EINVAL,
                        "url: it names no server: "
                        "zookeeper://h1:2181,h2:2181,h3:2181/chroot");
    }
    for (size_t i = 0; i < url->n_hosts; i++) {
        const struct hf__url_host *host = &url->hosts[i];
        bool is_v6 = strchr(host->name, ':') != NULL;
        int added = snprintf(
            parts->hosts + length, sizeof parts->hosts - length, "%s%s%s%s:%d",
            i > 0 ? "," : "", is_v6 ? "[" : "", host->name, is_v6 ? "]" : "",
            host->port == 0 ? HF__ZK_PORT : host->port);

        if (added < 0 || (size_t)added >= sizeof parts->hosts - length) {
            return hf__fail(err, HF_EINVAL, "url: its hosts are too long");
        }
        length += (size_t)added;
    }
    return HF_OK;
}

/* Is that one folder of a path, as a server takes it? */
static bool is_folder(const char *name, size_t length)
{
    if (length == 0 || (length == 1 && name[0] == '.') ||
        (length == 2 && name[0] == '.' && name[1] == '.')) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];

        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static int read_chroot(const struct hf__url *url, struct hf__zk_url *parts,
                       hf_error *err)
{
    size_t length = strlen(url->path);
    const char *at = url->path;

    while (length > 0 && at[length - 1] == '/') {
        length--;
    }
    if (length >= sizeof parts->chroot) {
        return hf__fail(err, HF_EINVAL, "url: its path is too long");
    }
    memcpy(parts->chroot, url->path, length);
    parts->chroot[length] = '\0';
    for (at = parts->chroot; *at != '\0';) {
        size_t n = strcspn(at + 1, "/");

        if (*at != '/' || !is_folder(at + 1, n)) {
            return hf__fail(err, HF_EINVAL,
                            "url: its path is none of a node: a part is empty, "
                            "\".\" or \"..\", or has control characters");
        }
        at += 1 + n;
    }
    return HF_OK;
}

int hf__zk_url_read(const struct hf__url *url, struct hf__zk_url *parts,
                    hf_error *err)
{
    int64_t timeout_ms = TIMEOUT_MS;
    int r = refuse_tls(url, err);

    r = r == HF_OK ? read_hosts(url, parts, err) : r;
    r = r == HF_OK ? read_chroot(url, parts, err) : r;
    r = r == HF_OK ? read_recipe(url, parts, err) : r;
    r = r == HF_OK ? hf__url_duration(url, "session_timeout", TIMEOUT_MIN_MS,
                                      TIMEOUT_MAX_MS, &timeout_ms, err)
                   : r;
    parts->timeout_ms = (int)timeout_ms;
    return r;
}

/* ---- proof
 *
 * Whether a lease that a batch gave may be relied on: the leader must have
 * heard of the session late enough (evidence.c). listen() keeps sending
 * requests for that, each T/32, so that there is evidence at any time. On a
 * slow network the evidence is a little old: then the lease counts from a
 * little before the write. If there is none, as after a long stop of the
 * process, the connection is cut: the server that the library connects to next
 * takes the session over, of which the leader hears at once; and a write shows
 * that it is the leader still. For a server that stands alone nothing is to be
 * proven; it is asked less often, only to notice silence.
 */

/* Proof that is due within this part of T is waited for; for later proof the
 * connection is cut. */
#define SOON_PER_T 16
/* A lease may count from before the write, by at most this part of itself. */
#define LATE_PART 4

static bool has_lease(const struct hf__op *op)
{
    return op->result == HF_OK &&
           (op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_RENEW);
}

/* Sleep until another connection has replaced that one. */
static int await_another(struct hf__zk *s, unsigned connection,
                         hf__time deadline, hf_error *err)
{
    struct hf__zk_ref *f = &s->ref;

    for (;;) {
        unsigned seen = hf__parker_seen(&f->parker);

        if (hf__zk_connection(f) != connection || !hf__zk_is_connected(f)) {
            return hf__zk_ready(f, deadline, err);
        }
        if (hf__is_interrupted(&s->head) || !hf__before(hf__now(), deadline)) {
            return HF_BUSY;
        }
        hf__park(&f->parker, seen, deadline);
    }
}

static int let_pass(struct hf__zk *s, hf__time until)
{
    struct hf__zk_ref *f = &s->ref;

    while (hf__before(hf__now(), until)) {
        unsigned seen = hf__parker_seen(&f->parker);

        if (hf__is_interrupted(&s->head)) {
            return HF_BUSY;
        }
        hf__park(&f->parker, seen, until);
    }
    return HF_OK;
}

/* Send a write that fails, for which the leader still needs a majority. True:
 * it was answered, and proves the lease that counts from `from`. */
static bool write_proves(struct hf__zk *s, hf__time from, hf__time deadline,
                         hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->ref, 1);
    hf__time sent = hf__now();

    if (calls == NULL) {
        return false;
    }
    hf__zk_set(calls, 0, "/", "", 0, INT_MAX);
    if (hf__zk_await(calls, deadline, err) != HF_OK) {
        return false;
    }
    int rc = hf__zk_answer(calls, 0)->rc;
    hf__time due =
        hf__zk_provable_from(&s->ref, from, s->head.server_info.lease_us);
    return hf__zk_shows_life(rc) && !hf__before(sent, due);
}

/* Read the connection's number first: if another connection comes in between,
 * reconnecting leaves that one alone. */
static int find_evidence(struct hf__zk *s, hf__time from, hf__time deadline,
                         hf_error *err)
{
    struct hf__zk_ref *f = &s->ref;
    unsigned connection = hf__zk_connection(f);
    bool is_connected = hf__zk_is_connected(f);
    hf__time due = hf__zk_provable_from(f, from, s->head.server_info.lease_us);
    hf__time now = hf__now();
    hf__time soon =
        hf__after_ns(now, hf__zk_timeout_ms(f) * HF__MS / SOON_PER_T);

    if (!is_connected) {
        return hf__zk_ready(f, deadline, err); /* the library is connecting */
    }
    if (!hf__before(now, due)) {
        return HF_OK;
    }
    if (!hf__before(due, hf__earlier(soon, deadline)) &&
        hf__zk_reconnect(f, connection)) {
        return await_another(s, connection, deadline, err);
    }
    return hf__before(due, deadline) ? let_pass(s, due) : (int)HF_BUSY;
}

static bool prove(struct hf__zk *s, hf__time from, hf__time deadline,
                  hf_error *err)
{
    return find_evidence(s, from, deadline, err) == HF_OK &&
           write_proves(s, from, deadline, err);
}

static bool is_proven(struct hf__zk *s, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err)
{
    int64_t lease_us = s->head.server_info.lease_us;
    hf__time sent = ops[0]->sent;
    hf__time from = hf__zk_proven_from(&s->ref, sent, lease_us);

    if (s->is_alone || !hf__before(from, sent)) {
        return true;
    }
    if (hf__before(from, hf__after_ns(sent, -lease_us * 1000 / LATE_PART))) {
        return prove(s, sent, deadline, err);
    }
    for (int i = 0; i < n; i++) {
        ops[i]->sent = has_lease(ops[i]) ? from : ops[i]->sent;
    }
    return true;
}

static void doubt(struct hf__op *op)
{
    op->result = hf__fail(
        op->err, op->kind == HF__OP_RENEW ? (int)HF_EUNAVAIL : (int)HF_EUNKNOWN,
        "the ensemble may have heard of this session too long ago for "
        "a lease to begin now");
}

int hf__zk_prove(struct hf__zk *s, struct hf__op *ops[], int n,
                 hf__time deadline, hf_error *err)
{
    bool is_any = false;

    for (int i = 0; i < n; i++) {
        is_any |= has_lease(ops[i]);
    }
    if (!is_any) {
        return HF_OK;
    }
    bool is_believed = hf__zk_is_over(&s->ref, err) == HF_OK &&
                       is_proven(s, ops, n, deadline, err);
    /* If the session ended meanwhile, what ended it, as a shorter timeout, may
     * have made all evidence too old. */
    int r = hf__zk_is_over(&s->ref, err);

    for (int i = 0; i < n && (r != HF_OK || !is_believed); i++) {
        if (has_lease(ops[i])) {
            doubt(ops[i]);
        }
    }
    return r;
}

/* ---- execute() */

static void begin(struct hf__zk_task *t)
{
    switch (t->op->kind) {
    case HF__OP_ACQUIRE:
        hf__zk_acquire(t);
        return;
    case HF__OP_RENEW:
    case HF__OP_RAISE:
        hf__zk_renew(t);
        return;
    case HF__OP_RELEASE:
        hf__zk_release(t);
        return;
    case HF__OP_INSPECT:
        hf__zk_inspect(t);
        return;
    case HF__OP_BREAK:
        hf__zk_break(t);
        return;
    case HF__OP_HANDOVER:
        break;
    }
    hf__zk_finish(t, hf__fail(t->op->err, HF_ENOTSUP,
                              "a claim in ZooKeeper is its session's, and "
                              "can't be handed over"));
}

static bool is_certain(const struct hf__op *op)
{
    return op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE;
}

/* If memory ran out: run renewals and releases one after the other, for others
 * rely on them, and one alone needs no memory but what is kept for it. */
static int run_short(struct hf__zk *s, struct hf__op *ops[], int n,
                     hf__time deadline, hf_error *err)
{
    int r = HF_OK;

    for (int i = 0; r == HF_OK && i < n; i++) {
        if (ops[i]->result == HF_ENOMEM && is_certain(ops[i])) {
            r = hf__zk_run_alone(s, begin, ops[i], deadline, err);
        }
    }
    return r;
}

static int zk_execute(void *state, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err)
{
    struct hf__zk *s = state;
    int r = hf__zk_run(s, begin, ops, n, deadline, err);

    r = r == HF_OK ? run_short(s, ops, n, deadline, err) : r;
    int over = hf__zk_prove(s, ops, n, deadline, err);
    r = r < 0 ? r : over;
    if (r < 0) {
        hf__zk_end_grants(s, ops, n);
    }
    return r;
}

/* ---- a session */

#define IO_TIMEOUT_MS 5000

/* The server splits "user:password" at the first colon, and takes neither
 * alone. */
static int check_login(const struct hf__url *url,
                       const struct hf__secret *secret, hf_error *err)
{
    if (url->user == NULL && secret->is_given) {
        return hf__fail(err, HF_EINVAL,
                        "a password is given, but the url names no user: "
                        "zookeeper://USER@host:2181/chroot");
    }
    if (url->user != NULL && !secret->is_given) {
        return hf__fail(err, HF_EINVAL,
                        "url: it names the user %s, but no password is given: "
                        "in the url, by password_file= or HOLDFAST_PASSWORD",
                        url->user);
    }
    if (url->user != NULL &&
        (url->user[0] == '\0' || strchr(url->user, ':') != NULL)) {
        return hf__fail(err, HF_EINVAL,
                        "url: the user \"%s\" is empty or has a colon, which "
                        "ZooKeeper takes for the end of it",
                        url->user);
    }
    return HF_OK;
}

/* The core has checked the option already. */
static int io_timeout_ms(const struct hf__url *url)
{
    int64_t ms = IO_TIMEOUT_MS;
    hf_error ignored = HF_ERROR_INIT;

    int r = hf__url_duration(url, "io_timeout", 1, INT32_MAX, &ms, &ignored);
    return r == HF_OK ? (int)ms : IO_TIMEOUT_MS;
}

static int zk_open(void *state, const struct hf__url *url, const char *allow,
                   hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    struct hf__zk *s = state;
    struct hf__zk_target target = {.hosts = s->url.hosts, .user = url->user};
    int r = hf__zk_url_read(url, &s->url, err);

    (void)allow;
    r = r == HF_OK ? hf__secret_read(url, &secret, err) : r;
    r = r == HF_OK ? check_login(url, &secret, err) : r;
    target.timeout_ms = s->url.timeout_ms;
    target.io_timeout_ms = io_timeout_ms(url);
    target.password = secret.is_given ? secret.text : NULL;
    r = r == HF_OK ? hf__zk_ref_open(&s->ref, &s->head, &target, deadline, err)
                   : r;
    return r == HF_OK ? hf__zk_data(s, deadline, err) : r;
}

static void zk_close(void *state)
{
    struct hf__zk *s = state;

    hf__zk_wait_fini(s);
    hf__zk_listen_fini(s);
    hf__zk_ref_close(&s->ref);
}

static void zk_interrupt(void *state)
{
    struct hf__zk *s = state;

    hf__zk_ref_wake(&s->ref);
}

#define CAPS_SIMPLE                                                            \
    (HF_CAP_FENCE | HF_CAP_SESSION | HF_CAP_WAIT | HF_CAP_LIST | HF_CAP_PUSH | \
     HF_CAP_CELLS)
#define CAPS_FAIR                                                              \
    (CAPS_SIMPLE | HF_CAP_FAIR | HF_CAP_SHARED | HF_CAP_SLOTS | HF__CAP_QUEUES)

/* The simple recipe has one node: no queue, and room for one holder. */
static unsigned zk_caps_of(const struct hf__url *url)
{
    const char *recipe = hf__url_option(url, "recipe");

    return recipe != NULL && strcmp(recipe, "simple") == 0 ? CAPS_SIMPLE
                                                           : CAPS_FAIR;
}

const struct hf__backend hf__zookeeper_backend = {
    .scheme = "zookeeper",
    .caps = CAPS_FAIR,
    .size = sizeof(struct hf__zk),
    .options = hf__zk_options,
    .caps_of = zk_caps_of,
    .open = zk_open,
    .close = zk_close,
    .execute = zk_execute,
    .wait = hf__zk_wait,
    .listen = hf__zk_listen,
    .list = hf__zk_list,
    .gc = hf__zk_gc,
    .cell = hf__zk_cell,
    .check = hf__zk_check,
    .interrupt = zk_interrupt,
};
