/* SPDX-License-Identifier: MIT */
/*
 * Refuses what a store can't do, before anything is sent: each option that
 * needs a capability, and, where grants live with a session, a lease that
 * would be another one. What an option may be at all is options.c's.
 * Called by users' threads.
 */
#include "src/core/fit.h"

#include "src/base/error.h"

static int check_caps(unsigned caps, const hf_acquire_opts *opts, hf_error *err)
{
    const struct {
        bool is_wanted;
        unsigned cap;
        const char *refusal;
    } needs[] = {
        {opts->detached != 0, HF_CAP_DETACH,
         "detached: this store ties a lock to its process; acquire it "
         "without, in a process that lives as long"},
        {opts->min_hold_ms != 0, HF_CAP_KEEP,
         "min_hold_ms: this store can't keep a name closed; leave it at 0, or "
         "use another store"},
        {opts->once_ms != 0, HF_CAP_KEEP,
         "once_ms: this store can't keep the mark of a start; leave it at 0, "
         "or use another store"},
        {opts->fair != 0, HF_CAP_FAIR,
         "fair: this store keeps no line of those who wait; leave it at 0, or "
         "use another store"},
        {opts->shared != 0, HF_CAP_SHARED,
         "shared: this store has one holder for each name; leave it at 0, or "
         "use another store"},
        {opts->slots != 0, HF_CAP_SLOTS,
         "slots: this store has one holder for each name; leave it at 0, or "
         "use another store"},
    };

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (needs[i].is_wanted && (caps & needs[i].cap) == 0) {
            return hf__fail(err, HF_ENOTSUP, "%s", needs[i].refusal);
        }
    }
    return HF_OK;
}

/* A lease that differs from the default was asked for: it must be this one. */
static int check_lease(const hf_acquire_opts *opts, int64_t lease_ms,
                       hf_error *err)
{
    if (opts->auto_renew == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "auto_renew is 0: this store's locks live with the "
                        "session, which is kept alive; leave it at 1, and use "
                        "max_hold_ms for one that must end");
    }
    if (opts->lease_ms != HF_LEASE_DEFAULT_MS && opts->lease_ms != lease_ms) {
        return hf__fail(err, HF_ENOTSUP,
                        "lease_ms is %lld: this store's locks live with the "
                        "session, %lld ms without an answer; leave it out, or "
                        "set session_timeout in the URL",
                        (long long)opts->lease_ms, (long long)lease_ms);
    }
    return HF_OK;
}

int hf__fit_options(hf_client *client, hf_acquire_opts *opts, hf_error *err)
{
    int64_t lease_ms = hf__client_lease_ms(client);
    int r = check_caps(client->settings.caps, opts, err);

    if (r == HF_OK && lease_ms != 0) {
        r = check_lease(opts, lease_ms, err);
        opts->lease_ms = lease_ms;
    }
    return r;
}

int hf__fit_adoption(const hf_client *client, hf_error *err)
{
    if ((client->settings.caps & HF_CAP_SESSION) == 0) {
        return HF_OK;
    }
    return hf__fail(err, HF_ENOTSUP,
                    "this store's locks live with the session that acquired "
                    "them: by token nobody else can renew or release them");
}
