/* SPDX-License-Identifier: MIT */
/*
 * Commands for all names of a server: pages of SCAN, and one script for each
 * name. A pipeline has so many of them that the round trip does not matter, and
 * so few that other clients do not wait: the server runs their commands in
 * between.
 *
 * list(): reports every grant of names with a prefix, in the order of keys. The
 * report of one name is from one moment, that of several names is not. gc():
 * deletes the records of names that nobody uses, which would expire anyway; one
 * script checks and deletes a record, so no other client can come in between;
 * the bookmark is the server's cursor. Called by the session's thread.
 */
#include "src/backend/redis/redis.h"
#include "src/backend/redis/scan.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

struct name_query {
    struct hf__redis *s;
    hf__time deadline;
    hf_error *err;
    void *arg; /* for the two functions */
    /* Add one command for the name. */
    void (*add)(const struct name_query *, struct hf__bytes *,
                const struct hf__key *, bool with_text);
    /* Handle its reply. HF_OK; HF__AGAIN: the server does not know the script;
     * HF_BUSY: stop here; negative, with err set: the session is dead. */
    int (*take)(const struct name_query *, const struct hf__key *,
                const redisReply *);
};

/* ---- a page */

/* The most names in one pipeline. */
#define PIPELINE 128

static int fail(const struct name_query *v, int status, const char *why)
{
    return hf__fail(v->err, status, "%s: %s", v->s->peer.target.shown, why);
}

static int next_reply(const struct name_query *v, redisReply **ret_reply)
{
    struct hf__redis *s = v->s;
    int r =
        hf__peer_reply(&s->peer, &s->rest, &s->head, v->deadline, ret_reply);

    return r == HF_OK ? HF_OK : hf__fail(v->err, r, "%s", s->peer.err.text);
}

/* Send the commands that were added. */
static int send_all(const struct name_query *v)
{
    if (hf__resp_queue(&v->s->peer.resp) != HF_OK) {
        return fail(v, HF_ENOMEM, "out of memory for a command");
    }
    (void)hf__resp_flush(&v->s->peer.resp); /* the reply tells */
    return HF_OK;
}

/* Did the script or command refuse a key that is not a record of ours? Versions
 * before 7 wrap the error of a script. */
static bool is_strange(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           (strncmp(reply->str, "HOLDFAST", 8) == 0 ||
            strncmp(reply->str, "WRONGTYPE", 9) == 0 ||
            strstr(reply->str, ": WRONGTYPE") != NULL);
}

static int next_page(const struct name_query *v, struct hf__scan *scan,
                     struct hf__names *names)
{
    HF_AUTO(hf__reply_free) redisReply *reply = NULL;
    int r;

    hf__scan_add(&v->s->peer.resp.out, scan);
    r = send_all(v);
    r = r == HF_OK ? next_reply(v, &reply) : r;
    if (r != HF_OK) {
        return r;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        hf_error said = HF_ERROR_INIT;

        r = hf__redis_error(reply, NULL, &said);
        return fail(v, r < 0 ? r : (int)HF_EUNAVAIL, said.text);
    }
    r = hf__scan_take(scan, reply, names);
    if (r == HF_ENOMEM) {
        return fail(v, r, "out of memory for the names");
    }
    return r == HF_OK ? HF_OK : fail(v, r, "SCAN gave no page");
}

/* ---- many names */

/* A pipeline in progress: the names from `at` to `end`. */
struct stretch {
    const struct hf__names *names;
    size_t at; /* those before it are done */
    size_t end;
    bool with_text; /* of the first, which makes it known for the others */
};

static void add_stretch(const struct name_query *v, const struct stretch *h)
{
    for (size_t i = h->at; i < h->end; i++) {
        v->add(v, &v->s->peer.resp.out, &h->names->keys[i],
               h->with_text && i == h->at);
    }
}

/* Takes all replies, so that none stays outstanding. Returns the first result
 * of `take` that is not HF_OK. */
static int take_stretch(const struct name_query *v, struct stretch *h)
{
    int verdict = HF_OK;

    for (size_t i = h->at; i < h->end; i++) {
        HF_AUTO(hf__reply_free) redisReply *reply = NULL;
        int r = next_reply(v, &reply);

        if (r != HF_OK) {
            return r;
        }
        if (verdict == HF_OK) {
            verdict = v->take(v, &h->names->keys[i], reply);
            h->at += verdict == HF_OK;
        }
        if (verdict < 0) {
            return verdict;
        }
    }
    return verdict;
}

static int ask_all(const struct name_query *v, const struct hf__names *names)
{
    struct stretch h = {.names = names};
    int strays = 0; /* pipelines in a row whose first script was unknown */

    while (h.at < names->n) {
        size_t began = h.at;
        size_t left = names->n - h.at;
        int r;

        h.end = h.at + (left < PIPELINE ? left : PIPELINE);
        add_stretch(v, &h);
        r = send_all(v);
        r = r == HF_OK ? take_stretch(v, &h) : r;
        if (r != HF_OK && r != HF__AGAIN) {
            return r;
        }
        h.with_text = r == HF__AGAIN;
        strays = h.at > began ? 0 : strays + 1;
        if (strays > 3) {
            return fail(v, HF_EUNAVAIL,
                        "the server forgets its scripts at once");
        }
    }
    return HF_OK;
}

