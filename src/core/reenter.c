/* SPDX-License-Identifier: MIT */
/*
 * Decides what an acquire by the lock's own owner gets. Finding what the
 * owner has is place.c's, counting its holds hold.c's. Called by users'
 * threads; asks no store.
 */
#include "src/core/reenter.h"

#include "src/base/error.h"
#include "src/core/options.h"
#include "src/core/place.h"

static int tell_lost(const char *name, hf_error *err)
{
    return hf__fail(err, HF_LOST,
                    "\"%s\" was lost while its owner held it: release it "
                    "before you acquire it again",
                    name);
}

static int tell_deadlock(const char *name, hf_error *err)
{
    return hf__fail(err, HF_DEADLOCK,
                    "the caller holds \"%s\" itself: release it first, or "
                    "acquire it as reentrant",
                    name);
}

/* It would wait for itself: its own grant is in the way. */
static int tell_other_manner(const char *name, hf_error *err)
{
    return hf__fail(err, HF_DEADLOCK,
                    "the caller holds \"%s\" itself, in another mode (alone, "
                    "shared, or with another number of slots): release it "
                    "first",
                    name);
}

static bool is_same_manner(const struct hf__handle *h,
                           const hf_acquire_opts *opts)
{
    struct hf__manner wanted = hf__manner_of(opts);

    return h->manner.mode == wanted.mode && h->manner.slots == wanted.slots;
}

int hf__reenter(struct hf_client *client, const char *name,
                const hf_acquire_opts *opts, struct hf_lock *lock,
                hf_error *err)
{
    char bytes[HF__KEY_MAX];
    struct hf__key key;
    struct hf__handle *h = NULL;
    bool joins = false;
    int r = HF_OK;

    hf__client_key(client, name, bytes, &key);
    h = hf__place_owned(client, &key, opts->owner_id);
    if (h == NULL) {
        return HF_BUSY;
    }
    joins = opts->reentrant != 0 && is_same_manner(h, opts);
    r = joins ? hf__hold_join(lock, h) : hf__hold_standing(h);
    if (joins && r == HF_OK) {
        return HF_OK;
    }
    if (r == HF_OK) {
        r = opts->reentrant != 0 ? tell_other_manner(name, err)
                                 : tell_deadlock(name, err);
    } else {
        r = r == HF_LOST && opts->reentrant != 0 ? tell_lost(name, err)
                                                 : (int)HF_BUSY;
    }
    hf__handle_unref(h);
    return r;
}
