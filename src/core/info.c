/* SPDX-License-Identifier: MIT */
/*
 * The getters of a snapshot. This file decides how the store's record is
 * shown to people; asking for it is look.c's. Any thread; touches no store.
 */
#include "src/core/info.h"

#include "src/base/alloc.h"

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
    length = length < HF_NAME_MAX ? length : HF_NAME_MAX;
    memcpy(info->name, name, length);
    return info;
}

void hf_info_free(hf_info *info)
{
    hf__free(info);
}

static const char *text_or_null(const hf_info *info, const char *text)
{
    return info->record.is_held && *text != '\0' ? text : NULL;
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
    return text_or_null(info, info->record.owner.thread);
}

const char *hf_info_note(const hf_info *info)
{
    return text_or_null(info, info->record.owner.note);
}

int64_t hf_info_pid(const hf_info *info)
{
    return info->record.is_held ? info->record.owner.pid : 0;
}

uint64_t hf_info_fence(const hf_info *info)
{
    return info->record.fence;
}

int64_t hf_info_acquired_us(const hf_info *info)
{
    return info->record.is_held ? info->record.acquired_us : 0;
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
