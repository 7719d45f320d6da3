/* SPDX-License-Identifier: MIT */
/*
 * The store postgres://. Here a session is opened, closed and interrupted; see
 * postgres.h for where the rest is. Called as backend.h says.
 */
#include "src/backend/postgres/postgres.h"

#include "src/backend/postgres/place.h"

void hf__pg_begin(struct hf__pg *s, hf__time deadline, hf_error *err)
{
    s->deadline = deadline;
    s->err = err;
    s->lost = HF_OK;
}

static int open_session(void *state, const struct hf__url *url,
                        const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__pg *s = state;
    int r;

    hf__pg_begin(s, deadline, err);
    r = hf__pg_wire_init(s);
    r = r == HF_OK ? hf__pg_place_connect(s, url, allow) : r;
    r = r == HF_OK ? hf__pg_ghost_end(s) : r;
    return r == HF_OK ? hf__pg_schema_ready(s, false) : r;
}

static void close_session(void *state)
{
    struct hf__pg *s = state;

    s->wire.is_dead |= hf__parked_is_owed(&s->parked);
    hf__pg_ghost_leave(s);
    hf__pg_wire_fini(s);
}

static void interrupt(void *state)
{
    struct hf__pg *s = state;

    hf__pg_wake(&s->wire);
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
