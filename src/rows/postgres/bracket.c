/* SPDX-License-Identifier: MIT */
/*
 * A savepoint or a transaction. SET LOCAL ends with the one or the other, so it
 * is to be put back by hand only where a savepoint is kept: there it would last
 * until the caller's transaction ends.
 */
#include "src/rows/postgres/bracket.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MARK "holdfast_rows"

/* Of the letters that a setting of time has; it goes into a statement. */
static int read_patience(struct hf__pg *s, const PGresult *result)
{
    const char *text = PQntuples(result) == 1 ? PQgetvalue(result, 0, 0) : "";

    if (*text == '\0' || strlen(text) >= sizeof s->patience ||
        text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz")] != '\0') {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server does not tell its lock_timeout");
    }
    memcpy(s->patience, text, strlen(text) + 1);
    return HF_OK;
}

static int mark(struct hf__pg *s, bool has_limit)
{
    HF_AUTO(hf__rows_pg_result_auto) PGresult *result = NULL;
    int r = hf__rows_pg_run(s,
                            has_limit ? "SAVEPOINT " MARK ";SHOW lock_timeout"
                                      : "SAVEPOINT " MARK,
                            &result);

    return r == HF_OK && has_limit ? read_patience(s, result) : r;
}

int hf__bracket_open(struct hf__pg *s, int64_t wait_ms)
{
    bool has_limit = wait_ms != HF_FOREVER;
    char words[64];
    int r = HF_OK;

    s->is_open = true;
    s->patience[0] = '\0';
    if (s->is_inside) {
        r = mark(s, has_limit);
    }
    if (r != HF_OK || !has_limit) {
        return r;
    }
    /* 0 would be for ever. */
    (void)snprintf(words, sizeof words, "%sSET LOCAL lock_timeout=%" PRId64,
                   s->is_inside ? "" : "BEGIN;", wait_ms < 1 ? 1 : wait_ms);
    return hf__rows_pg_do(s, words);
}

static int keep(struct hf__pg *s)
{
    char words[96] = "COMMIT";

    if (s->is_inside) {
        (void)snprintf(words, sizeof words, "%s%s%sRELEASE SAVEPOINT " MARK,
                       *s->patience == '\0' ? "" : "SET LOCAL lock_timeout='",
                       s->patience, *s->patience == '\0' ? "" : "';");
    }
    return hf__rows_pg_do(s, words);
}

/* The second time for whoever's cancel came just then. What comes of it is
 * seen by the transaction; the error stays that of before. */
static void take_back(struct hf__pg *s)
{
    hf_error before = s->call.own_err;
    int r = HF_EUNAVAIL;

    for (int i = 0; i < 2 && r != HF_OK && !s->is_lost; i++) {
        r = hf__rows_pg_do(s, s->is_inside ? "ROLLBACK TO SAVEPOINT " MARK
                                             ";RELEASE SAVEPOINT " MARK
                                           : "ROLLBACK");
    }
    s->call.own_err = before;
}

int hf__bracket_close(struct hf__pg *s, int r)
{
    bool is_kept = r == HF_OK || r == HF_ROW_DECLINED;
    int kept = HF_OK;

    if (s->is_open && is_kept) {
        kept = keep(s);
    }
    if (s->is_open && (!is_kept || kept != HF_OK) &&
        PQtransactionStatus(s->db) != PQTRANS_IDLE &&
        !(s->is_inside && r == HF_DEADLOCK)) {
        take_back(s);
    }
    s->is_open = false;
    s->call.info.in_transaction =
        s->is_inside && PQtransactionStatus(s->db) == PQTRANS_INTRANS;
    return kept == HF_OK ? r : kept;
}
