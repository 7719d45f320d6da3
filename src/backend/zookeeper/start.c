/* SPDX-License-Identifier: MIT */
/*
 * Makes the library's handle so that it disturbs nobody, and finds out why no
 * server lets us in. We look the hosts up and give the handle numeric
 * addresses: it would look names up on the thread that also keeps the session
 * alive, and loops without end if that fails. We shuffle the addresses and tell
 * the library to keep their order, for else it seeds the application's random
 * numbers again. Its log goes nowhere, so nobody would learn that each server
 * refuses the connection, while the library retries for ever: we find that out
 * by connections of our own. Called by the thread of the reference that opens a
 * session.
 */
#include "src/backend/zookeeper/fds.h"
#include "src/backend/zookeeper/internal.h"
#include "src/backend/zookeeper/url.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/rand.h"
#include "src/base/secret.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Threads that the library starts for a handle. */
enum { THREADS = 2 };

struct addresses {
    char text[HF__ZK_ADDRESSES][INET6_ADDRSTRLEN + 32]; /* "::1:2181" */
    int n;
};

/* ---- where to */

static void add_address(struct addresses *to, const struct addrinfo *found,
                        const char *port)
{
    char host[INET6_ADDRSTRLEN + 16];

    if (to->n < HF__ZK_ADDRESSES &&
        getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL,
                    0, NI_NUMERICHOST) == 0) {
        (void)snprintf(to->text[to->n++], sizeof *to->text, "%s:%s", host,
                       port);
    }
}

static int look_up(struct addresses *to, const char *host, const char *port,
                   int flags)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | flags};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host, port, &hints, &found);

    for (const struct addrinfo *it = found; it != NULL; it = it->ai_next) {
        add_address(to, it, port);
    }
    if (found != NULL) {
        freeaddrinfo(found);
    }
    return error;
}

/* A host that can't be looked up leaves the others. Returns the last error, or
 * 0. */
static int look_up_all(const char *hosts, struct addresses *to)
{
    char copy[HF__ZK_HOSTS_MAX];
    char *rest = NULL;
    int failed = 0;

    (void)snprintf(copy, sizeof copy, "%s", hosts);
    for (char *host = strtok_r(copy, ",", &rest); host != NULL;
         host = strtok_r(NULL, ",", &rest)) {
        char *port = strrchr(host, ':');

        *port++ = '\0';
        if (host[0] == '[') {
            host[strlen(host) - 1] = '\0';
            host++;
        }
        if (look_up(to, host, port, AI_NUMERICHOST) != 0) {
            int error = look_up(to, host, port, 0);

            failed = error != 0 ? error : failed;
        }
    }
    return failed;
}

/* The order is random, so that an ensemble's clients spread over its
 * servers. */
static void join_shuffled(struct addresses *from, char *to, size_t size)
{
    size_t length = 0;

    to[0] = '\0';
    for (int left = from->n; left > 0; left--) {
        int64_t i = hf__random_between(0, left - 1);
        int added = snprintf(to + length, size - length, "%s%s",
                             length > 0 ? "," : "", from->text[i]);

        if (added > 0 && (size_t)added < size - length) {
            length += (size_t)added;
        }
        memmove(from->text[i], from->text[left - 1], sizeof *from->text);
    }
    to[length] = '\0';
}

/* ---- who we are */

static void heard(int rc, const void *data)
{
    struct hf__zk_session *session = hf__zk_mutable(data);

    /* If it is lost with the connection, the library sends it again, first of
     * all, with the next one. A refusal ends the session by an event of its
     * own. */
    if (rc != ZOK && rc != ZCONNECTIONLOSS && rc != ZOPERATIONTIMEOUT) {
        return;
    }
    hf__mutex_lock(&session->mutex);
    session->is_known = true;
    hf__mutex_unlock(&session->mutex);
    hf__zk_news(session);
}

static int introduce(zhandle_t *handle, struct hf__zk_session *session,
                     const struct hf__zk_target *target, hf_error *err)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret both = {0};
    int length = snprintf(both.text, sizeof both.text, "%s:%s", target->user,
                          target->password);

    if (length < 0 || (size_t)length >= sizeof both.text) {
        return hf__fail(err, HF_EINVAL, "user and password are too long");
    }
    int rc = zoo_add_auth(handle, "digest", both.text, length, heard, session);
    return rc == ZOK ? (int)HF_OK
                     : hf__fail_native(err, HF_ENOMEM, rc,
                                       "out of memory for user and password");
}

