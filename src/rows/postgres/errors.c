/* SPDX-License-Identifier: MIT */
/*
 * SQLSTATEs: which status each is, and what of the server's words may be
 * repeated. Those of class 22 repeat a value, which may be anybody's secret, so
 * they are left out; of all others values are in the details, which are never
 * told.
 */
#include "src/base/error.h"
#include "src/rows/postgres/ask.h"

#include <stddef.h>
#include <string.h>

struct meaning {
    const char *state; /* or how it begins */
    int status;
    const char *words; /* NULL: the server's */
};

/* The first that fits. */
static const struct meaning meanings[] = {
    {"55P03", HF_BUSY, "somebody else has the row, or the table, locked"},
    {"40P01", HF_DEADLOCK,
     "a deadlock: roll the transaction back and begin it again"},
    {"40001", HF_DEADLOCK,
     "others changed what the transaction has seen or locks: roll it back and "
     "begin it again"},
    {"57014", HF_EUNAVAIL, "the statement was ended from outside"},
    {"25006", HF_ROW_EREFUSED, NULL},
    {"42501", HF_EAUTH, NULL},
    {"28", HF_EAUTH, NULL},
    {"3F", HF_EINVAL, NULL},
    {"42", HF_EINVAL, NULL},
    {"22", HF_ROW_EREFUSED, "the server refuses a value"},
    {"08", HF_EUNAVAIL, NULL},
    {"53", HF_EUNAVAIL, NULL},
    {"57", HF_EUNAVAIL, NULL},
    {"58", HF_EUNAVAIL, NULL},
    {"", HF_ROW_EREFUSED, NULL},
};

static const struct meaning *meaning_of(const char *state)
{
    const struct meaning *m = meanings;

    while (strncmp(state, m->state, strlen(m->state)) != 0) {
        m++;
    }
    return m;
}

static void set_state(hf_error *err, const char *state)
{
    if (err->size > offsetof(hf_error, sqlstate) + 5) {
        memcpy(err->sqlstate, state, 5);
        err->sqlstate[5] = '\0';
    }
}

/* A standby writes nothing for anybody; its server has told us so. */
static bool is_standby(PGconn *db)
{
    const char *is_one = PQparameterStatus(db, "in_hot_standby");

    return is_one != NULL && strcmp(is_one, "on") == 0;
}

/* No word of the server's: the client library has one, on several lines. */
static int fail_without(struct hf__pg *s)
{
    const char *words = PQerrorMessage(s->db);

    return hf__fail(s->call.err, s->is_lost ? HF_EUNAVAIL : HF_EINVAL,
                    "table %s: no answer: %.*s", s->call.row.table,
                    (int)strcspn(words, "\n"), words);
}

int hf__rows_pg_fail(struct hf__pg *s, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct meaning *m;
    int status;

    if (state == NULL || strlen(state) != 5) {
        return fail_without(s);
    }
    m = meaning_of(state);
    status = s->is_lost ? HF_EUNAVAIL : m->status;
    if (strcmp(state, "25006") == 0 && is_standby(s->db)) {
        status = HF_EUNAVAIL;
    }
    (void)hf__fail(s->call.err, status, "table %s: %s%s", s->call.row.table,
                   m->words != NULL ? m->words : "the server says: ",
                   m->words != NULL ? ""
                   : words != NULL  ? words
                                    : state);
    set_state(s->call.err, state);
    return status;
}
