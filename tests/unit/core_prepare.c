/* SPDX-License-Identifier: MIT */
/*
 * The renewal session while it is being connected: before the first grant, and
 * anew under one that is held. When that is so is seen by its insides.
 */
#include "src/core/client.h"
#include "tests/lib/test.h"

#include <stdatomic.h>

static hf_client *open_store(const char *url)
{
    hf_client *client = NULL;

    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    return client;
}

struct early {
    hf_client *client;
    int result;
    hf_lock *lock;
};

static void acquire_first(void *arg)
{
    struct early *e = arg;

    e->result = hf_acquire(e->client, "first", NULL, &e->lock, NULL);
}

static bool is_connecting(struct hf__session *s)
{
    HF_SCOPED_LOCK(&s->mutex);
    return s->is_executing;
}

/* Two come at once, the second while the renewal session is being connected
 * for the first: both fare alike. */
static void come_while_connecting(const char *url, int result)
{
    struct early first = {.client = open_store(url)};
    struct hf__session *renew = &first.client->renew;
    struct hf__test_thread *thread = hf__test_start(acquire_first, &first);
    hf_lock *lock = NULL;

    UNTIL(is_connecting(renew));
    EXPECT_IS(hf_acquire(first.client, "second", NULL, &lock, NULL), result);
    EXPECT_IS(atomic_load(&first.client->counters.connects),
              result == HF_OK ? 2 : 1);
    hf__test_join(thread);
    EXPECT_IS(first.result, result);
    hf_free(lock);
    EXPECT_IS(hf_acquire(first.client, "third", NULL, &lock, NULL), HF_OK);
    hf_free(lock);
    hf_free(first.lock);
    hf_close(first.client);
}

CASE(nothing_is_granted_before_it_can_be_renewed,
     come_while_connecting("fault+memory:early?fault=delay:open:2:2s", HF_OK));
CASE(who_finds_the_renewal_session_being_connected_fails_with_it,
     come_while_connecting(
         "fault+memory:early?io_timeout=1s&fault=delay:open:2:1h",
         HF_EUNAVAIL));

TEST(a_store_that_hangs_while_it_is_connected_is_a_risk_before_it_is_a_loss)
{
    hf_client *client = open_store("fault+memory:hangs?fault=delay:open:3-:1h");
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;
    bool was_at_risk = false;

    opts.lease_ms = 1200;
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_OK);
    hf__mutex_lock(&client->renew.mutex);
    client->renew.conn.is_dead = true; /* it died while nothing was asked */
    hf__mutex_unlock(&client->renew.mutex);
    while (hf_held(lock)) {
        was_at_risk |= hf_state(lock) == HF_STATE_AT_RISK;
        hf__test_pause_ms(2);
    }
    EXPECT(was_at_risk);
    hf_free(lock);
    hf_close(client);
}
