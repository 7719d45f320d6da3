/* SPDX-License-Identifier: MIT */
/*
 * More words of the contract tests over the public API: grants that live by
 * their lease alone.
 */
#ifndef HF_TESTS_CONTRACT_DETACHED_H
#define HF_TESTS_CONTRACT_DETACHED_H

#include "tests/contract/api.h"

/* For a grant that is detached and not renewed. */
static inline hf_acquire_opts detached(int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(patience(5000), lease_ms);

    opts.detached = 1;
    opts.auto_renew = 0;
    return opts;
}

/* Acquires detached and leaves the grant behind; its token. */
static inline void leave_behind(hf_client *client, const char *name,
                                int64_t lease_ms, char token[33])
{
    hf_acquire_opts opts = detached(lease_ms);
    AUTO_LOCK *lock = NULL;

    EXPECT_IS(hf_acquire(client, name, &opts, &lock, NULL), HF_OK);
    snprintf(token, 33, "%s", hf_token(lock));
    EXPECT_IS(hf_detach(lock, NULL), HF_OK);
}

#endif