/* ---- the handle */

static void hear_session(zhandle_t *handle, int type, int state,
                         const char *path, void *arg)
{
    (void)path;
    if (type == ZOO_SESSION_EVENT) {
        hf__zk_on_session_event(arg, handle, state);
    }
}

static void ignore(const char *line)
{
    (void)line;
}

static void keep_order(void)
{
    zoo_deterministic_conn_order(1);
}

/* The library ends the process if it can't start its threads, so we ask for
 * them first; glibc then keeps their stacks for it. */
static int init(struct hf__zk_session *session, const char *hosts,
                int timeout_ms, zhandle_t **ret_handle, hf_error *err)
{
    char words[64];

    if (hf__threads_ask(THREADS) != HF_OK) {
        return hf__fail(err, HF_ENOMEM,
                        "%s: no session was made: the system gives no two "
                        "threads more (see ulimit -u, ulimit -v)",
                        session->shown);
    }
    *ret_handle = zookeeper_init2(hosts, hear_session, timeout_ms, NULL,
                                  session, ZOO_NO_LOG_CLIENTENV, ignore);
    return *ret_handle != NULL
               ? (int)HF_OK
               : hf__fail_native(err, errno == ENOMEM ? HF_ENOMEM : HF_EUNAVAIL,
                                 errno, "%s: no session was made: %s",
                                 session->shown,
                                 hf__errno_text(errno, words, sizeof words));
}

/* All signals are blocked meanwhile, and the library's threads inherit that:
 * signals are for the application. No fork may come in between: the library
 * asks the C library for this host's addresses, and a child would find the lock
 * for that taken for ever. (It asks again when it connects, and no fork can be
 * kept out of that moment.) Nor is another session made meanwhile, for its pipe
 * would be new as well. */
static int make_handle(struct hf__zk_session *session, const char *hosts,
                       int timeout_ms, zhandle_t **ret_handle, hf_error *err)
{
    static hf__once_flag once = HF__ONCE_INIT;
    struct hf__signals signals;
    HF_AUTO(hf__zk_fds_free) struct hf__zk_fds before = {0};

    hf__once_run(&once, keep_order);
    hf__fork_forbid();
    hf__zk_fds_note(&before);
    hf__signals_block(&signals);
    int r = init(session, hosts, timeout_ms, ret_handle, err);
    hf__signals_restore(&signals);
    if (r == HF_OK) {
        (void)zoo_set_servers_resolution_delay(*ret_handle, -1);
        hf__zk_fds_keep_pipe(&before);
    }
    hf__fork_allow();
    return r;
}

static int fail_lookup(const struct hf__zk_session *session, int error,
                       hf_error *err)
{
    return hf__fail(err, HF_EUNAVAIL, "%s: the name can't be looked up: %s",
                    session->shown, gai_strerror(error));
}

static int make(struct hf__zk_session *session, const char *hosts,
                const struct hf__zk_target *target, hf_error *err)
{
    zhandle_t *handle = NULL;

    hf__mutex_lock(&session->mutex);
    memcpy(session->addresses, hosts, strlen(hosts) + 1);
    session->made_at = hf__now();
    hf__mutex_unlock(&session->mutex);
    hf__zk_move(session, HF__ZK_AWAY);
    int r = make_handle(session, hosts, target->timeout_ms, &handle, err);
    if (r != HF_OK) {
        return r;
    }
    hf__zk_made(session, handle);
    return session->has_user ? introduce(handle, session, target, err)
                             : (int)HF_OK;
}

int hf__zk_start(struct hf__zk_session *session,
                 const struct hf__zk_target *target, hf_error *err)
{
    struct addresses addresses = {.n = 0};
    char hosts[HF__ZK_ADDRESSES_MAX];

    int error = look_up_all(target->hosts, &addresses);
    if (addresses.n == 0) {
        return fail_lookup(session, error, err);
    }
    atomic_store(&session->n_addresses, addresses.n);
    join_shuffled(&addresses, hosts, sizeof hosts);
    return make(session, hosts, target, err);
}

