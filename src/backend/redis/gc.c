/* SPDX-License-Identifier: MIT */
/*
 * gc(): delete the records of names that nobody uses. They would expire by
 * themselves; this is for who wants them gone earlier. Each is looked at and
 * deleted by one script, so nobody can come in between; the bookmark is the
 * server's own cursor. Called by the session's thread.
 */
#include "src/backend/redis/survey.h"

#include "src/base/error.h"

#include <string.h>

/* So many pages are looked at in one call. */
#define PAGES 16
/* And no page is begun after so much of it: others wait for the session. */
#define SLICE_MS 250

static void add_collection(const struct hf__survey *v, struct hf__bytes *out,
                           const struct hf__key *key, bool with_text)
{
    const struct hf__gc *g = v->arg;
    struct hf__script_keys keys;
    struct hf__args args;

    hf__script_begin(&args, g->of_cells ? HF__SCRIPT_CELL : HF__SCRIPT_COLLECT,
                     with_text, key, &keys);
    hf__args_word(&args, g->of_cells ? "collect" : "");
    hf__args_number(&args, g->idle_us);
    hf__bytes_add(out, &args);
}

/* A user may have locks alone: the cells are others' to clean. */
static bool is_others(const struct hf__gc *g, const redisReply *reply)
{
    return g->of_cells && strncmp(reply->str, "NOPERM", 6) == 0;
}

/* {'ok', how many were deleted, how many of these had expired} */
static int take_collection(const struct hf__survey *v,
                           const struct hf__key *key, const redisReply *reply)
{
    struct hf__gc *g = v->arg;
    hf_error said = HF_ERROR_INIT;
    int r;

    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
        reply->element[1]->type == REDIS_REPLY_INTEGER &&
        reply->element[2]->type == REDIS_REPLY_INTEGER) {
        bool is_deleted = reply->element[1]->integer == 1;

        g->count += is_deleted;
        g->expired += is_deleted && reply->element[2]->integer == 1;
        return HF_OK;
    }
    if (reply->type != REDIS_REPLY_ERROR) {
        return hf__survey_fail(v, HF_EPROTO, "a cleaning without an answer");
    }
    if (strncmp(reply->str, "NOSCRIPT", 8) == 0) {
        return HF__AGAIN;
    }
    if (hf__survey_is_strange(reply) || is_others(g, reply)) {
        return HF_OK;
    }
    r = hf__redis_error(reply, key, &said);
    return hf__survey_fail(v, r < 0 ? r : (int)HF_EUNAVAIL, said.text);
}

static int sweep(const struct hf__survey *v, struct hf__scan *scan,
                 struct hf__names *names)
{
    int64_t left_ms = hf__ms_until(v->deadline, hf__now());
    hf__time end = hf__after_ms(hf__now(), left_ms / 4 < SLICE_MS ? left_ms / 4
                                                                  : SLICE_MS);
    int r = HF_OK;

    for (int i = 0; i < PAGES && !scan->is_over && r == HF_OK; i++) {
        hf__names_clear(names);
        r = hf__survey_page(v, scan, names);
        hf__names_sort(names);
        r = r == HF_OK ? hf__survey_ask(v, names) : r;
        if (!hf__before(hf__now(), end) || hf__is_interrupted(&v->s->head)) {
            break;
        }
    }
    return r;
}

int hf__redis_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                 hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__names_fini) struct hf__names names = {0};
    struct hf__survey v = {.s = state,
                           .deadline = deadline,
                           .err = err,
                           .arg = g,
                           .add = add_collection,
                           .take = take_collection};
    struct hf__scan scan;
    int r;

    hf__scan_begin(&scan, prefix);
    if (g->length > 0 && !hf__scan_resume(&scan, g->at, g->length)) {
        return hf__fail(err, HF_EINVAL,
                        "a cleaning goes on from no bookmark "
                        "of this store");
    }
    r = sweep(&v, &scan, &names);
    g->length = scan.is_over ? 0 : strlen(scan.cursor);
    memcpy(g->at, scan.cursor, g->length);
    return r;
}
