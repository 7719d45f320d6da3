/* SPDX-License-Identifier: MIT */
/*
 * The words of api.h that tell what the store can, and how long that makes
 * others wait: by its capabilities alone. Any thread of a test may call them.
 */
#include "src/backend/conn.h"
#include "src/base/thread.h"
#include "tests/contract/api.h"

static unsigned flags_by_url;

static hf_caps_info caps(void)
{
    AUTO_CLIENT *client = open_store();
    hf_caps_info info = HF_CAPS_INFO_INIT;

    EXPECT_IS(hf_caps(client, &info), HF_OK);
    return info;
}

bool store_can(unsigned flags)
{
    return (caps().flags & flags) == flags;
}

/* Once, for a test may have left the library without memory since. */
static void read_url(void)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = NULL;

    EXPECT_IS(hf__url_parse(store_url(NULL), &url, NULL), HF_OK);
    flags_by_url = hf__caps_of(hf__backend_find(scheme()), url);
}

/* Without asking the store: what its URL says, so that any word may ask. */
static bool has(unsigned flag)
{
    static hf__once once = HF__ONCE_INIT;

    hf__once_run(&once, read_url);
    return (flags_by_url & flag) != 0;
}

bool store_leases(void)
{
    return !has(HF_CAP_SESSION);
}

bool store_queues(void)
{
    return has(HF__CAP_QUEUES);
}

int64_t lease_given(int64_t lease_ms)
{
    return store_leases() ? lease_ms : caps().lease_ms;
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

bool store_reaches(hf_reach reach)
{
    return caps().reach >= reach;
}
