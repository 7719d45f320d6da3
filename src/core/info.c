/* SPDX-License-Identifier: MIT */
/*
 * The getters of a snapshot. This file decides how the store's record is
 * shown to people; asking for it is look.c's. Any thread; touches no store.
 */
#include "src/core/info.h"

#include "src/base/alloc.h"
#include "src/core/owner.h"

#include <string.h>

struct hf_info *hf__info_new(const char *name, size_t length,
                             const struct hf__record *record)
{
    hf_info *info = hf__alloc(sizeof *info);

    if (info == NULL) {
        return NULL;
    }
    hf__list_init(&info->link);
    info->record = *record;
    info->n_holders = -1;
    info->n_waiters = -1;
    length = length < HF_NAME_MAX ? length : HF_NAME_MAX;
    memcpy(info->name, name, length);
    return info;
}

int hf__info_set_crowd(struct hf_info *info, unsigned caps,
                       const struct hf__crowd *crowd)
{
    bool has_line = (caps & (HF_CAP_FAIR | HF_CAP_SHARED | HF_CAP_SLOTS)) != 0;

    info->n_holders = info->record.is_held ? 1 : 0;
    info->n_waiters = has_line ? 0 : -1;
    if (crowd->n == 0) {
        return HF_OK;
    }
    info->party = hf__alloc((size_t)crowd->n * sizeof *info->party);
    if (info->party == NULL) {
        return HF_ENOMEM;
    }
    info->n_holders = 0;
    info->record = *hf__crowd_first_to_end(crowd, &info->record);
    for (int i = 0; i < crowd->n; i++) {
        hf_info *one = &info->party[i];

        *one = (hf_info){.record = crowd->list[i].record,
                         .is_waiting = crowd->list[i].is_waiting,
                         .n_holders = -1,
                         .n_waiters = -1};
        memcpy(one->name, info->name, sizeof one->name);
        if (one->is_waiting) {
            info->n_waiters = info->n_waiters < 0 ? 1 : info->n_waiters + 1;
        } else {
            info->n_holders++;
        }
    }
    return HF_OK;
}

void hf_info_free(hf_info *info)
{
    if (info != NULL) {
        hf__free(info->party);
    }
    hf__free(info);
}

/* Is there somebody of whom it tells? */
static bool is_of_somebody(const hf_info *info)
{
    return info->record.is_held || info->is_waiting;
}

static const char *text_or_null(const hf_info *info, const char *text)
{
    return is_of_somebody(info) && *text != '\0' ? text : NULL;
}

const char *hf_info_name(const hf_info *info)
{
    return info->name;
}

hf_presence hf_info_presence(const hf_info *info)
{
    return info->record.is_held ? HF_HELD_BY : HF_FREE;
}

const char *hf_info_label(const hf_info *info)
{
    return text_or_null(info, info->record.owner.label);
}

const char *hf_info_host(const hf_info *info)
{
    return text_or_null(info, info->record.owner.host);
}

const char *hf_info_thread(const hf_info *info)
{
    return text_or_null(info, hf__owner_thread(&info->record.owner));
}

int64_t hf_info_tid(const hf_info *info)
{
    return is_of_somebody(info) ? hf__owner_tid(&info->record.owner) : 0;
}

const char *hf_info_note(const hf_info *info)
{
    return text_or_null(info, info->record.owner.note);
}

int64_t hf_info_pid(const hf_info *info)
{
    return is_of_somebody(info) ? info->record.owner.pid : 0;
}

uint64_t hf_info_fence(const hf_info *info)
{
    return info->record.fence;
}

int64_t hf_info_acquired_us(const hf_info *info)
{
    return is_of_somebody(info) ? info->record.acquired_us : 0;
}

int64_t hf_info_remaining_ms(const hf_info *info)
{
    int64_t us = info->record.remaining_us;

    if (!info->record.is_held && !info->record.is_kept) {
        return 0;
    }
    return us < 0 ? -1 : us / 1000;
}

int hf_info_holder_lives(const hf_info *info)
{
    return info->record.is_held ? info->record.holder_lives : -1;
}

int hf_info_shared(const hf_info *info)
{
    return is_of_somebody(info) && info->record.manner.mode == HF__MODE_SHARED;
}

int hf_info_slots(const hf_info *info)
{
    return is_of_somebody(info) ? info->record.manner.slots : 0;
}

int hf_info_slot(const hf_info *info)
{
    return info->record.is_held && info->record.manner.slots > 0
               ? info->record.slot
               : -1;
}

/* ---- all who are there */

int hf_info_holders(const hf_info *info)
{
    return info->n_holders;
}

int hf_info_waiters(const hf_info *info)
{
    return info->n_waiters;
}

const hf_info *hf_info_holder_at(const hf_info *info, int i)
{
    if (i < 0 || i >= info->n_holders) {
        return NULL;
    }
    return info->party == NULL ? info : &info->party[i];
}

const hf_info *hf_info_waiter_at(const hf_info *info, int i)
{
    return i < 0 || i >= info->n_waiters ? NULL
                                         : &info->party[info->n_holders + i];
}
