/* SPDX-License-Identifier: MIT */
/*
 * hf_list(), hf_check(), hf_caps() and hf_stats(). The store's answers are
 * collected on the thread that leads the session and passed to the application
 * on the caller's, so that no callback runs in the middle of a batch.
 * hf_stats() reads the client's counters, which other files count, and what is
 * held or waiting now. Called by users' threads.
 */
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/core/client.h"
#include "src/core/grant.h"
#include "src/core/options.h"
#include "src/core/query.h"
#include "src/core/stats.h"

static void drop_info(struct hf__link *link)
{
    hf_info_free(HF__ELEMENT(link, hf_info, link));
}

static int collect_info(void *arg, const char *name, size_t length,
                        const struct hf__record *record)
{
    struct hf__query *k = arg;
    hf_info *info = hf__info_new(name, length, record);

    if (info == NULL) {
        k->result = HF_ENOMEM;
        return 1;
    }
    hf__list_push(&k->found, &info->link);
    return 0;
}

/* Store a call's status in its request; the session itself is told only of
 * failures that end its connection. */
static int end_call(struct hf__query *k, int r)
{
    k->request.op.result = k->result != HF_OK ? k->result : r;
    if (k->result == HF_ENOMEM) {
        k->err.status = hf__fail(&k->err, HF_ENOMEM, "out of memory");
    }
    return r == HF_ENOTSUP ? HF_OK : r;
}

static int run_list(struct hf__conn *conn, struct hf__request *q,
                    hf__time deadline)
{
    struct hf__query *k = HF__ELEMENT(q, struct hf__query, request);

    return end_call(
        k, hf__conn_list(conn, &k->key, collect_info, k, deadline, &k->err));
}

int hf_list(hf_client *client, const char *prefix, hf_list_fn fn, void *arg,
            hf_error *err)
{
    HF_AUTO(hf__query_unref_auto) struct hf__query *k = NULL;
    int r = hf__client_usable(client, err);

    if (r != HF_OK) {
        return r;
    }
    if (fn == NULL) {
        return hf__fail(err, HF_EINVAL, "hf_list() needs a function");
    }
    prefix = prefix == NULL ? "" : prefix;
    if (*prefix != '\0') {
        r = hf__name_check(prefix, err);
    }
    if (r != HF_OK) {
        return r;
    }
    r = hf__query_new(client, prefix, &k, err);
    if (r != HF_OK) {
        return r;
    }
    k->drop = drop_info;
    k->request.call = run_list;
    r = hf__query_run(client, k, hf__client_limit(client), err);
    if (r != HF_OK) {
        return r;
    }
    HF__LIST_EACH (link, &k->found) {
        if (fn(arg, HF__ELEMENT(link, hf_info, link)) != 0) {
            break;
        }
    }
    return HF_OK;
}

/* ---- hf_check() and hf_caps() */

/* One item of hf_check(), kept until the caller's thread passes it on. */
struct finding {
    struct hf__link link;
    hf_verdict verdict;
    char *name;
    char *value;
    char *remedy; /* NULL: none */
};

static void finding_free(struct finding *f)
{
    if (f == NULL) {
        return;
    }
    hf__free(f->name);
    hf__free(f->value);
    hf__free(f->remedy);
    hf__free(f);
}
HF_CLEANUP_FN(struct finding, finding_free);

static void drop_finding(struct hf__link *link)
{
    finding_free(HF__ELEMENT(link, struct finding, link));
}

static int collect_finding(void *arg, const hf_check_item *item)
{
    struct hf__query *k = arg;
    HF_AUTO(finding_free_auto) struct finding *f = hf__alloc(sizeof *f);

    if (f != NULL) {
        hf__list_init(&f->link);
        f->verdict = item->verdict;
        f->name = hf__strdup(item->name);
        f->value = hf__strdup(item->value);
        f->remedy = item->remedy == NULL ? NULL : hf__strdup(item->remedy);
    }
    if (f == NULL || f->name == NULL || f->value == NULL ||
        (item->remedy != NULL && f->remedy == NULL)) {
        k->result = HF_ENOMEM;
        return 1;
    }
    hf__list_push(&k->found, &f->link);
    f = NULL;
    return 0;
}

static int run_check(struct hf__conn *conn, struct hf__request *q,
                     hf__time deadline)
{
    struct hf__query *k = HF__ELEMENT(q, struct hf__query, request);

    return end_call(
        k, hf__conn_check(conn, collect_finding, k, deadline, &k->err));
}

