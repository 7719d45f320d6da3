/* SPDX-License-Identifier: MIT */
/*
 * The store postgres://: opens, closes and interrupts a session, and ends the
 * one that died before it. postgres.h says where the rest is. Called as
 * backend.h says.
 */
#include "src/backend/postgres/postgres.h"

#include "src/backend/postgres/target.h"

/* The longest that a statement takes, and a second. */
#define STALE_MS 6000
/* A terminated session goes at once, unless it waits for its disk. */
#define ENDS_MS 1000

/* Each session has a random number, its mark, in its application_name. This
 * gives a row for each session of the mark that is still there. It asks for
 * session_user, the user who logged in, as a session may act in another role
 * (ALTER ROLE ... SET role). */
static const struct hf__pg_statement terminate = {
    0, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
       "WHERE application_name='holdfast.'||lpad(to_hex($1),16,'0') "
       "AND usename=session_user "
       "AND pid<>pg_backend_pid()"};

static int end_marked(void *state, uint64_t mark, bool *ret_is_gone)
{
    struct hf__pg *s = state;
    hf__time until = hf__after_ms(hf__now(), ENDS_MS);
    bool is_there;
    int r;

    do {
        hf__pg_begin_packet(s);
        hf__pg_ask(s, &terminate);
        hf__pg_put_i64(s, (int64_t)mark);
        r = hf__pg_run(s);
        is_there = r == HF_OK && s->reply.n_rows > 0;
        if (is_there) {
            hf__table_rest(&s->t, hf__after_ms(hf__now(), 2));
        }
    } while (is_there && hf__before(hf__now(), until));
    *ret_is_gone = r == HF_OK && !is_there && s->reply.sqlstate[0] == '\0';
    return r;
}

static int open_session(void *state, const struct hf__url *url,
                        const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__pg *s = state;
    int r;

    hf__table_begin(&s->t, deadline, err);
    r = hf__pg_wire_init(s);
    r = r == HF_OK ? hf__pg_target_connect(s, url, allow) : r;
    s->t.wait_ops = &hf__pg_wait_ops;
    s->t.has_wake_locks = !s->server.is_pooled; /* others would share them */
    s->t.server_id = s->server.server_id;
    s->t.mark = s->server.mark;
    r = r == HF_OK ? hf__stale_end(&s->t, end_marked) : r;
    return r == HF_OK ? hf__pg_schema_ready(s, false) : r;
}

static void close_session(void *state)
{
    struct hf__pg *s = state;

    s->wire.is_dead |= hf__wait_state_is_owed(&s->t.wait_state);
    hf__stale_leave(&s->t, s->wire.is_dead, STALE_MS);
    hf__pg_wire_fini(s);
}

static void interrupt(void *state)
{
    struct hf__pg *s = state;

    hf__waker_wake(&s->t.waker);
}

const struct hf__backend hf__postgres_backend = {
    .scheme = "postgres",
    .caps = HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |
            HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_FAIR | HF_CAP_SHARED |
            HF_CAP_SLOTS | HF_CAP_PUSH | HF_CAP_CELLS | HF__CAP_WAIT_ONE,
    .size = sizeof(struct hf__pg),
    .options = hf__pg_options,
    .has_no_sigpipe = true,
    .has_kinds_apart = true,
    .open = open_session,
    .close = close_session,
    .execute = hf__pg_execute,
    .wait = hf__pg_wait,
    .listen = hf__pg_listen,
    .list = hf__pg_list,
    .gc = hf__pg_gc,
    .cell = hf__pg_cell,
    .check = hf__pg_check,
    .ddl = hf__pg_ddl,
    .interrupt = interrupt,
};
