/* SPDX-License-Identifier: MIT */
/*
 * listen(): hears of breaks. The server notifies all sessions of the database
 * that listen; tokens that were broken before are read once. The tag is no
 * secret, and is only a hint: the holder that it names asks the server. Called
 * by the session's thread.
 */
#include "src/backend/postgres/errors.h"
#include "src/backend/postgres/target.h"
#include "src/backend/table/name.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define CHANNEL "holdfast"

static const struct hf__pg_statement begin = {HF__PG_UNPREPARED,
                                              "LISTEN " CHANNEL};
/* A broken token stays until its name is granted again, or its holder has
 * learnt of it. */
static const struct hf__pg_statement read_broken = {
    HF__PG_UNPREPARED,
    "SELECT broken_token FROM holdfast_lock WHERE broken_token<>'' "
    "UNION ALL SELECT token FROM holdfast_beside WHERE ended<>0"};

struct listener {
    hf__broken_fn fn;
    void *arg;
    bool has_heard;
};

static void tell(struct listener *listener, uint64_t tag)
{
    listener->fn(listener->arg, tag);
    listener->has_heard = true;
}

/* Listen first, and only then read what was broken before, so that none in
 * between is missed. A token that makes no sense is skipped: it is only a
 * hint. */
static int start(struct hf__pg *s, struct listener *listener)
{
    int r;

    hf__pg_begin_packet(s);
    hf__pg_ask(s, &begin);
    hf__pg_end_group(s);
    hf__pg_ask(s, &read_broken);
    r = hf__pg_send(s);
    r = r == HF_OK ? hf__pg_next(s) : r;
    if (r == HF_OK && s->reply.sqlstate[0] != '\0') {
        return hf__pg_refusal(s, s->t.err);
    }
    r = r == HF_OK ? hf__pg_next(s) : r;
    for (int i = 0; r == HF_OK && i < s->reply.n_rows; i++) {
        struct hf__token token;
        size_t length;
        const char *cell = hf__pg_bytes(s, i, 0, &length);

        if (hf__column_token(cell, length, &token)) {
            tell(listener, hf__token_tag(&token));
        }
    }
    s->is_listening = r == HF_OK;
    return r;
}

/* Pass on the notifications that have come. */
static void hear(struct hf__pg *s, struct listener *listener)
{
    PGnotify *n;

    while ((n = PQnotifies(s->wire.handle)) != NULL) {
        if (strcmp(n->relname, CHANNEL) == 0) {
            tell(listener, strtoull(n->extra, NULL, 16));
        }
        PQfreemem(n);
    }
}

int hf__pg_listen(void *state, hf__broken_fn fn, void *arg, hf__time deadline,
                  hf_error *err)
{
    struct hf__pg *s = state;
    struct listener listener = {.fn = fn, .arg = arg};
    int r;

    hf__table_begin(&s->t, deadline, err);
    if (s->server.is_pooled) {
        hf__table_rest(&s->t, deadline); /* others would be notified */
        return HF_OK;
    }
    r = hf__pg_target_check(s);
    if (r == HF_OK && !s->is_listening) {
        r = start(s, &listener);
    }
    if (r == HF_OK) {
        hear(s, &listener);
    }
    while (r == HF_OK && !listener.has_heard) {
        if (hf__table_sleep(&s->t, s->wire.fd, POLLIN, deadline) == 0) {
            return HF_OK;
        }
        r = hf__pg_look(s);
        hear(s, &listener);
    }
    return r;
}