static bool show_finding(const struct finding *f, hf_check_fn fn, void *arg)
{
    hf_check_item item = {.size = sizeof item,
                          .name = f->name,
                          .value = f->value,
                          .verdict = f->verdict,
                          .remedy = f->remedy};

    return fn(arg, &item) == 0;
}

static void show_allowed(const hf_client *client, hf_check_fn fn, void *arg)
{
    hf_check_item item = {.size = sizeof item,
                          .name = "allow",
                          .value = client->allow,
                          .verdict = HF_WARN,
                          .remedy =
                              "these guarantees were switched off by allow="};

    if (*client->allow != '\0') {
        (void)fn(arg, &item);
    }
}

int hf_check(hf_client *client, hf_check_fn fn, void *arg, hf_error *err)
{
    HF_AUTO(hf__query_unref_auto) struct hf__query *k = NULL;
    int r = hf__client_usable(client, err);

    if (r != HF_OK) {
        return r;
    }
    if (fn == NULL) {
        return hf__fail(err, HF_EINVAL, "hf_check() needs a function");
    }
    r = hf__query_new(client, "", &k, err);
    if (r != HF_OK) {
        return r;
    }
    k->drop = drop_finding;
    k->request.call = run_check;
    r = hf__query_run(client, k, hf__client_limit(client), err);
    if (r != HF_OK) {
        return r;
    }
    HF__LIST_EACH (link, &k->found) {
        if (!show_finding(HF__ELEMENT(link, struct finding, link), fn, arg)) {
            return HF_OK;
        }
    }
    show_allowed(client, fn, arg);
    return HF_OK;
}

static const char *what_rests_on(const struct hf__server_info *server_info)
{
    if (server_info->rests_on != NULL) {
        return server_info->rests_on;
    }
    switch (server_info->grade) {
    case 'A':
        return "quorum";
    case 'B':
        return "one durable server";
    case 'C':
        return "asynchronous replication";
    case 'S':
        return "ends with its session";
    case 'D':
        return "volatile";
    default:
        return "unknown";
    }
}

int hf_caps(hf_client *client, hf_caps_info *ret_caps)
{
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    int r = hf__client_usable(client, NULL);

    if (r != HF_OK) {
        return r;
    }
    if (!hf__result_fits(ret_caps, sizeof caps)) {
        return HF_EINVAL;
    }
    const struct hf__server_info server_info =
        hf__session_server_info(&client->main[0]);
    caps.flags = client->settings.caps & ~HF__CAPS_INTERNAL;
    caps.reach = server_info.reach;
    caps.grade = server_info.grade;
    caps.store = client->url->redacted;
    caps.lease_ms = server_info.lease_us / 1000;
    caps.rests_on = what_rests_on(&server_info);
    hf__result_give(ret_caps, &caps);
    return HF_OK;
}

/* ---- hf_stats() */

void hf__count_refusal(struct hf__counters *counters, int r)
{
    if (r == HF_CANCELLED) {
        hf__count(&counters->cancelled, 1);
    } else {
        hf__count(r < 0 ? &counters->failed : &counters->busy, 1);
    }
}

static void read_counters(struct hf__counters *from, hf_stats_info *to)
{
#define HF_X(name)                                                             \
    to->name = atomic_load_explicit(&from->name, memory_order_relaxed);
    HF__COUNTERS(HF_X)
#undef HF_X
}

static bool is_held(const struct hf__grant *h)
{
    int state = atomic_load(&h->state);

    return state == (int)HF_STATE_HELD || state == (int)HF_STATE_AT_RISK;
}

static void look_around(hf_client *client, hf_stats_info *to)
{
    HF_SCOPED_LOCK(&client->mutex);

    HF__LIST_EACH (link, &client->grants) {
        to->held += is_held(HF__ELEMENT(link, struct hf__grant, link));
    }
    to->waiting = (uint64_t)atomic_load(&client->waiting);
    to->owing = (uint64_t)client->unsettled;
}

int hf_stats(hf_client *client, hf_stats_info *ret_stats)
{
    hf_stats_info stats = HF_STATS_INFO_INIT;
    int r = hf__client_usable(client, NULL);

    if (r != HF_OK) {
        return r;
    }
    if (!hf__result_fits(ret_stats, sizeof stats)) {
        return HF_EINVAL;
    }
    read_counters(&client->counters, &stats);
    look_around(client, &stats);
    hf__result_give(ret_stats, &stats);
    return HF_OK;
}
