/* SPDX-License-Identifier: MIT */
/*
 * Each session has a mark of its own, a random number, in its name as the
 * server lists it. By it the next session finds the one that died, on the same
 * server only and never another user's, ends it and waits until it has ended:
 * then what it had not done yet is never done. Where there is no mark, or the
 * server is another one, time must do. Called by the session's thread.
 */
#include "src/backend/postgres/errors.h"
#include "src/backend/postgres/place.h"
#include "src/base/error.h"

/* As long as a statement takes at most, and a second. */
#define HAUNTS_MS 6000
/* A session that was ended goes at once, or when its disk lets it. */
#define ENDS_MS 1000

/* A row for each that is still there. Its user is who logged in: what it does
 * may be done by another role (ALTER ROLE ... SET role). */
static const struct hf__pg_statement terminate = {
    0, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
       "WHERE application_name='holdfast.'||lpad(to_hex($1),16,'0') "
       "AND usename=session_user "
       "AND pid<>pg_backend_pid()"};

static int end_marked(struct hf__pg *s, uint64_t mark, bool *ret_is_gone)
{
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
            hf__pg_sleep(s, hf__after_ms(hf__now(), 2));
        }
    } while (is_there && hf__before(hf__now(), until));
    *ret_is_gone = r == HF_OK && !is_there && s->reply.sqlstate[0] == '\0';
    return r;
}

int hf__pg_ghost_end(struct hf__pg *s)
{
    struct hf__remains *old = &s->head.remains;
    bool is_gone = false;

    if (old->mark != 0 && old->place == s->server.place) {
        int r = end_marked(s, old->mark, &is_gone);

        if (r != HF_OK) {
            return r;
        }
    }
    if (!is_gone) {
        s->haunted_until = old->until;
    }
    s->is_alone = true;
    return HF_OK;
}

void hf__pg_ghost_leave(struct hf__pg *s)
{
    if (!s->is_alone) {
        return; /* the one before may still be there, and nobody else */
    }
    s->head.remains = (struct hf__remains){.until = s->haunted_until};
    if (s->wire.is_dead) {
        s->head.remains = (struct hf__remains){
            .mark = s->server.mark,
            .place = s->server.place,
            .until = hf__later(s->haunted_until,
                               hf__after_ms(hf__now(), HAUNTS_MS))};
    }
}

void hf__pg_ghost_doubt(const struct hf__pg *s, struct hf__op *const ops[],
                        int n)
{
    if (s->haunted_until.ns == 0 || !hf__before(hf__now(), s->haunted_until)) {
        return;
    }
    for (int i = 0; i < n; i++) {
        if (ops[i]->kind == HF__OP_RELEASE && ops[i]->result == HF_LOST) {
            ops[i]->result = hf__fail(
                ops[i]->err, HF_EUNAVAIL,
                "a statement of a connection that was lost may still be "
                "under way on the server");
        }
    }
}
