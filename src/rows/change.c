/* SPDX-License-Identifier: MIT */
/*
 * Read, compute, write if the version is still the same, and again: all of that
 * but the reading and the writing.
 */
#include "src/rows/change.h"

#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/base/time.h"

#include <inttypes.h>
#include <poll.h>
#include <strings.h>

enum { PAUSE_MS = 2, PAUSE_MAX_MS = 64 };

static int check_columns(const struct hf__change *w,
                         const struct hf__names *names)
{
    hf_error *err = w->call->err;

    for (int i = 0; i < w->u.n_columns; i++) {
        const char *name = w->u.columns[i];

        if (hf__sql_check_name("column", name, names, err) != HF_OK) {
            return HF_EINVAL;
        }
        if (strcasecmp(name, w->u.version) == 0) {
            return hf__fail(err, HF_EINVAL,
                            "%s is the version column, which is written here: "
                            "leave it out of the columns",
                            name);
        }
    }
    return HF_OK;
}

static int check_limits(const hf_row_update *u, hf_error *err)
{
    if (u->change == NULL) {
        return hf__fail(err, HF_EINVAL, "the callback is NULL");
    }
    if (u->columns == NULL || u->n_columns < 1 ||
        u->n_columns > HF_ROW_COLUMNS_MAX) {
        return hf__fail(err, HF_EINVAL, "the update has %d columns: 1 to %d",
                        u->columns == NULL ? 0 : u->n_columns,
                        HF_ROW_COLUMNS_MAX);
    }
    if (u->retries < 0 || u->retries > HF_ROW_RETRIES_MAX) {
        return hf__fail(err, HF_EINVAL, "retries is %d: 0 to %d", u->retries,
                        HF_ROW_RETRIES_MAX);
    }
    if (u->limit_ms < 1 || u->limit_ms > HF_ROW_WAIT_MAX_MS) {
        return hf__fail(err, HF_EINVAL, "limit_ms is %" PRId64 ": 1 to %d",
                        u->limit_ms, HF_ROW_WAIT_MAX_MS);
    }
    return HF_OK;
}

int hf__change_open(struct hf__change *w, const hf_row_update *given,
                    const struct hf__names *names)
{
    hf_error *err = w->call->err;

    if (given == NULL) {
        return hf__fail(err, HF_EINVAL, "the update is NULL");
    }
    if (hf__call_options(&w->u, sizeof w->u, given, err) != HF_OK ||
        hf__sql_check_name("version column", w->u.version, names, err) !=
            HF_OK ||
        (w->u.deleted != NULL &&
         hf__sql_check_name("deletion column", w->u.deleted, names, err) !=
             HF_OK) ||
        check_limits(&w->u, err) != HF_OK) {
        return HF_EINVAL;
    }
    return check_columns(w, names);
}

int hf__change_ask(struct hf__change *w)
{
    for (int i = 0; i < w->u.n_columns; i++) {
        w->new[i] = (hf_row_value){.type = HF_ROW_UNSET};
    }
    if (w->u.change(w->u.arg, w->old, w->new) != 0) {
        return hf__fail(w->call->err, HF_ROW_DECLINED,
                        "the callback did not want the change; nothing was "
                        "written");
    }
    for (int i = 0; i < w->u.n_columns; i++) {
        if (w->new[i].type != HF_ROW_UNSET &&
            hf__sql_check_value(w->u.columns[i], &w->new[i], w->call->err) !=
                HF_OK) {
            return HF_EINVAL;
        }
    }
    return HF_OK;
}

int hf__change_conflict(struct hf__change *w)
{
    return hf__fail(w->call->err, HF_CONFLICT,
                    "%s: others changed the row between its reading and its "
                    "writing, %d times; nothing was written",
                    w->call->row.table, w->call->info.tries);
}

/* Longer each time, and by chance, so that those who met do not meet again. */
static void pause_before(int tries)
{
    int64_t most = tries < 5 ? (int64_t)PAUSE_MS << tries : PAUSE_MAX_MS;

    (void)poll(NULL, 0, (int)hf__random_between(1, most));
}

int hf__change_attempts(struct hf__change *w, bool is_once,
                        int (*attempt)(void *), void *arg)
{
    hf__time end = hf__after_ms(hf__now(), w->u.limit_ms);
    hf_row_info *info = &w->call->info;
    bool is_again = true;
    int tries = 0;
    int r = HF_CONFLICT;

    while (is_again) {
        info->tries = ++tries;
        r = attempt(arg);
        is_again = (r == HF_CONFLICT || r == HF_DEADLOCK) && !is_once &&
                   tries <= w->u.retries;
        if (is_again) {
            pause_before(tries);
            is_again = hf__before(hf__now(), end);
        }
    }
    return r;
}
