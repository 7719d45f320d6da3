/* SPDX-License-Identifier: MIT */
/*
 * Cancelling waits. This file only raises the flag and wakes who sleeps on
 * it; what a cancelled wait leaves behind is the claim's to settle. Fired by
 * any thread or signal handler.
 */
#include "src/core/cancel.h"

#include "src/base/alloc.h"

int hf_cancel_new(hf_cancel **ret_cancel)
{
    hf_cancel *cancel = NULL;

    if (ret_cancel == NULL) {
        return HF_EINVAL;
    }
    cancel = hf__alloc(sizeof *cancel);
    if (cancel == NULL) {
        return HF_ENOMEM;
    }
    *ret_cancel = cancel;
    return HF_OK;
}

void hf_cancel_fire(hf_cancel *cancel)
{
    if (cancel != NULL) {
        atomic_store(&cancel->is_fired, 1);
        hf__unpark(&cancel->parker);
    }
}

void hf_cancel_free(hf_cancel *cancel)
{
    hf__free(cancel);
}
