/* SPDX-License-Identifier: MIT */
/*
 * hf_stats(): the counters of a client, and what is under way just now. Who
 * counts what is said where it happens. Called by users' threads.
 */
#include "src/core/stats.h"

#include "src/core/client.h"
#include "src/core/handle.h"
#include "src/core/options.h"

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

static bool is_held(const struct hf__handle *h)
{
    int state = atomic_load(&h->state);

    return state == (int)HF_STATE_HELD || state == (int)HF_STATE_AT_RISK;
}

static void look_around(hf_client *client, hf_stats_info *to)
{
    HF_SCOPED_LOCK(&client->mutex);

    HF__LIST_EACH (link, &client->handles) {
        to->held += is_held(HF__ELEMENT(link, struct hf__handle, link));
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
