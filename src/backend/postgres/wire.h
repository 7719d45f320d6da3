/* SPDX-License-Identifier: MIT */
/*
 * The connection to the server: libpq's asynchronous calls, driven by poll(),
 * which an interrupt ends too. Statements go out as a packet of groups; the
 * server commits or undoes each group as a whole, and the replies come in
 * order:
 *
 *     hf__pg_ask(s, &release);           a statement, and its parameters
 *     hf__pg_put_bytes(s, key, length);
 *     hf__pg_end_group(s);               the next statement is another commit
 *     hf__pg_ask(s, &look); …
 *     r = hf__pg_send(s);
 *     r = hf__pg_next(s);                s->reply is that of `release`
 *     r = hf__pg_next(s);                … that of `look`
 *
 * A call that ends early ends the connection. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_WIRE_H
#define HF_BACKEND_POSTGRES_WIRE_H

#include "src/backend/table/text.h"

#include <libpq-fe.h>

struct hf__pg;

/* The longest name of a schema, and a NUL. */
#define HF__PG_NAME 64

/* A numbered statement is prepared at its first use in a session, except behind
 * a pooler. One without a number is never prepared. A parameter keeps the type
 * that it has at the first use: where one may be NULL, the text says its
 * type. */
struct hf__pg_statement {
    int number;       /* of enum hf__pg_number; 0: none */
    const char *text; /* a blank precedes each table: FROM holdfast_lock */
};

#define HF__PG_PARAMETERS 32
/* The most statements of one packet. */
#define HF__PG_STATEMENTS 64

/* An answer that is still to come: the reply of a statement; the end of a
 * group; that of the settings; from HF__PG_PENDING_PREPARED on, that the
 * statement of that number was prepared. */
enum {
    HF__PG_PENDING_REPLY,
    HF__PG_PENDING_SYNC,
    HF__PG_PENDING_SETTINGS,
    HF__PG_PENDING_PREPARED
};

struct hf__pg_wire {
    PGconn *handle;     /* NULL: not connected */
    int fd;             /* its socket, adopted by base/fork.h; −1: none yet */
    bool is_dead;       /* nothing can be sent any more */
    bool is_late;       /* … because no answer came in time */
    bool is_unanswered; /* … because the wait for standbys was cancelled: they
                           may lack what was committed */
    uint64_t prepared;
    unsigned epoch;           /* part of the names of prepared statements */
    const char *settings;     /* the statement of settings.c; NULL: none yet */
    char schema[HF__PG_NAME]; /* of the tables */
    bool is_set;              /* the session has the settings */
    bool is_masked; /* texts are sent as ASCII, for the database may lack other
                       letters */

    /* The packet under construction: */
    const struct hf__pg_statement *statement; /* NULL: none has begun */
    bool is_handed;                           /* libpq has the statement */
    struct hf__text text; /* of the statement; empty if it is prepared */
    struct hf__text values;
    int at[HF__PG_PARAMETERS + 1]; /* where each parameter begins in `values` */
    unsigned types[HF__PG_PARAMETERS];
    bool is_null[HF__PG_PARAMETERS];
    int n_values;
    bool is_in_group;
    int failed; /* HF_OK, or why the packet must not be sent */

    /* What was sent and not answered yet, in the order of the answers: */
    unsigned char pending[4 * HF__PG_STATEMENTS];
    int n_pending;
    int next_pending;
    /* Replies of the group that was answered last: */
    PGresult *got[HF__PG_STATEMENTS];
    int n_got;
    int next_got;
    PGresult *why; /* the error of its settings, or of preparing; it becomes the
                      next reply */
    bool is_whole; /* all of the group has come */
    bool has_set;  /* the group has set the settings */
    int n_silent;  /* how often libpq has said in a row that there is no more */
    char sqlstate[6]; /* why the group was undone; "": it was not */
};

/* What the server answered to one statement, once its group is committed or
 * undone. */
struct hf__pg_reply {
    PGresult *rows;   /* or NULL; the session frees it */
    int n_rows;       /* how many; 0 if the group was undone */
    bool is_refused;  /* it is this statement that the server refused */
    char sqlstate[6]; /* why its group was undone; "": it was not */
};

