/* SPDX-License-Identifier: MIT */
/*
 * A table of SQLSTATEs, or of the two letters that begin a class of them: whose
 * fault each is, its status, and what helps. A state that is not in the table
 * is the statement's own fault, told in the server's words. Thread: any.
 */
#include "src/backend/postgres/errors.h"

#include "src/base/error.h"

#include <string.h>

struct meaning {
    const char *state;
    enum hf__pg_error_class class;
    int status;
    const char *remedy; /* NULL: the server's message is enough */
};

/* The first entry that fits counts. */
static const struct meaning meanings[] = {
    /* The group was undone; it may succeed soon. */
    {"40001", HF__PG_AGAIN, HF_EUNAVAIL, NULL},
    {"40P01", HF__PG_AGAIN, HF_EUNAVAIL, NULL},
    {"55P03", HF__PG_AGAIN, HF_EUNAVAIL,
     "somebody keeps this lock's row, or the table, locked"},
    {"57014", HF__PG_AGAIN, HF_EUNAVAIL, NULL},
    {"53100", HF__PG_AGAIN, HF_EUNAVAIL, "the server's disk is full"},
    {"53200", HF__PG_AGAIN, HF_EUNAVAIL,
     "raise max_locks_per_transaction, or its memory"},
    /* A prepared statement is unknown, exists already, or its table has
     * changed. */
    {"26000", HF__PG_UNKNOWN_PREPARED, HF_EUNAVAIL, NULL},
    {"42P05", HF__PG_UNKNOWN_PREPARED, HF_EUNAVAIL, NULL},
    {"0A000", HF__PG_UNKNOWN_PREPARED, HF_EUNAVAIL, NULL},
    /* User and rights. */
    {"28P01", HF__PG_SERVER, HF_EAUTH, "check user and password"},
    {"28", HF__PG_SERVER, HF_EAUTH, "see the server's pg_hba.conf"},
    {"42501", HF__PG_SERVER, HF_EAUTH,
     "grant USAGE on the schema, and SELECT, INSERT, UPDATE, DELETE on the "
     "holdfast_ tables"},
    {"3D000", HF__PG_SERVER, HF_EINVAL, "create it: CREATE DATABASE"},
    {"3F000", HF__PG_SERVER, HF_EINVAL, "create it: CREATE SCHEMA"},
    /* The tables. */
    {"42P01", HF__PG_SESSION, HF_EUNAVAIL,
     "the table was dropped; the next session creates it"},
    {"42703", HF__PG_SERVER, HF_EPROTO,
     "the table is not Holdfast's: \"holdfast check --ddl\" prints it"},
    {"42", HF__PG_SERVER, HF_EPROTO, NULL},
    {"XX001", HF__PG_SERVER, HF_EPROTO, NULL},
    {"XX002", HF__PG_SERVER, HF_EPROTO, NULL},
    {"53300", HF__PG_SERVER, HF_EUNAVAIL, "raise max_connections"},
    {"53", HF__PG_SERVER, HF_EUNAVAIL, NULL},
    /* The server is not the primary, or no longer: the next session looks for
     * it. */
    {"25006", HF__PG_SESSION, HF_EUNAVAIL, "the server is read-only"},
    {"25", HF__PG_SESSION, HF_EUNAVAIL, NULL},
    /* The connection or the statement was ended from outside. */
    {"08", HF__PG_SESSION, HF_EUNAVAIL, NULL},
    {"40", HF__PG_SESSION, HF_EUNAVAIL, NULL},
    {"57", HF__PG_SESSION, HF_EUNAVAIL, NULL},
    {"58", HF__PG_SESSION, HF_EUNAVAIL, NULL},
    {"XX", HF__PG_SESSION, HF_EUNAVAIL, NULL},
    /* Anything else. */
    {"", HF__PG_STATEMENT, HF_EPROTO, NULL},
};

/* No SQLSTATE means that the connection has failed. */
static const struct meaning *meaning_of(const char *state)
{
    const struct meaning *m = meanings;

    state = state[0] == '\0' ? "08" : state;
    while (strncmp(m->state, state, strlen(m->state)) != 0) {
        m++;
    }
    return m;
}

enum hf__pg_error_class hf__pg_error_class_of(const char *sqlstate)
{
    return meaning_of(sqlstate)->class;
}

enum hf__pg_error_class hf__pg_error_class(const struct hf__pg *s)
{
    return hf__pg_error_class_of(s->reply.sqlstate);
}

/* Take the message of the reply, or, if there is none, the first line of
 * libpq's. */
void hf__pg_words(const struct hf__pg *s, char *to, size_t size)
{
    const char *text =
        PQresultErrorField(s->reply.rows, PG_DIAG_MESSAGE_PRIMARY);

    text = text == NULL ? PQerrorMessage(s->wire.handle) : text;
    hf__token_hide(text, strcspn(text, "\n"), to, size);
}

int hf__pg_refusal(const struct hf__pg *s, hf_error *err)
{
    const struct meaning *m = meaning_of(s->reply.sqlstate);
    char words[400];
    int r;

    hf__pg_words(s, words, sizeof words);
    r = m->remedy == NULL
            ? hf__fail(err, m->status, "the server says: %s", words)
            : hf__fail(err, m->status, "the server says: %s (%s)", words,
                       m->remedy);
    if (err != NULL && err->size > offsetof(hf_error, sqlstate) + 5) {
        memcpy(err->sqlstate, s->reply.sqlstate, sizeof s->reply.sqlstate);
    }
    return r;
}

int hf__pg_dead(struct hf__pg *s, hf_error *err)
{
    char words[400];

    if (s->wire.is_unanswered) {
        return hf__fail(err, HF_EUNAVAIL,
                        "the wait for a standby was cancelled: what was "
                        "committed may not be there");
    }
    if (s->wire.is_late || s->wire.handle == NULL) {
        return hf__fail(err, HF_EUNAVAIL, "the server did not answer in time");
    }
    hf__pg_words(s, words, sizeof words);
    return hf__fail(err, HF_EUNAVAIL, "the connection ended: %s",
                    words[0] == '\0' ? "the server has closed it" : words);
}
