/* SPDX-License-Identifier: MIT */
/*
 * Closes the library's handle, and ends its session with it or keeps it.
 * zookeeper_close() ends the session of a handle that is connected. To keep the
 * session, we first overwrite its password in the handle: then no server that
 * it connects to lets it in, and the session is not touched. Then we shut its
 * connection down through our duplicate of the socket, for the library's
 * threads use their own and may close it. Called by the thread that closes a
 * session's last reference, or abandons the session, and by the library's.
 */
#include "src/backend/zookeeper/internal.h"

#include <string.h>
#include <sys/socket.h>

/* Turns of a millisecond or more: by then the library has noticed that its
 * connection was shut down, and a server that runs has answered a handshake. */
#define HEARD_TURNS 100
/* By then a server has said that it knows no such session. */
#define TOLD_MS 100

/* The library compares addresses without their ports, and keeps a connection to
 * one of the new addresses: so this is not 127.0.0.1. */
#define NOWHERE "127.203.86.45:1"

static void take_password(zhandle_t *handle)
{
    clientid_t *id = hf__zk_mutable(zoo_client_id(handle));

    explicit_bzero(id->passwd, sizeof id->passwd);
}

bool hf__zk_hang_up(struct hf__zk_session *session)
{
    return session->socket >= 0 && shutdown(session->socket, SHUT_RDWR) == 0;
}

static bool hang_up(struct hf__zk_session *session)
{
    HF_SCOPED_LOCK(&session->mutex);
    return hf__zk_hang_up(session);
}

/* Send the handle to an address where no server is: the library then drops its
 * connection. It does so on this thread, while another of its own may be using
 * the connection: so this is the last resort. */
static void lead_astray(zhandle_t *handle)
{
    HF_RACE_BEGIN();
    (void)zoo_set_servers(handle, NOWHERE);
    HF_RACE_END();
}

void hf__zk_cut(struct hf__zk_session *session)
{
    if (session->handle == NULL) {
        return;
    }
    take_password(session->handle);
    if (!hang_up(session) &&
        zoo_state(session->handle) == ZOO_CONNECTED_STATE) {
        lead_astray(session->handle);
    }
}

/*
 * Wait until the handle has no connection with the session, nor will have one:
 * a handshake that was under way when we overwrote the password may still be
 * answered, and that brings the password again; a later one is not let in. That
 * refusal is the library's last event, and it leaks events that come while its
 * handle is closed: so we wait for it, up to patience_ms. False: the handle is
 * still connected.
 */
static bool cut_off(struct hf__zk_session *session, int patience_ms)
{
    hf__time told_by = hf__after_ms(hf__now(), patience_ms);
    bool was_in = false;

    for (int turn = 0; turn < 2 * HEARD_TURNS; turn++) {
        int state = zoo_state(session->handle);
        bool is_in = state == ZOO_CONNECTED_STATE;
        bool is_out = !is_in && (was_in || state != ZOO_ASSOCIATING_STATE);

        take_password(session->handle);
        if (atomic_load(&session->has_told_all) ||
            (is_out && !hf__before(hf__now(), told_by))) {
            return true;
        }
        if (turn == HEARD_TURNS || (is_in && !was_in && !hang_up(session))) {
            lead_astray(session->handle);
            told_by = hf__now(); /* no server will refuse it there */
        }
        was_in = was_in || is_in;
        hf__sleep_until(hf__after_ms(hf__now(), 1));
    }
    return false;
}

/* ---- a last answer */

enum { WAITING, ANSWERED, LOST };

static void hear_answer(int rc, const struct Stat *stat, const void *data)
{
    struct hf__zk_session *session = hf__zk_mutable(data);

    (void)stat;
    bool is_lost =
        rc == ZCLOSING || rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT;

    atomic_store(&session->farewell, is_lost ? LOST : ANSWERED);
    hf__unpark(&session->closer);
}

static bool is_connected(const struct hf__zk_session *session)
{
    return zoo_state(session->handle) == ZOO_CONNECTED_STATE;
}

/* Does the server not answer? If so, zookeeper_close() would wait for seconds
 * until the server has closed the connection. */
static bool is_silent(struct hf__zk_session *session)
{
    hf__time limit = hf__after_ms(hf__now(), session->io_timeout_ms / 2);

    if (!is_connected(session) ||
        zoo_aexists(session->handle, "/", 0, hear_answer, session) != ZOK) {
        return true;
    }
    for (;;) {
        unsigned seen = hf__parker_seen(&session->closer);
        int farewell = atomic_load(&session->farewell);

        if (farewell != WAITING || !is_connected(session) ||
            !hf__before(hf__now(), limit)) {
            return farewell != ANSWERED;
        }
        hf__park(&session->closer, seen, limit);
    }
}

bool hf__zk_stop(struct hf__zk_session *session, bool keeps_session)
{
    /* A handle without an id was never let in: there is no session to keep. */
    bool has_session = atomic_load(&session->id) != 0;

    if (has_session && (keeps_session || is_silent(session)) &&
        !cut_off(session, keeps_session ? TOLD_MS : 0)) {
        return false;
    }
    (void)zookeeper_close(session->handle);
    session->handle = NULL;
    return true;
}
