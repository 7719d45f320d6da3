/* SPDX-License-Identifier: MIT */
/*
 * The state of a ZooKeeper session: connected, away, or over and why; and how
 * references wait for a connection. Called by the references' threads, and by
 * the library's with events of the session, which does not block here.
 */
#include "src/backend/zookeeper/fds.h"
#include "src/backend/zookeeper/internal.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

static enum hf__zk_state state_of(const struct hf__zk_session *session)
{
    return atomic_load(&session->state);
}

static void tell_refs(struct hf__zk_session *session)
{
    HF__LIST_EACH (it, &session->refs) {
        hf__unpark(&HF__ELEMENT(it, struct hf__zk_ref, in_session)->parker);
    }
}

void hf__zk_news(struct hf__zk_session *session)
{
    HF_SCOPED_LOCK(&session->mutex);
    tell_refs(session);
}

/* The session's mutex is held. */
static void move(struct hf__zk_session *session, enum hf__zk_state state)
{
    enum hf__zk_state old = state_of(session);

    if (hf__zk_state_is_over(old)) {
        return;
    }
    if (state == HF__ZK_AWAY && old != HF__ZK_AWAY) {
        session->away_since = hf__now();
    }
    atomic_store(&session->state, state);
    tell_refs(session);
}

void hf__zk_move(struct hf__zk_session *session, enum hf__zk_state state)
{
    HF_SCOPED_LOCK(&session->mutex);
    move(session, state);
}

static enum hf__zk_state state_from(int state)
{
    if (state == ZOO_CONNECTED_STATE) {
        return HF__ZK_CONNECTED;
    }
    if (state == ZOO_EXPIRED_SESSION_STATE) {
        return HF__ZK_EXPIRED;
    }
    return state == ZOO_AUTH_FAILED_STATE ? HF__ZK_REFUSED : HF__ZK_AWAY;
}

void hf__zk_made(struct hf__zk_session *session, zhandle_t *handle)
{
    HF_SCOPED_LOCK(&session->mutex);
    if (session->handle == NULL) {
        session->handle = handle; /* once let in, read without mutex */
    }
}

