/* SPDX-License-Identifier: MIT */
/*
 * Wake locks: advisory locks of the server that wake waiters. A holder's
 * session has the wake lock of its token from before anybody can see the grant
 * until after it is given back; a session that waits for that grant asks for
 * the same lock. Wake locks are hints and never the lock itself. Called by the
 * session's thread.
 */
#include "src/backend/postgres/fast_path.h"

#include <string.h>

static const struct hf__pg_statement silence = {
    HF__PG_UNLOCK, "SELECT pg_advisory_unlock(k) FROM unnest($1::bigint[]) k"};
static const struct hf__pg_statement silence_all = {
    HF__PG_UNPREPARED, "SELECT pg_advisory_unlock_all()"};

/* Half of the token identifies it, and the other half stays secret. */
int64_t hf__pg_wake_lock_of(const struct hf__token *token)
{
    uint64_t half = 0;

    for (size_t i = 0; i < sizeof token->bytes / 2; i++) {
        half = half << 8 | token->bytes[i];
    }
    return (int64_t)half;
}

/* Gives the index of that wake lock; −1: it is not there. */
static int find_wake_lock(const struct hf__pg *s, uint64_t wake_lock)
{
    int at = HF__PG_WAKE_LOCKS - 1;

    while (at >= 0 && s->wake_locks[at] != wake_lock) {
        at--;
    }
    return at;
}

bool hf__pg_wake_lock_is_had(const struct hf__pg *s,
                             const struct hf__token *token)
{
    return find_wake_lock(s, (uint64_t)hf__pg_wake_lock_of(token)) >= 0;
}

int64_t hf__pg_wake_lock_take(struct hf__pg *s, const struct hf__token *token)
{
    uint64_t wake_lock = (uint64_t)hf__pg_wake_lock_of(token);
    int index = find_wake_lock(s, 0);

    if (!s->t.has_wake_locks || index < 0 ||
        hf__pg_wake_lock_is_had(s, token)) {
        return 0;
    }
    s->wake_locks[index] = wake_lock;
    return (int64_t)wake_lock;
}

bool hf__pg_wake_lock_forget(struct hf__pg *s, const struct hf__token *token)
{
    int index = find_wake_lock(s, (uint64_t)hf__pg_wake_lock_of(token));

    if (index >= 0) {
        s->wake_locks[index] = 0;
    }
    return index >= 0;
}

/* ---- letting go */

void hf__pg_fast_ask_unlock(struct hf__pg *s, const int64_t wake_locks[], int n)
{
    hf__pg_ask(s, &silence);
    hf__pg_put_array(s, HF__PG_INT8, n);
    for (int i = 0; i < n; i++) {
        hf__pg_item_i64(s, wake_locks[i]);
    }
    hf__pg_end_group(s);
}

int hf__pg_fast_forget_wake_locks(struct hf__pg *s,
                                  const struct hf__pg_unit *units, int n,
                                  int64_t ret_wake_locks[HF__PG_WAKE_LOCKS])
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        bool gives_back = units[i].form >= HF__PG_FAST_RELEASE &&
                          units[i].form <= HF__PG_FAST_HANDOVER;

        for (int k = 0; k < units[i].n && gives_back; k++) {
            const struct hf__token *token = &units[i].ops[k]->token;

            if (hf__pg_wake_lock_forget(s, token)) {
                ret_wake_locks[count++] = hf__pg_wake_lock_of(token);
            }
        }
    }
    return count;
}

/* Send the packet; a refusal does not matter. */
static void run(struct hf__pg *s)
{
    int r = hf__pg_run(s);

    if (r != HF_OK && r != HF_ENOMEM) {
        s->t.lost = r;
    }
}

void hf__pg_fast_unlock(struct hf__pg *s, const struct hf__token *token)
{
    int64_t wake_lock = hf__pg_wake_lock_of(token);

    if (hf__pg_wake_lock_forget(s, token)) {
        hf__pg_begin_packet(s);
        hf__pg_fast_ask_unlock(s, &wake_lock, 1);
        run(s);
    }
}

void hf__pg_fast_unlock_all(struct hf__pg *s)
{
    memset(s->wake_locks, 0, sizeof s->wake_locks);
    hf__pg_begin_packet(s);
    hf__pg_ask(s, &silence_all);
    run(s);
}
