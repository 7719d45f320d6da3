/* SPDX-License-Identifier: MIT */
/*
 * Reading the caller's options, before any I/O. This file decides what is
 * valid; what an option does is said in holdfast.h. Any thread.
 */
#include "src/core/options.h"

#include "src/base/error.h"
#include "src/base/utf8.h"

#include <string.h>

int hf__options_copy(void *ours, size_t size, const void *theirs, hf_error *err)
{
    const unsigned char *bytes = theirs;
    size_t given = 0;

    if (theirs == NULL) {
        return HF_OK;
    }
    memcpy(&given, theirs, sizeof given);
    if (given < sizeof given) {
        return hf__fail(err, HF_EINVAL,
                        "the options' size is %zu: begin with the INIT macro",
                        given);
    }
    for (size_t i = size; i < given; i++) {
        if (bytes[i] != 0) {
            return hf__fail(err, HF_EINVAL,
                            "the options are of a newer version than this "
                            "library (" HF_VERSION
                            "); use the library that the "
                            "program was built for");
        }
    }
    memcpy(ours, theirs, given < size ? given : size);
    memcpy(ours, &size, sizeof size);
    return HF_OK;
}

static size_t size_of(const void *sized)
{
    size_t size;

    memcpy(&size, sized, sizeof size);
    return size;
}

bool hf__result_fits(const void *theirs, size_t size)
{
    return theirs != NULL && size_of(theirs) >= sizeof size &&
           size_of(theirs) <= size;
}

void hf__result_give(void *theirs, const void *ours)
{
    size_t size = size_of(theirs);

    memcpy(theirs, ours, size);
    memcpy(theirs, &size, sizeof size);
}

static int check_label(const char *what, const char *text, hf_error *err)
{
    size_t length = text == NULL ? 0 : strlen(text);

    if (length > HF_NOTE_MAX) {
        return hf__fail(err, HF_EINVAL, "the %s has %zu bytes, at most %d fit",
                        what, length, HF_NOTE_MAX);
    }
    if (length > 0 && !hf__utf8_is_valid(text, length)) {
        return hf__fail(err, HF_EINVAL, "the %s is not UTF-8", what);
    }
    return HF_OK;
}

static int check_keep(const char *what, int64_t ms, hf_error *err)
{
    if (ms < 0 || ms > HF_KEEP_MAX_MS) {
        return hf__fail(err, HF_EINVAL,
                        "%s is %lld: 0 for none, or up to %lld (a century)",
                        what, (long long)ms, (long long)HF_KEEP_MAX_MS);
    }
    return HF_OK;
}

/* What keeps a name closed, keeps it closed for all. */
static int check_manner(const hf_acquire_opts *opts, hf_error *err)
{
    bool is_beside = opts->shared != 0 || opts->slots != 0;

    if (opts->slots < 0 || opts->slots > HF_SLOTS_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "slots is %d: 1 to %d, or 0 for a lock of one holder",
                        opts->slots, HF_SLOTS_MAX);
    }
    if (opts->shared != 0 && opts->slots != 0) {
        return hf__fail(err, HF_EINVAL,
                        "shared and slots exclude each other: shared has no "
                        "limit, slots are one");
    }
    if (is_beside && opts->min_hold_ms != 0) {
        return hf__fail(err, HF_EINVAL,
                        "min_hold_ms is for a lock that one holds alone: leave "
                        "out %s, or min_hold_ms",
                        opts->shared != 0 ? "shared" : "slots");
    }
    return HF_OK;
}

struct hf__manner hf__manner_of(const hf_acquire_opts *opts)
{
    if (opts->slots > 0) {
        return (struct hf__manner){HF__MODE_SLOTS, opts->slots};
    }
    return (struct hf__manner){
        opts->shared != 0 ? HF__MODE_SHARED : HF__MODE_EXCLUSIVE, 0};
}

static int check_once(const hf_acquire_opts *opts, hf_error *err)
{
    if (opts->once_ms != HF_FOREVER &&
        check_keep("once_ms", opts->once_ms, err) != HF_OK) {
        return HF_EINVAL;
    }
    if (opts->once_key != NULL && opts->once_ms == 0) {
        return hf__fail(err, HF_EINVAL,
                        "once_key needs once_ms: how long a start counts, or "
                        "HF_FOREVER");
    }
    if (opts->once_key != NULL &&
        !hf__utf8_is_valid(opts->once_key, strlen(opts->once_key))) {
        return hf__fail(err, HF_EINVAL, "once_key is not UTF-8");
    }
    return HF_OK;
}

int hf__options_check(const hf_acquire_opts *opts, hf_error *err)
{
    int r = HF_OK;

    if (opts->wait_ms < 0 && opts->wait_ms != HF_FOREVER) {
        return hf__fail(err, HF_EINVAL,
                        "wait_ms is %lld: 0, a positive number or HF_FOREVER",
                        (long long)opts->wait_ms);
    }
    if (opts->lease_ms < HF_LEASE_MIN_MS || opts->lease_ms > HF_LEASE_MAX_MS) {
        return hf__fail(
            err, HF_EINVAL, "lease_ms is %lld: %d to %d (100 ms to 24 h)",
            (long long)opts->lease_ms, HF_LEASE_MIN_MS, HF_LEASE_MAX_MS);
    }
    r = check_keep("min_hold_ms", opts->min_hold_ms, err);
    r = r == HF_OK ? check_keep("max_hold_ms", opts->max_hold_ms, err) : r;
    if (r == HF_OK && opts->max_hold_ms != 0 &&
        opts->max_hold_ms < HF_LEASE_MIN_MS) {
        r = hf__fail(err, HF_EINVAL,
                     "max_hold_ms is %lld: at least %d, or 0 for no limit",
                     (long long)opts->max_hold_ms, HF_LEASE_MIN_MS);
    }
    r = r == HF_OK ? check_once(opts, err) : r;
    r = r == HF_OK ? check_manner(opts, err) : r;
    if (r != HF_OK) {
        return r;
    }
    r = check_label("owner label", opts->owner, err);
    return r == HF_OK ? check_label("note", opts->note, err) : r;
}
