/* SPDX-License-Identifier: MIT */
/*
 * The calls of holdfast.h that need no client: texts for numbers, versions, the
 * allocator. Thread: any.
 */
#include "src/backend/conn.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

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
    return hf__store_name(i);
}

int hf_backend_load(const char *scheme, hf_error *err)
{
    const struct hf__backend *b = NULL;

    if (scheme == NULL) {
        return hf__fail(err, HF_EINVAL,
                        "hf_backend_load() needs the name of a store");
    }
    return hf__backend_load(scheme, &b, err);
}

int hf_ddl(const char *text, const char **ret_ddl, hf_error *err)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = NULL;
    const struct hf__backend *b = NULL;
    int r;

    if (text == NULL || ret_ddl == NULL) {
        return hf__fail(err, HF_EINVAL,
                        "hf_ddl(): the URL, or the pointer that receives the "
                        "text, is NULL");
    }
    r = hf__backend_url(text, &url, err);
    r = r == HF_OK ? hf__backend_load(url->scheme, &b, err) : r;
    if (r == HF_OK && b->ddl == NULL) {
        return hf__fail(err, HF_ENOTSUP,
                        "the store \"%s\" has no tables that somebody must "
                        "make",
                        url->scheme);
    }
    if (r == HF_OK) {
        *ret_ddl = b->ddl(url);
    }
    return r == HF_ENOMEM ? hf__fail(err, r, "out of memory") : r;
}

int hf_set_allocator(void *(*resize)(void *, size_t), void (*release)(void *))
{
    return hf__alloc_replace(resize, release);
}
