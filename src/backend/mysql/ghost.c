/* SPDX-License-Identifier: MIT */
/*
 * Each session holds one user lock with a random name as long as it lives: its
 * mark. By it the next session finds the one that died, on the same server
 * only and never a stranger's, ends it by KILL and waits until it has ended:
 * then what it had not done yet is never done. Where there is no mark, or the
 * server is another one, time must do: a statement waits for locks for a
 * second at most. Called by the session's thread.
 */
#include "src/backend/mysql/ghost.h"

#include "src/backend/mysql/galera.h"
#include "src/base/error.h"

#include <stdlib.h>

/* As long as a packet that was sent can take on the server: some statements
 * that each wait for a lock. */
#define HAUNTS_MS 5000
/* A session that was killed ends at once, or when its disk lets it. */
#define ENDS_MS 1000

/* *ret_id: the connection that has the mark; 0: none has. */
static int find(struct hf__mysql *s, uint64_t mark, uint64_t *ret_id)
{
    MYSQL_ROW row;
    int r;

    *ret_id = 0;
    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql, "SELECT IS_USED_LOCK('hp.%016llxb')",
                  (unsigned long long)mark);
    r = hf__wire_run(s);
    if (r != HF_OK || s->reply.error != 0) {
        return r == HF_OK ? hf__mysql_dead(s) : r;
    }
    row = hf__wire_row(s);
    if (row != NULL && row[0] != NULL) {
        *ret_id = strtoull(row[0], NULL, 10);
    }
    return HF_OK;
}

/* That it is gone already, or that we may not, the next look shows. */
static int end_connection(struct hf__mysql *s, uint64_t id)
{
    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql, "KILL %llu", (unsigned long long)id);
    return hf__wire_run(s);
}

static int end_marked(struct hf__mysql *s, uint64_t mark, bool *ret_is_gone)
{
    hf__time until = hf__after_ms(hf__now(), ENDS_MS);
    uint64_t id;
    int r = find(s, mark, &id);

    if (r == HF_OK && id != 0) {
        r = end_connection(s, id);
    }
    while (r == HF_OK && id != 0 && hf__before(hf__now(), until)) {
        r = find(s, mark, &id);
        if (r == HF_OK && id != 0) {
            hf__wire_sleep(s, hf__after_ms(hf__now(), 2));
        }
    }
    *ret_is_gone = r == HF_OK && id == 0;
    return r;
}

int hf__ghost_end(struct hf__mysql *s)
{
    struct hf__remains *old = &s->head.remains;
    bool is_gone = false;
    int r = HF_OK;

    if (old->mark != 0 && old->place == s->server.place) {
        r = end_marked(s, old->mark, &is_gone);
    }
    if (r != HF_OK) {
        return r;
    }
    if (!is_gone) {
        s->haunted_until = old->until;
    }
    s->is_alone = true;
    return HF_OK;
}

static int64_t haunts_ms(const struct hf__mysql *s)
{
    return s->server.is_galera ? HF__GALERA_HAUNTS_MS : HAUNTS_MS;
}

void hf__ghost_leave(struct hf__mysql *s)
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
                               hf__after_ms(hf__now(), haunts_ms(s)))};
    }
}

void hf__ghost_doubt(const struct hf__mysql *s, struct hf__op *const ops[],
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
