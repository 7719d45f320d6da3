/* SPDX-License-Identifier: MIT */
/*
 * One table of the server's error numbers: the error class, the status, and
 * what helps. A number that is not in it is taken for the statement's own fault
 * and reported in the server's words. Thread: any.
 */
#include "src/backend/mysql/errors.h"

#include "src/backend/mysql/mysql.h"
#include "src/base/error.h"

#include <stdlib.h>
#include <string.h>

struct meaning {
    unsigned error;
    enum hf__error_class class;
    int status;
    const char *remedy; /* NULL: the server's words suffice */
};

static const struct meaning meanings[] = {
    /* The statement was undone as a whole, or not begun. */
    {1205, HF__ERROR_AGAIN, HF_EUNAVAIL,
     "somebody keeps this lock's row, or the table, locked"},
    {1213, HF__ERROR_AGAIN, HF_EUNAVAIL, NULL},
    {1020, HF__ERROR_AGAIN, HF_EUNAVAIL, NULL},
    {3572, HF__ERROR_AGAIN, HF_EUNAVAIL, NULL},
    /* Login and privileges. */
    {1044, HF__ERROR_SERVER, HF_EAUTH, "grant this user the database"},
    {1045, HF__ERROR_SERVER, HF_EAUTH, "check user and password"},
    {1130, HF__ERROR_SERVER, HF_EAUTH, NULL},
    {1142, HF__ERROR_SERVER, HF_EAUTH,
     "grant SELECT, INSERT, UPDATE, DELETE on the holdfast_ tables"},
    {1143, HF__ERROR_SERVER, HF_EAUTH, NULL},
    {1227, HF__ERROR_SERVER, HF_EAUTH, NULL},
    {1396, HF__ERROR_SERVER, HF_EAUTH, NULL},
    {1698, HF__ERROR_SERVER, HF_EAUTH, "check user and password"},
    {1862, HF__ERROR_SERVER, HF_EAUTH, "its password has expired"},
    {3159, HF__ERROR_SERVER, HF_EAUTH, "the server wants TLS: tls=require"},
    {4031, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {1049, HF__ERROR_SERVER, HF_EINVAL, "create it: CREATE DATABASE"},
    /* The tables. */
    {1146, HF__ERROR_UNKNOWN, HF_EUNAVAIL,
     "the table was dropped; the next session creates it"},
    {1054, HF__ERROR_SERVER, HF_EPROTO,
     "the table is not Holdfast's: \"holdfast check --ddl\" prints it"},
    {1264, HF__ERROR_BATCH, HF_EPROTO, "the lock's row is damaged"},
    {1690, HF__ERROR_BATCH, HF_EPROTO, "the lock's row is damaged"},
    /* The server is full; nothing was applied. */
    {1021, HF__ERROR_SERVER, HF_EUNAVAIL, "the server's disk is full"},
    {1114, HF__ERROR_SERVER, HF_EUNAVAIL, "the server's disk is full"},
    {1040, HF__ERROR_SERVER, HF_EUNAVAIL, "raise max_connections"},
    {1203, HF__ERROR_SERVER, HF_EUNAVAIL, "raise max_user_connections"},
    {1226, HF__ERROR_SERVER, HF_EUNAVAIL, "raise this user's limits"},
    {1037, HF__ERROR_SERVER, HF_EUNAVAIL, "the server is out of memory"},
    {1041, HF__ERROR_SERVER, HF_EUNAVAIL, "the server is out of memory"},
    {1129, HF__ERROR_SERVER, HF_EUNAVAIL, "FLUSH HOSTS lets it in again"},
    {1135, HF__ERROR_SERVER, HF_EUNAVAIL, "the server is out of threads"},
    /* The server is not the primary any more: the next session looks for it. */
    {1290, HF__ERROR_UNKNOWN, HF_EUNAVAIL, "the server is read-only"},
    {1836, HF__ERROR_UNKNOWN, HF_EUNAVAIL, "the server is read-only"},
    {1792, HF__ERROR_UNKNOWN, HF_EUNAVAIL, "the server is read-only"},
    {1047, HF__ERROR_UNKNOWN, HF_EUNAVAIL,
     "this node has lost its cluster's majority"},
    /* The guard of our packets raised this, see view.c. */
    {1242, HF__ERROR_UNKNOWN, HF_EUNAVAIL,
     "this server is not the primary any more"},
    {1180, HF__ERROR_UNKNOWN, HF_EUNKNOWN, NULL},
    /* The statement or the connection was ended from outside. */
    {1030, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {1053, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {1152, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {1153, HF__ERROR_UNKNOWN, HF_EUNAVAIL, "raise max_allowed_packet"},
    {1158, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {1159, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {1317, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {1927, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {1969, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
    {3024, HF__ERROR_UNKNOWN, HF_EUNAVAIL, NULL},
};

static const struct meaning *meaning_of(unsigned error)
{
    static const struct meaning unknown = {0, HF__ERROR_BATCH, HF_EPROTO, NULL};
    static const struct meaning wire = {0, HF__ERROR_UNKNOWN, HF_EUNAVAIL,
                                        NULL};

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].error == error) {
            return &meanings[i];
        }
    }
    return error >= 2000 && error < 3000 ? &wire : &unknown;
}

enum hf__error_class hf__mysql_error_class(unsigned error)
{
    return meaning_of(error)->class;
}

/* If a server refuses before TLS has begun, libmariadb wraps the message in its
 * own, with its own number: "… cannot be verified: 1040 - Too many …". */
static unsigned number_of(MYSQL *h)
{
    static const char wrapper[] = "cannot be verified: ";
    const char *inner = strstr(mysql_error(h), wrapper);
    unsigned long number =
        inner == NULL ? 0 : strtoul(inner + sizeof wrapper - 1, NULL, 10);

    return number >= 1000 && number < 2000 ? (unsigned)number : mysql_errno(h);
}

void hf__mysql_words(const struct hf__mysql *s, char *to, size_t size)
{
    const char *text = mysql_error(s->wire.handle);

    hf__token_hide(text, strlen(text), to, size);
}

int hf__mysql_fail(const struct hf__mysql *s, hf_error *err)
{
    MYSQL *h = s->wire.handle;
    unsigned error = h == NULL ? 0 : number_of(h);
    const struct meaning *m = meaning_of(error);
    char quoted[MYSQL_ERRMSG_SIZE];
    int r;

    if (s->wire.is_suspended || error == 0) {
        return hf__fail(err, HF_EUNAVAIL, "the server did not answer in time");
    }
    hf__mysql_words(s, quoted, sizeof quoted);
    r = m->remedy == NULL
            ? hf__fail_native(err, m->status, (int)error, "the server says: %s",
                              quoted)
            : hf__fail_native(err, m->status, (int)error,
                              "the server says: %s (%s)", quoted, m->remedy);
    if (err != NULL && err->size > offsetof(hf_error, sqlstate) + 5) {
        memcpy(err->sqlstate, mysql_sqlstate(h), 5);
        err->sqlstate[5] = '\0';
    }
    return r;
}

int hf__mysql_refusal(const struct hf__mysql *s, hf_error *err)
{
    int r = hf__mysql_fail(s, err);

    if (r == HF_EINVAL) {
        r = HF_EUNAVAIL; /* the database was dropped after we connected */
        if (err != NULL) {
            err->status = r;
        }
    }
    return r;
}

bool hf__mysql_is_worth_another(const struct hf__mysql *s)
{
    return hf__between_ns(s->sent_at, hf__now()) <
           HF__LOCK_WAIT_S * 900 * HF__MS;
}

int hf__mysql_dead(struct hf__mysql *s)
{
    (void)hf__mysql_fail(s, s->t.err);
    return HF_EUNAVAIL;
}
