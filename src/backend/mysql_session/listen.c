/* SPDX-License-Identifier: MIT */
/*
 * listen(): if the server ends a connection, its locks are lost. One thread of
 * the client sleeps on all sockets to see that, and asks the server nothing.
 * Called by the session's thread.
 */
#include "src/backend/mysql_session/session.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <poll.h>

/* So long after a loss, the caller whose claim was answered knows of its
 * grant. */
#define AGAIN_MS 200
/* Without memory for the sockets, look again after this time. */
#define BLIND_MS 100
/* poll() takes an int. */
#define SLEEP_MAX_MS 3600000

/* Report pool->lost from *at up to `end`. The mutex is held, but not during the
 * callbacks. */
static bool tell_from(struct hf__ul_pool *pool, unsigned *at, unsigned end,
                      hf__broken_fn fn, void *arg)
{
    bool has_told = false;

    while (*at < end) {
        struct hf__token token = pool->lost[(*at)++];

        hf__mutex_unlock(&pool->mutex);
        fn(arg, hf__token_tag(&token));
        has_told = true;
        hf__mutex_lock(&pool->mutex);
    }
    return has_told;
}

/* Report the locks lost since the last time, and each once more after AGAIN_MS:
 * if a lock was lost at once, its grant may not have been known at the first
 * report. */
static bool tell(struct hf__ul_session *f, hf__broken_fn fn, void *arg)
{
    struct hf__ul_pool *pool = f->pool;
    hf__time now = hf__now();
    bool has_told = false;
    HF_SCOPED_LOCK(&pool->mutex);

    pool->listener = f;
    if (f->n_reheard != f->n_heard && !hf__before(now, f->rehears)) {
        has_told = tell_from(pool, &f->n_reheard, f->n_heard, fn, arg);
    }
    if (f->n_heard != pool->n_lost) {
        has_told |= tell_from(pool, &f->n_heard, pool->n_lost, fn, arg);
        f->rehears = hf__after_ms(now, AGAIN_MS);
    }
    if (f->n_reheard == pool->n_lost) {
        f->n_heard = f->n_reheard = pool->n_lost = 0;
    }
    return has_told;
}

/* When listen() must wake up, besides for the sockets. */
static hf__time next_look(const struct hf__ul_session *f)
{
    return f->n_reheard == f->n_heard
               ? f->mysql.t.deadline
               : hf__earlier(f->mysql.t.deadline, f->rehears);
}

static bool is_watched(const struct hf__ul_conn *conn)
{
    return !conn->is_cut && conn->fd >= 0;
}

/* The sockets of all connections, after the waker's. NULL: no memory. */
static struct pollfd *gather(struct hf__ul_session *f, nfds_t *ret_n)
{
    struct hf__ul_pool *pool = f->pool;
    struct pollfd *fds;
    nfds_t n = 1;
    HF_SCOPED_LOCK(&pool->mutex);

    HF__LIST_EACH (it, &pool->conns) {
        n += is_watched(HF__ELEMENT(it, struct hf__ul_conn, in_pool));
    }
    fds = hf__alloc(n * sizeof *fds);
    if (fds == NULL) {
        return NULL;
    }
    fds[0] = (struct pollfd){.fd = hf__waker_fd(&f->mysql.t.waker),
                             .events = POLLIN};
    *ret_n = 1;
    HF__LIST_EACH (it, &pool->conns) {
        struct hf__ul_conn *conn = HF__ELEMENT(it, struct hf__ul_conn, in_pool);

        if (is_watched(conn)) {
            fds[(*ret_n)++] =
                (struct pollfd){.fd = conn->fd, .events = POLLRDHUP};
        }
    }
    return fds;
}

bool hf__ul_conn_has_ended(const struct hf__ul_conn *conn)
{
    struct pollfd fd = {.fd = conn->fd, .events = POLLRDHUP};

    return poll(&fd, 1, 0) > 0;
}

static bool has_ended(const struct pollfd *fds, nfds_t n, int fd)
{
    for (nfds_t i = 1; i < n; i++) {
        if (fds[i].fd == fd && fds[i].revents != 0) {
            return true;
        }
    }
    return false;
}

/* Find a connection whose socket has ended; NULL: none. If another connection
 * has got the same descriptor meanwhile, it is checked again and found well. */
static struct hf__ul_conn *find_ended(struct hf__ul_pool *pool,
                                      const struct pollfd *fds, nfds_t n)
{
    HF__LIST_EACH (it, &pool->conns) {
        struct hf__ul_conn *conn = HF__ELEMENT(it, struct hf__ul_conn, in_pool);

        if (is_watched(conn) && has_ended(fds, n, conn->fd) &&
            hf__ul_conn_has_ended(conn)) {
            return conn;
        }
    }
    return NULL;
}

/* End these connections, whose locks are lost. If one is in use, its user ends
 * it. */
static void end_conns(struct hf__ul_session *f, const struct pollfd *fds,
                      nfds_t n)
{
    struct hf__ul_pool *pool = f->pool;
    struct hf__ul_conn *conn;

    for (;;) {
        bool is_taken;

        hf__mutex_lock(&pool->mutex);
        conn = find_ended(pool, fds, n);
        is_taken = conn != NULL && hf__ul_conn_try(f, conn);
        if (conn != NULL) {
            conn->is_cut = true;
        }
        hf__mutex_unlock(&pool->mutex);
        if (conn == NULL) {
            return;
        }
        if (is_taken) {
            hf__ul_conn_give(f, conn);
        }
    }
}

static void sleep_on(struct hf__ul_session *f, struct pollfd *fds, nfds_t n)
{
    int64_t ms = hf__ms_until(next_look(f), hf__now());
    int woken = poll(fds, n, (int)(ms < SLEEP_MAX_MS ? ms : SLEEP_MAX_MS));

    if (woken > 0 && fds[0].revents != 0) {
        hf__waker_drain(&f->mysql.t.waker);
    }
    if (woken > 0) {
        end_conns(f, fds, n);
    }
}

int hf__ul_listen(void *state, hf__broken_fn fn, void *arg, hf__time deadline,
                  hf_error *err)
{
    struct hf__ul_session *f = state;

    hf__table_begin(&f->mysql.t, deadline, err);
    while (!tell(f, fn, arg) && !hf__is_interrupted(&f->mysql.t.head) &&
           hf__before(hf__now(), deadline)) {
        nfds_t n = 0;
        struct pollfd *fds = gather(f, &n);

        if (fds == NULL) {
            hf__table_rest(
                &f->mysql.t,
                hf__earlier(deadline, hf__after_ms(hf__now(), BLIND_MS)));
            continue;
        }
        sleep_on(f, fds, n);
        hf__free(fds);
    }
    return HF_OK;
}
