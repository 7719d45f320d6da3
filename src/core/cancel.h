/* SPDX-License-Identifier: MIT */
/*
 * The cancel object: a flag and the parker on which every wait that was given
 * it sleeps, so that firing needs no lock and may come from a handler.
 */
#ifndef HF_CORE_CANCEL_H
#define HF_CORE_CANCEL_H

#include "src/base/wake.h"

struct hf_cancel {
    struct hf__parker parker;
    atomic_int is_fired;
};

#endif