/* Move the first address to the end. */
static void rotate(const char *from, char *to, size_t size)
{
    const char *rest = strchr(from, ',');

    if (rest == NULL) {
        (void)snprintf(to, size, "%s", from);
    } else {
        (void)snprintf(to, size, "%s,%.*s", rest + 1, (int)(rest - from), from);
    }
}

/* Takes the handle from the session, to be closed. NULL: a server let it in, so
 * references that joined may use it; or the session is over, or has no
 * handle. */
static zhandle_t *give_up(struct hf__zk_session *session, char *ret_hosts,
                          size_t size)
{
    HF_SCOPED_LOCK(&session->mutex);

    if (atomic_load(&session->state) != HF__ZK_AWAY || session->was_let_in ||
        session->handle == NULL) {
        return NULL;
    }
    rotate(session->addresses, ret_hosts, size);
    session->given_up = session->handle;
    session->handle = NULL;
    return session->given_up;
}

int hf__zk_start_elsewhere(struct hf__zk_session *session,
                           const struct hf__zk_target *target, hf_error *err)
{
    char hosts[HF__ZK_ADDRESSES_MAX];
    zhandle_t *handle = give_up(session, hosts, sizeof hosts);

    if (handle == NULL) {
        return HF_OK;
    }
    (void)zookeeper_close(handle);
    hf__mutex_lock(&session->mutex);
    session->given_up = NULL;
    session->is_known = !session->has_user;
    hf__mutex_unlock(&session->mutex);
    atomic_store(&session->id, 0);
    atomic_store(&session->timeout_ms, 0);
    return make(session, hosts, target, err);
}

/* So long we wait for the outcome of a connection. */
#define PROBE_MS 200

/* One connection and its outcome; EINPROGRESS: none so far. */
struct probe {
    struct pollfd slot;
    int error;
};

/* The address is "127.0.0.1:2181" or "::1:2181", as the library has them. */
static void begin(struct probe *p, char *address)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char *port = strrchr(address, ':');

    *port++ = '\0';
    p->slot = (struct pollfd){.fd = -1, .events = POLLOUT};
    p->error = EINPROGRESS;
    if (getaddrinfo(address, port, &hints, &found) != 0) {
        return;
    }
    p->slot.fd =
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->slot.fd >= 0) {
        p->error = connect(p->slot.fd, found->ai_addr, found->ai_addrlen) == 0
                       ? 0
                       : errno;
    }
    freeaddrinfo(found);
}

static void look(struct probe *p, hf__time until)
{
    socklen_t size = sizeof p->error;
    int64_t left_ms = hf__ms_until(until, hf__now());

    if (p->error == EINPROGRESS && p->slot.fd >= 0 &&
        poll(&p->slot, 1, (int)left_ms) == 1) {
        (void)getsockopt(p->slot.fd, SOL_SOCKET, SO_ERROR, &p->error, &size);
    }
}

static bool is_refusal(int error)
{
    return error == ECONNREFUSED || error == EHOSTUNREACH ||
           error == ENETUNREACH || error == EADDRNOTAVAIL ||
           error == EAFNOSUPPORT;
}

int hf__zk_probe(const char *addresses)
{
    struct probe probes[HF__ZK_ADDRESSES];
    char copy[HF__ZK_ADDRESSES_MAX];
    hf__time until = hf__after_ms(hf__now(), PROBE_MS);
    char *rest = NULL;
    int n = 0;
    int refusal = 0;
    bool do_all_refuse = true;

    (void)snprintf(copy, sizeof copy, "%s", addresses);
    for (char *it = strtok_r(copy, ",", &rest);
         it != NULL && n < HF__ZK_ADDRESSES; it = strtok_r(NULL, ",", &rest)) {
        begin(&probes[n++], it);
    }
    for (int i = 0; i < n; i++) {
        look(&probes[i], until);
        refusal = probes[i].error;
        do_all_refuse = do_all_refuse && is_refusal(refusal);
        if (probes[i].slot.fd >= 0) {
            close(probes[i].slot.fd);
        }
    }
    return do_all_refuse ? refusal : 0;
}
