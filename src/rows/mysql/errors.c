/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the server's errors: which status each is, and what of the
 * server's words may be repeated. Some of them repeat a value of a row, which
 * may be anybody's secret, so these are cut: only what follows the last " for "
 * is told, the column or the index.
 */
#include "src/base/error.h"
#include "src/rows/mysql/ask.h"

#include <stddef.h>
#include <string.h>

struct meaning {
    unsigned error;
    int status;
    const char *words; /* NULL: the server's */
};

static const struct meaning meanings[] = {
    {1205, HF_BUSY, "somebody else has the row, or the table, locked"},
    {3572, HF_BUSY, "somebody else has the row locked"},
    {1213, HF_DEADLOCK,
     "a deadlock: the server rolled the transaction back; begin it again"},
    {1020, HF_CONFLICT,
     "the row was changed after the transaction's snapshot was taken; roll "
     "back and begin again"},
    {2014, HF_EINVAL, "the connection has a result that is still to be read"},
    {1044, HF_EAUTH, NULL},
    {1045, HF_EAUTH, NULL},
    {1142, HF_EAUTH, NULL},
    {1143, HF_EAUTH, NULL},
    {1227, HF_EAUTH, NULL},
    {1046, HF_EINVAL, NULL},
    {1049, HF_EINVAL, NULL},
    {1054, HF_EINVAL, NULL},
    {1059, HF_EINVAL, NULL},
    {1102, HF_EINVAL, NULL},
    {1103, HF_EINVAL, NULL},
    {1146, HF_EINVAL, NULL},
    {1193, HF_EUNSAFE, "the server has no InnoDB"},
    {HF__ROWS_NO_MEMORY, HF_ENOMEM, "out of memory"},
    /* Not done. */
    {1040, HF_EUNAVAIL, NULL},
    {1290, HF_EUNAVAIL, NULL},
    {1317, HF_EUNAVAIL, "the statement was ended from outside"},
    {1836, HF_EUNAVAIL, NULL},
    {1969, HF_EUNAVAIL, "the statement took longer than max_statement_time"},
    {3024, HF_EUNAVAIL, "the statement took longer than max_execution_time"},
};

/* The connection is ended, or the node no longer takes part. */
static const unsigned ends[] = {1047, 1053, 1152, 1158, 1159, 1160,
                                1161, 1180, 1927, 4031, 1079};
/* Their words repeat a value. */
static const unsigned repeating[] = {1062, 1064, 1292, 1300, 1366,
                                     1367, 1411, 1586, 1761, 3140};

static bool is_in(unsigned error, const unsigned *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == error) {
            return true;
        }
    }
    return false;
}

bool hf__rows_may_be_done(unsigned error)
{
    return (error >= 2000 && error < 3000 && error != 2014) ||
           is_in(error, ends, sizeof ends / sizeof *ends);
}

static const struct meaning *meaning_of(unsigned error)
{
    static const struct meaning ended = {0, HF_EUNAVAIL, NULL};
    static const struct meaning refused = {0, HF_ROW_EREFUSED, NULL};

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].error == error) {
            return &meanings[i];
        }
    }
    return hf__rows_may_be_done(error) ? &ended : &refused;
}

static const char *server_words(MYSQL *db, unsigned error)
{
    const char *words = mysql_error(db);
    const char *rest = NULL;

    if (!is_in(error, repeating, sizeof repeating / sizeof *repeating)) {
        return *words == '\0' ? "no answer" : words;
    }
    for (const char *at = strstr(words, " for "); at != NULL;
         at = strstr(at + 1, " for ")) {
        rest = at + 1;
    }
    return rest == NULL ? "a value" : rest;
}

int hf__rows_fail(struct hf__rows *s, unsigned error)
{
    const struct meaning *m = meaning_of(error);
    hf_error *err = s->call.err;
    int r;

    if (s->is_lost && mysql_thread_id(s->db) != s->thread) {
        return hf__fail_native(
            err, HF_EUNAVAIL, (int)error,
            "table %s: the client library connected anew, so the transaction "
            "is gone; turn MYSQL_OPT_RECONNECT off",
            s->call.row.table);
    }
    r = m->words != NULL
            ? hf__fail_native(err, m->status, (int)error, "table %s: %s",
                              s->call.row.table, m->words)
            : hf__fail_native(
                  err, m->status, (int)error, "table %s: the server %s%s",
                  s->call.row.table,
                  is_in(error, repeating, sizeof repeating / sizeof *repeating)
                      ? "refuses the statement "
                      : "says: ",
                  server_words(s->db, error));
    if (err != NULL && error != HF__ROWS_NO_MEMORY &&
        err->size > offsetof(hf_error, sqlstate) + 5) {
        memcpy(err->sqlstate, mysql_sqlstate(s->db), 5);
        err->sqlstate[5] = '\0';
    }
    return r;
}
