/* SPDX-License-Identifier: MIT */
/*
 * The calls of holdfast.h that need no client: names of numbers, versions,
 * the allocator. Thread: any.
 */
#include "src/backend/conn.h"
#include "src/base/alloc.h"

const char *hf_strstatus(int status)
{
    switch (status) {
#define NAME(name, value, text)                                                \
    case name:                                                                 \
        return #name;
        HF_STATUS_MAP(NAME)
#undef NAME
    }
    return "HF_UNKNOWN_STATUS";
}

const char *hf_strreason(hf_reason reason)
{
    switch (reason) {
    case HF_REASON_NONE:
        return "none";
    case HF_REASON_EXPIRED:
        return "expired";
    case HF_REASON_TAKEN:
        return "taken";
    case HF_REASON_BROKEN:
        return "broken";
    case HF_REASON_SESSION:
        return "session";
    case HF_REASON_STORE_GONE:
        return "store-gone";
    }
    return "none";
}

const char *hf_version(void)
{
    return HF_VERSION;
}

const char *hf_backends(int i)
{
    const struct hf__backend *b = hf__backend_at(i);

    return b == NULL ? NULL : b->scheme;
}

int hf_set_allocator(void *(*resize)(void *, size_t), void (*release)(void *))
{
    return hf__alloc_replace(resize, release);
}