/* Write the server's address as people do. */
static void show_server(char *to, size_t size, const struct sockaddr *server,
                        socklen_t length)
{
    char host[64];
    char port[16];

    if (getnameinfo(server, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        to[0] = '\0';
        return;
    }
    (void)snprintf(to, size, strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s",
                   host, port);
}

/* The library's thread for the connection may have closed its socket meanwhile,
 * and the application may have got the descriptor's number. So only a server
 * that we know is noted. */
static void note_server(struct hf__zk_session *session, zhandle_t *handle)
{
    struct sockaddr_storage address;
    struct sockaddr *server = (struct sockaddr *)&address;
    socklen_t length = sizeof address;

    if (zookeeper_get_connected_host(handle, server, &length) == NULL) {
        return;
    }
    HF_SCOPED_LOCK(&session->mutex);
    if (!hf__zk_is_listed(session->addresses, server, length)) {
        return;
    }
    session->socket = hf__zk_fds_keep_socket(server, length);
    show_server(session->server, sizeof session->server, server, length);
}

/* Close our duplicate of the last connection's socket, which would keep it open
 * for the server. */
static void forget_socket(struct hf__zk_session *session)
{
    HF_SCOPED_LOCK(&session->mutex);
    hf__fd_close(session->socket);
    session->socket = -1;
}

/* Is the handle being closed, and replaced by another? */
static bool is_given_up(struct hf__zk_session *session, const zhandle_t *handle)
{
    HF_SCOPED_LOCK(&session->mutex);
    return session->given_up == handle;
}

void hf__zk_on_session_event(struct hf__zk_session *session, zhandle_t *handle,
                             int state)
{
    enum hf__zk_state next = state_from(state);
    bool is_in = next == HF__ZK_CONNECTED;

    if (is_given_up(session, handle)) {
        return;
    }
    atomic_store(&session->has_told_all, hf__zk_state_is_over(next));
    forget_socket(session);
    if (is_in) {
        int before_ms = atomic_load(&session->timeout_ms);
        int now_ms = zoo_recv_timeout(handle);

        atomic_store(&session->id, zoo_client_id(handle)->client_id);
        atomic_store(&session->timeout_ms, now_ms);
        hf__zk_note_connected(session);
        note_server(session, handle);
        next = now_ms < before_ms ? HF__ZK_SHORTENED : next;
        /* A handshake with the password may have been under way. */
        if (atomic_load(&session->is_abandoned)) {
            hf__zk_cut(session);
        }
    }
    HF_SCOPED_LOCK(&session->mutex);
    if (session->given_up == handle) {
        return;
    }
    if (session->handle == NULL) {
        session->handle = handle; /* once let in, read without mutex */
    }
    session->was_let_in = session->was_let_in || is_in;
    move(session, next);
}

int hf__zk_is_over(struct hf__zk_ref *f, hf_error *err)
{
    struct hf__zk_session *session = f->session;

    switch (state_of(session)) {
    case HF__ZK_STARTING:
    case HF__ZK_AWAY:
    case HF__ZK_CONNECTED:
        break;
    case HF__ZK_EXPIRED:
        return hf__fail_native(err, HF_EUNAVAIL, ZSESSIONEXPIRED,
                               "%s: the server has ended the session, which "
                               "it did not hear of for longer than %d ms",
                               session->shown,
                               atomic_load(&session->timeout_ms));
    case HF__ZK_REFUSED:
        return hf__fail_native(err, HF_EAUTH, ZAUTHFAILED,
                               "%s: the server refuses user and password, or "
                               "knows no digest authentication",
                               session->shown);
    case HF__ZK_SHORTENED:
        return hf__fail(err, HF_EUNAVAIL,
                        "%s: the server that it is connected to now gives a "
                        "session less time, %d ms, than the one before",
                        session->shown, atomic_load(&session->timeout_ms));
    case HF__ZK_STRAYED:
        return hf__fail(err, HF_EUNAVAIL,
                        "%s: no server was reached for longer than a session "
                        "lives; a new session is begun, and names looked up",
                        session->shown);
    case HF__ZK_FAILED:
        hf__error_copy(err, &session->why);
        return session->why.status;
    }
    return HF_OK;
}

/* A session that was away for longer than its timeout is over: its grants have
 * ended, and its host names may have other addresses by now. */
static void look_for_stray(struct hf__zk_session *session)
{
    int64_t lives_ms = atomic_load(&session->timeout_ms);
    bool has_strayed = false;

    if (lives_ms == 0) {
        return;
    }
    hf__mutex_lock(&session->mutex);
    has_strayed =
        state_of(session) == HF__ZK_AWAY &&
        hf__between_ns(session->away_since, hf__now()) > lives_ms * HF__MS;
    hf__mutex_unlock(&session->mutex);
    if (has_strayed) {
        hf__zk_move(session, HF__ZK_STRAYED);
    }
}

static bool is_ready(struct hf__zk_session *session)
{
    HF_SCOPED_LOCK(&session->mutex);
    return state_of(session) == HF__ZK_CONNECTED && session->is_known;
}

int hf__zk_may_wait(struct hf__zk_ref *f, hf__time deadline, hf_error *err)
{
    int r = hf__zk_is_over(f, err);

    if (r != HF_OK) {
        return r;
    }
    return hf__is_interrupted(f->head) || !hf__before(hf__now(), deadline)
               ? HF_BUSY
               : HF_OK;
}

int hf__zk_ready(struct hf__zk_ref *f, hf__time deadline, hf_error *err)
{
    for (;;) {
        unsigned seen = hf__parker_seen(&f->parker);
        hf__time again = hf__zk_mind_handshake(f->session);

        look_for_stray(f->session);
        if (is_ready(f->session)) {
            return HF_OK;
        }
        int r = hf__zk_may_wait(f, deadline, err);
        if (r != HF_OK) {
            return r;
        }
        hf__park(&f->parker, seen, hf__earlier(again, deadline));
    }
}

struct hf__zk_common *hf__zk_common(struct hf__zk_ref *f)
{
    return &f->session->common;
}

int64_t hf__zk_session_id(const struct hf__zk_ref *f)
{
    return atomic_load(&f->session->id);
}

int hf__zk_timeout_ms(const struct hf__zk_ref *f)
{
    return atomic_load(&f->session->timeout_ms);
}

bool hf__zk_has_user(const struct hf__zk_ref *f)
{
    return f->session->has_user;
}

const char *hf__zk_server(struct hf__zk_ref *f, char *to, size_t size)
{
    struct hf__zk_session *session = f->session;

    HF_SCOPED_LOCK(&session->mutex);
    (void)snprintf(to, size, "%s",
                   state_of(session) == HF__ZK_CONNECTED &&
                           session->server[0] != '\0'
                       ? session->server
                       : session->shown);
    return to;
}
