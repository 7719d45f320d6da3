/* SPDX-License-Identifier: MIT */
/*
 * Sends questions to the store and keeps them alive while they are under way;
 * info.c, store_queries.c, gc.c, once.c, adopt.c and cell.c decide what to ask.
 * Called by users' threads; executed by the session's leader.
 */
#include "src/core/query.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

void hf__query_unref(struct hf__query *k)
{
    struct hf__link *link = NULL;

    if (k == NULL || atomic_fetch_sub(&k->refs, 1) > 1) {
        return;
    }
    while ((link = hf__list_pop(&k->found)) != NULL) {
        k->drop(link);
    }
    hf__participant_list_free(&k->participants);
    hf__free(k->cell);
    hf__free(k);
}

static void query_done(struct hf__request *q)
{
    hf__query_unref(HF__ELEMENT(q, struct hf__query, request));
}

int hf__query_new(hf_client *client, const char *name,
                  struct hf__query **ret_query, hf_error *err)
{
    struct hf__query *k = hf__alloc(sizeof *k);

    if (k == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    atomic_init(&k->refs, 1);
    hf__list_init(&k->found);
    k->err.size = sizeof k->err;
    hf__client_key(client, name, k->key_bytes, &k->key);
    k->request.op.key = k->key;
    k->request.op.ret_record = &k->record;
    k->request.op.err = &k->err;
    k->request.done = query_done;
    *ret_query = k;
    return HF_OK;
}

static struct hf__session *session_of(hf_client *client, struct hf__query *k)
{
    return k->session == NULL ? hf__client_session(client, &k->key)
                              : k->session;
}

/* The caller stops waiting; returns its result. */
static int end(const hf_client *client, struct hf__query *k,
               enum hf__ending ending, hf_error *err)
{
    int r = HF_OK;

    if (ending != HF__ENDING_RAN) {
        bool is_gone = ending == HF__ENDING_WITHDRAWN;

        if (is_gone) {
            hf__query_unref(k);
        }
        return hf__fail(err, is_gone ? HF_EUNAVAIL : HF_EUNKNOWN,
                        "no answer from the store in %lld ms",
                        (long long)client->settings.io_timeout_ms);
    }
    r = k->request.op.result;
    hf__query_unref(k);
    if (r < 0 && k->err.status == 0) {
        return hf__fail(err, r, "the store gave no answer (%s)",
                        hf_strstatus(r));
    }
    if (r < 0) {
        hf__error_copy(err, &k->err);
    }
    return r;
}

void hf__query_begin(hf_client *client, struct hf__query *k,
                     struct hf__parker *parker, hf__time limit)
{
    atomic_fetch_add(&k->refs, 1);
    hf__session_begin(session_of(client, k), &k->request, parker, limit);
}

bool hf__query_step(hf_client *client, struct hf__query *k, hf__time limit,
                    int *ret_result, hf_error *err)
{
    enum hf__ending ending = HF__ENDING_RAN;

    if (!hf__session_poll(session_of(client, k), &k->request, limit, &ending)) {
        return false;
    }
    *ret_result = end(client, k, ending, err);
    return true;
}

struct asking {
    hf_client *client;
    struct hf__query *query;
    hf__time limit;
    int result;
    hf_error *err;
};

static bool step(void *arg, hf__time *ret_until)
{
    struct asking *a = arg;

    *ret_until = a->limit;
    return hf__query_step(a->client, a->query, a->limit, &a->result, a->err);
}

int hf__query_run(hf_client *client, struct hf__query *k, hf__time limit,
                  hf_error *err)
{
    struct asking a = {client, k, limit, HF_OK, err};

    hf__query_begin(client, k, &k->parker, limit);
    hf__run_steps(&k->parker, step, &a);
    return a.result;
}