/* ---- list() */

struct listing {
    const struct hf__key *prefix;
    hf__list_fn fn;
    void *arg;
    struct hf__participant_list participants; /* at the name being reported */
};

static struct hf__op inspection(const struct hf__key *key,
                                struct hf__participant_list *ret_participants)
{
    return (struct hf__op){.kind = HF__OP_INSPECT,
                           .key = *key,
                           .result = HF_EUNAVAIL,
                           .slot = -1,
                           .ret_participants = ret_participants};
}

static void add_inspection(const struct name_query *v, struct hf__bytes *out,
                           const struct hf__key *key, bool with_text)
{
    struct listing *l = v->arg;
    struct hf__op op = inspection(key, &l->participants);
    struct hf__ask ask = {.client = v->s->client, .with_text = with_text};

    hf__ask_add(out, &op, &ask);
}

/* Report the holders of the name in the server's order: by slot, or by age. */
static int tell(const struct listing *l, const struct hf__key *key)
{
    const char *name = key->bytes + l->prefix->name_at;
    size_t length = (size_t)(key->length - l->prefix->name_at);

    for (int i = 0; i < l->participants.n; i++) {
        if (!l->participants.list[i].is_waiting &&
            l->fn(l->arg, name, length, &l->participants.list[i].record) != 0) {
            return HF_BUSY;
        }
    }
    return HF_OK;
}

/* A record that is gone by now has no holders; a key that is not a record of
 * ours is skipped. */
static int take_inspection(const struct name_query *v,
                           const struct hf__key *key, const redisReply *reply)
{
    struct listing *l = v->arg;
    struct hf__answer answer = {.err = HF_ERROR_INIT};
    struct hf__op op = inspection(key, &l->participants);

    l->participants.n = 0;
    hf__answer_read(reply, &op, &answer);
    if (answer.has_no_script) {
        return HF__AGAIN;
    }
    if (answer.result == HF_OK) {
        return tell(l, key);
    }
    if (is_strange(reply)) {
        return HF_OK;
    }
    return hf__fail(v->err,
                    answer.result < 0 ? answer.result : (int)HF_EUNAVAIL, "%s",
                    answer.err.text);
}

static int collect(const struct name_query *v, const struct listing *l,
                   struct hf__names *names)
{
    struct hf__scan scan;
    int r = HF_OK;

    hf__scan_begin(&scan, l->prefix);
    while (r == HF_OK && !scan.is_over) {
        r = next_page(v, &scan, names);
    }
    hf__names_sort(names);
    return r;
}

int hf__redis_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                   void *arg, hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__names_fini) struct hf__names names = {0};
    struct listing l = {.prefix = prefix, .fn = fn, .arg = arg};
    struct name_query v = {.s = state,
                           .deadline = deadline,
                           .err = err,
                           .arg = &l,
                           .add = add_inspection,
                           .take = take_inspection};
    int r = collect(&v, &l, &names);

    r = r == HF_OK ? ask_all(&v, &names) : r;
    hf__free(l.participants.list);
    return r < 0 ? r : (int)HF_OK;
}

/* ---- gc() */

/* The most pages in one call. */
#define PAGES 16
/* No page is begun after that much time: other callers wait for the session. */
#define SLICE_MS 250

static void add_collection(const struct name_query *v, struct hf__bytes *out,
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

/* A user may be allowed locks only: cells are then for others to collect. */
static bool is_others(const struct hf__gc *g, const redisReply *reply)
{
    return g->of_cells && strncmp(reply->str, "NOPERM", 6) == 0;
}

/* Handle {'ok', how many were deleted, how many of these had expired}. */
static int take_collection(const struct name_query *v,
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
        return fail(v, HF_EPROTO, "a cleaning without an answer");
    }
    if (strncmp(reply->str, "NOSCRIPT", 8) == 0) {
        return HF__AGAIN;
    }
    if (is_strange(reply) || is_others(g, reply)) {
        return HF_OK;
    }
    r = hf__redis_error(reply, key, &said);
    return fail(v, r < 0 ? r : (int)HF_EUNAVAIL, said.text);
}

static int sweep(const struct name_query *v, struct hf__scan *scan,
                 struct hf__names *names)
{
    int64_t left_ms = hf__ms_until(v->deadline, hf__now());
    hf__time end = hf__after_ms(hf__now(), left_ms / 4 < SLICE_MS ? left_ms / 4
                                                                  : SLICE_MS);
    int r = HF_OK;

    for (int i = 0; i < PAGES && !scan->is_over && r == HF_OK; i++) {
        hf__names_clear(names);
        r = next_page(v, scan, names);
        hf__names_sort(names);
        r = r == HF_OK ? ask_all(v, names) : r;
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
    struct name_query v = {.s = state,
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
                        "the cursor of the cleaning is not one of this store");
    }
    r = sweep(&v, &scan, &names);
    g->length = scan.is_over ? 0 : strlen(scan.cursor);
    memcpy(g->at, scan.cursor, g->length);
    return r;
}
