/* SPDX-License-Identifier: MIT */
/*
 * The words of api.h that tell what the store can, and how long that makes
 * others wait: by its capabilities alone. Any thread of a test may call them.
 */
#include "src/backend/conn.h"
#include "tests/contract/api.h"
#include "tests/contract/urls.h"

int64_t patience(int64_t ms)
{
    return hf__test_patience(ms);
}

int64_t since(int64_t start_ms)
{
    return hf__test_now_ms() - start_ms;
}

int64_t safe(int64_t lease_ms)
{
    return lease_ms - lease_ms / 100 - 5;
}

hf_caps_info store_info(void)
{
    AUTO_CLIENT *client = open_store();
    hf_caps_info info = HF_CAPS_INFO_INIT;

    EXPECT_IS(hf_caps(client, &info), HF_OK);
    return info;
}

bool store_can(unsigned flags)
{
    struct hf__url kind;

    EXPECT(hf__test_args[0]);
    kind = hf__store_kind(hf__test_args[0], scheme());
    return (hf__caps_of(hf__backend_find(scheme()), &kind) & flags) == flags;
}

bool store_leases(void)
{
    return !store_can(HF_CAP_SESSION);
}

bool store_queues(void)
{
    return store_can(HF__CAP_QUEUES);
}

bool store_ends_at_once(void)
{
    return hf__store_ends_at_once(hf__test_args[0]);
}

bool store_keeps_what_is_cut(void)
{
    return !store_leases() && !store_ends_at_once();
}

bool store_breaks_one(void)
{
    return !hf__store_breaks_more(hf__test_args[0]);
}

bool store_has_room(void)
{
    return !store_ends_at_once() || !store_breaks_one();
}

bool store_is_shared(void)
{
    return hf__store_has_place(hf__test_args[0]);
}

bool store_wakes(void)
{
    return hf__store_wakes(hf__test_args[0]);
}

bool store_cleans(void)
{
    return hf__backend_find(scheme())->gc != NULL;
}

bool store_tells_ends(void)
{
    return store_cleans() && store_leases();
}

int64_t lease_given(int64_t lease_ms)
{
    return store_leases() ? lease_ms : store_info().lease_ms;
}

int64_t end_given(int64_t lease_ms)
{
    return store_leases() ? lease_ms : 2 * lease_given(lease_ms);
}

bool has_session_places(void)
{
    return store_queues() && !store_leases();
}

int64_t wait_given(int64_t ms)
{
    return has_session_places() ? end_given(ms) : ms;
}
