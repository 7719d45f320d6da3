/* SPDX-License-Identifier: MIT */
/*
 * list(): every grant of names with a prefix, in the order of keys. First all
 * names are collected, then each is looked at by one script, so what is told of
 * one name is of one moment, and names are of several. Only reads. Called by
 * the session's thread.
 */
#include "src/backend/redis/survey.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

struct listing {
    const struct hf__key *prefix;
    hf__list_fn fn;
    void *arg;
    struct hf__crowd crowd; /* of the name that is told */
};

static struct hf__op inspection(const struct hf__key *key,
                                struct hf__crowd *ret_crowd)
{
    return (struct hf__op){.kind = HF__OP_INSPECT,
                           .key = *key,
                           .result = HF_EUNAVAIL,
                           .slot = -1,
                           .ret_crowd = ret_crowd};
}

static void add_inspection(const struct hf__survey *v, struct hf__bytes *out,
                           const struct hf__key *key, bool with_text)
{
    struct listing *l = v->arg;
    struct hf__op op = inspection(key, &l->crowd);
    struct hf__ask ask = {.client = v->s->client, .with_text = with_text};

    hf__ask_add(out, &op, &ask);
}

/* Those who hold the name, in the order in which the server told of them: by
 * slot, or age. */
static int tell(const struct listing *l, const struct hf__key *key)
{
    const char *name = key->bytes + l->prefix->name_at;
    size_t length = (size_t)(key->length - l->prefix->name_at);

    for (int i = 0; i < l->crowd.n; i++) {
        if (!l->crowd.list[i].is_waiting &&
            l->fn(l->arg, name, length, &l->crowd.list[i].record) != 0) {
            return HF_BUSY;
        }
    }
    return HF_OK;
}

/* Who is gone by now has nobody; what is no record of ours is passed by. */
static int take_inspection(const struct hf__survey *v,
                           const struct hf__key *key, const redisReply *reply)
{
    struct listing *l = v->arg;
    struct hf__answer answer = {.err = HF_ERROR_INIT};
    struct hf__op op = inspection(key, &l->crowd);

    l->crowd.n = 0;
    hf__answer_read(reply, &op, &answer);
    if (answer.has_no_script) {
        return HF__AGAIN;
    }
    if (answer.result == HF_OK) {
        return tell(l, key);
    }
    if (hf__survey_is_strange(reply)) {
        return HF_OK;
    }
    return hf__fail(v->err,
                    answer.result < 0 ? answer.result : (int)HF_EUNAVAIL, "%s",
                    answer.err.text);
}

static int collect(const struct hf__survey *v, const struct listing *l,
                   struct hf__names *names)
{
    struct hf__scan scan;
    int r = HF_OK;

    hf__scan_begin(&scan, l->prefix);
    while (r == HF_OK && !scan.is_over) {
        r = hf__survey_page(v, &scan, names);
    }
    hf__names_sort(names);
    return r;
}

int hf__redis_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                   void *arg, hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__names_fini) struct hf__names names = {0};
    struct listing l = {.prefix = prefix, .fn = fn, .arg = arg};
    struct hf__survey v = {.s = state,
                           .deadline = deadline,
                           .err = err,
                           .arg = &l,
                           .add = add_inspection,
                           .take = take_inspection};
    int r = collect(&v, &l, &names);

    r = r == HF_OK ? hf__survey_ask(&v, &names) : r;
    hf__free(l.crowd.list);
    return r < 0 ? r : (int)HF_OK;
}
