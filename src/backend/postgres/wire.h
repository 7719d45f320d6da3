/* SPDX-License-Identifier: MIT */
/*
 * The connection to the server: libpq's asynchronous calls, driven by poll(),
 * which an interrupt ends too. Statements go out as a packet of groups, each of
 * which the server does or undoes as one, and their replies come one after
 * another:
 *
 *     hf__pg_ask(s, &release);           a statement, and its parameters
 *     hf__pg_put_bytes(s, key, length);
 *     hf__pg_end_group(s);               what is asked next is another commit
 *     hf__pg_ask(s, &look); …
 *     r = hf__pg_send(s);
 *     r = hf__pg_next(s);                s->reply is that of `release`
 *     r = hf__pg_next(s);                … that of `look`
 *
 * Whatever ends a call early ends the connection. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_WIRE_H
#define HF_BACKEND_POSTGRES_WIRE_H

#include "src/backend/table/text.h"

#include <libpq-fe.h>

struct hf__pg;

/* Longest name of a schema, and a NUL. */
#define HF__PG_NAME 64

/* Prepared at its first use in a session, but behind a pooler; those without a
 * number are asked once. What a parameter is said to be at the first use it is
 * at all of them: where one may be NULL, the text says its type. */
struct hf__pg_statement {
    int number;       /* of enum hf__pg_number; 0: none */
    const char *text; /* its tables follow a blank: FROM holdfast_lock */
};

#define HF__PG_PARAMETERS 32
/* Statements of one packet at most. */
#define HF__PG_STATEMENTS 64

/* What is owed: a reply; what closes a group; the settings; from the last on,
 * that the statement of that number was prepared. */
enum {
    HF__PG_PENDING_REPLY,
    HF__PG_PENDING_SYNC,
    HF__PG_PENDING_SETTINGS,
    HF__PG_PENDING_PREPARED
};

struct hf__pg_wire {
    PGconn *handle;     /* NULL: not connected */
    int fd;             /* its socket, registered; −1: none yet */
    bool is_dead;       /* nothing can be asked any more */
    bool is_late;       /* … because no answer came in time */
    bool is_unanswered; /* … because what was committed may not be on the
                         standbys that were to have it */
    uint64_t prepared;
    unsigned epoch;           /* of names of what is prepared */
    const char *settings;     /* settings.c's statement; NULL: none yet */
    char schema[HF__PG_NAME]; /* of the tables */
    bool is_set;              /* the session has the settings */
    bool is_masked;           /* labels are ASCII: the database has no more */

    /* The packet under construction: */
    const struct hf__pg_statement *statement; /* NULL: none is begun */
    bool is_handed;                           /* to the library */
    struct hf__text text; /* the statement's; empty where it is prepared */
    struct hf__text values;
    int at[HF__PG_PARAMETERS + 1]; /* where each begins in them */
    unsigned types[HF__PG_PARAMETERS];
    bool is_null[HF__PG_PARAMETERS];
    int n_values;
    bool is_in_group;
    int failed; /* HF_OK; HF_ENOMEM or HF_EUNAVAIL: it is not to be sent */

    /* Sent, and not answered yet, in the order in which the answers come: */
    unsigned char pending[4 * HF__PG_STATEMENTS];
    int n_pending;
    int next_pending;
    /* Of the group that was answered last: */
    PGresult *got[HF__PG_STATEMENTS];
    int n_got;
    int next_got;
    PGresult *why;    /* what it sent besides statements was refused so */
    bool is_whole;    /* the group has come to its end */
    bool has_set;     /* it had the settings before it */
    int n_silent;     /* how often the library has said that there is no more */
    char sqlstate[6]; /* why it was undone; "": it was not */
};

/* What the server said of one statement, once its group is committed. */
struct hf__pg_reply {
    PGresult *rows;   /* or NULL; the session frees it */
    int n_rows;       /* that it gave */
    bool is_refused;  /* by the server, and its group was undone */
    char sqlstate[6]; /* why its group was undone; "": it was not */
};

/* Once, before connecting. HF_OK, HF_EUNAVAIL (no descriptor), HF_ENOMEM. */
HF_MUST_CHECK int hf__pg_wire_init(struct hf__pg *s);
void hf__pg_wire_fini(struct hf__pg *s);
/* Before a new attempt to connect, and at the end. */
void hf__pg_disconnect(struct hf__pg *s);

/* ---- asking */

/* Begin a packet, once the one before was sent and all its replies taken. */
void hf__pg_begin_packet(struct hf__pg *s);
/* The next statement of it. */
void hf__pg_ask(struct hf__pg *s, const struct hf__pg_statement *statement);
/* Its next parameter: $1, $2, … */
void hf__pg_put_i64(struct hf__pg *s, int64_t value);
void hf__pg_put_bytes(struct hf__pg *s, const void *bytes, size_t length);
void hf__pg_put_key(struct hf__pg *s, const struct hf__key *key);
void hf__pg_put_token(struct hf__pg *s, const struct hf__token *token);
void hf__pg_put_text(struct hf__pg *s, const char *text);
void hf__pg_put_schema(struct hf__pg *s); /* the name of the tables' */
void hf__pg_put_null(struct hf__pg *s);
/* One that is an array of n values of that type, each of which follows by
 * hf__pg_item(); bytes of NULL are NULL. */
#define HF__PG_BYTEA 17
#define HF__PG_INT8  20
#define HF__PG_TEXT  25
void hf__pg_put_array(struct hf__pg *s, unsigned type, int n);
void hf__pg_item(struct hf__pg *s, const void *bytes, size_t length);
void hf__pg_item_i64(struct hf__pg *s, int64_t value);
/* The end of what is one commit. */
void hf__pg_end_group(struct hf__pg *s);

/* Send it, its last group ended. HF_OK; HF_ENOMEM, nothing was sent;
 * HF_EUNAVAIL, the connection is dead, and what was sent may be applied. */
HF_MUST_CHECK int hf__pg_send(struct hf__pg *s);
/* The next statement's reply, into s->reply, as soon as its group is committed
 * or undone. HF_OK, also where it is a refusal; HF_EUNAVAIL: the connection is
 * dead. */
HF_MUST_CHECK int hf__pg_next(struct hf__pg *s);
/* All that are left, unseen; the first refusal among them stays. */
HF_MUST_CHECK int hf__pg_skip(struct hf__pg *s);
/* Send a packet of one statement, and take its reply. A session that has lost
 * what was prepared, and its settings, is given them again. */
HF_MUST_CHECK int hf__pg_run(struct hf__pg *s);
/* The same, where a refusal is a failure, s->t.err told. */
HF_MUST_CHECK int hf__pg_run_well(struct hf__pg *s);

/* Has the server closed it meanwhile, or been replaced? HF_OK, or HF_EUNAVAIL:
 * nothing was sent, so that nothing is unknown. */
HF_MUST_CHECK int hf__pg_look(struct hf__pg *s);
/* After hf__pg_send(): until hf__pg_next() has not to wait any more.
 * *ret_has_reply is false at `until`, and when interrupted. */
HF_MUST_CHECK int hf__pg_await(struct hf__pg *s, hf__time until,
                               bool *ret_has_reply);

/* ---- rows of s->reply: all columns come in binary */

bool hf__pg_is_null(const struct hf__pg *s, int row, int column);
/* int8, int4, int2 and bool; 0 for NULL. */
int64_t hf__pg_i64(const struct hf__pg *s, int row, int column);
/* bytea and text; lent. */
const char *hf__pg_bytes(const struct hf__pg *s, int row, int column,
                         size_t *ret_length);

#endif