/* Call this once, before connecting. HF_OK, HF_EUNAVAIL (no descriptor),
 * HF_ENOMEM. */
HF_MUST_CHECK int hf__pg_wire_init(struct hf__pg *s);
void hf__pg_wire_fini(struct hf__pg *s);
/* Call this before a new attempt to connect, and at the end. */
void hf__pg_disconnect(struct hf__pg *s);

/* ---- asking */

/* Begin a packet. The one before must have been sent, and all its replies
 * taken. */
void hf__pg_begin_packet(struct hf__pg *s);
/* Begin the packet's next statement. */
void hf__pg_ask(struct hf__pg *s, const struct hf__pg_statement *statement);
/* Add the statement's next parameter: $1, $2, … */
void hf__pg_put_i64(struct hf__pg *s, int64_t value);
void hf__pg_put_bytes(struct hf__pg *s, const void *bytes, size_t length);
void hf__pg_put_key(struct hf__pg *s, const struct hf__key *key);
void hf__pg_put_token(struct hf__pg *s, const struct hf__token *token);
void hf__pg_put_text(struct hf__pg *s, const char *text);
void hf__pg_put_schema(struct hf__pg *s); /* the schema of the tables */
void hf__pg_put_null(struct hf__pg *s);
/* Begin a parameter that is an array of n values of that type; each of them
 * follows by hf__pg_item(), where bytes of NULL are an SQL NULL. */
#define HF__PG_BYTEA 17
#define HF__PG_INT8  20
#define HF__PG_TEXT  25
void hf__pg_put_array(struct hf__pg *s, unsigned type, int n);
void hf__pg_item(struct hf__pg *s, const void *bytes, size_t length);
void hf__pg_item_i64(struct hf__pg *s, int64_t value);
/* End the group: its statements are one commit. */
void hf__pg_end_group(struct hf__pg *s);

/* End the last group and send the packet. HF_OK; HF_ENOMEM: nothing was sent;
 * HF_EUNAVAIL: the connection is dead, and what was sent may be applied. */
HF_MUST_CHECK int hf__pg_send(struct hf__pg *s);
/* Wait for the next statement's reply, into s->reply; it comes once its group
 * is committed or undone. HF_OK, also if it is a refusal; HF_EUNAVAIL: the
 * connection is dead. */
HF_MUST_CHECK int hf__pg_next(struct hf__pg *s);
/* Take all replies that are left. s->reply is then the first refusal among
 * them, or else the last reply. */
HF_MUST_CHECK int hf__pg_skip(struct hf__pg *s);
/* Send a packet of one statement, and take its reply. If the server has
 * forgotten what was prepared, the statement is sent once more, with the
 * settings. */
HF_MUST_CHECK int hf__pg_run(struct hf__pg *s);
/* hf__pg_run(), but a refusal is a failure, and s->t.err says why. */
HF_MUST_CHECK int hf__pg_run_well(struct hf__pg *s);

/* Look, without waiting, whether the server has closed the connection, has
 * become a standby, or another was promoted. HF_OK, or HF_EUNAVAIL: nothing was
 * sent, so every result is known. */
HF_MUST_CHECK int hf__pg_look(struct hf__pg *s);
/* Call this after hf__pg_send(): it sleeps until hf__pg_next() need not wait.
 * *ret_has_reply is false at `until`, and when interrupted. */
HF_MUST_CHECK int hf__pg_await(struct hf__pg *s, hf__time until,
                               bool *ret_has_reply);

/* ---- rows of s->reply: all columns come in binary */

bool hf__pg_is_null(const struct hf__pg *s, int row, int column);
/* The value of an int8, int4, int2 or bool; 0 for NULL. */
int64_t hf__pg_i64(const struct hf__pg *s, int row, int column);
/* The bytes of a bytea or text, lent by s->reply. */
const char *hf__pg_bytes(const struct hf__pg *s, int row, int column,
                         size_t *ret_length);

#endif
