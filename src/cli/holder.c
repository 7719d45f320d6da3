/* SPDX-License-Identifier: MIT */
/*
 * Decides how a holder is described. Text that others wrote is cleaned or
 * quoted here, so that callers may print the result as it is. Thread: any.
 */
#include "src/cli/holder.h"
#include "src/cli/clock.h"

#include <inttypes.h>
#include <stdio.h>

const char *cli_holder_thread(const hf_info *info, char to[CLI_THREAD_SIZE])
{
    (void)snprintf(to, CLI_THREAD_SIZE, "%" PRId64 " %s", hf_info_tid(info),
                   hf_info_thread(info) ? hf_info_thread(info) : "?");
    return hf_info_tid(info) > 0 ? to : NULL;
}

void cli_holder_who(struct cli_text *text, const hf_info *info)
{
    const char *label = hf_info_label(info);
    const char *host = hf_info_host(info);
    int64_t pid = hf_info_pid(info);
    const char *before = " (";
    char thread[CLI_THREAD_SIZE];

    cli_text_clean(text, label && *label ? label : "somebody unknown");
    if (host) {
        cli_text_add(text, "%shost ", before);
        cli_text_clean(text, host);
        before = ", ";
    }
    if (pid > 0) {
        cli_text_add(text, "%spid %" PRId64, before, pid);
        before = ", ";
    }
    if (hf_info_tid(info) > 0) {
        cli_text_add(text, "%sthread ", before);
        cli_text_clean(text, cli_holder_thread(info, thread));
        before = ", ";
    }
    cli_text_add(text, *before == ',' ? ")" : "");
}

static void add_since(struct cli_text *text, const hf_info *info)
{
    int64_t since_us = hf_info_acquired_us(info);
    int64_t held_us = 0;
    char stamp[CLI_STAMP_SIZE];
    char held[CLI_DURATION_SIZE];

    if (since_us <= 0) {
        return; /* its start is unknown */
    }
    cli_text_add(text, " since %s", cli_stamp_short(since_us, stamp));
    held_us = cli_wall_us() - since_us;
    if (held_us >= 0) {
        cli_text_add(text, " (%s)", cli_duration_short(held_us / 1000, held));
    }
}

void cli_holder_line(struct cli_text *text, const hf_info *info)
{
    int64_t left_ms = hf_info_remaining_ms(info);
    char left[CLI_DURATION_SIZE];

    cli_holder_who(text, info);
    add_since(text, info);
    if (left_ms >= 0) {
        cli_text_add(text, ", %s of its lease left",
                     cli_duration_short(left_ms, left));
    }
    if (hf_info_holder_lives(info) == 0) {
        cli_text_add(text, ", its process is gone");
    }
    if (hf_info_fence(info)) {
        cli_text_add(text, ", fence %" PRIu64, hf_info_fence(info));
    }
    if (hf_info_shared(info) || hf_info_slots(info) > 0) {
        cli_text_add(text, ", ");
        cli_holder_mode(text, info);
    }
    if (hf_info_holders(info) > 1) {
        cli_text_add(text, " (the first of %d holders whose lease ends)",
                     hf_info_holders(info));
    }
}

int64_t cli_holder_kept_ms(const hf_info *info)
{
    return hf_info_presence(info) == HF_FREE ? hf_info_remaining_ms(info) : 0;
}

void cli_holder_kept(struct cli_text *text, const hf_info *info)
{
    int64_t left_ms = cli_holder_kept_ms(info);
    char left[CLI_DURATION_SIZE];

    cli_text_add(text, "kept closed ");
    if (left_ms > 0) {
        cli_text_add(text, "for %s more ", cli_duration_short(left_ms, left));
    }
    cli_text_add(text, "(--min-hold)");
}

const hf_info *cli_holder_with(const hf_info *info, uint64_t fence)
{
    const hf_info *one = NULL;
    int i = 0;

    while ((one = hf_info_holder_at(info, i++)) != NULL) {
        if (hf_info_fence(one) == fence) {
            return one;
        }
    }
    return NULL;
}

void cli_holder_mode(struct cli_text *text, const hf_info *info)
{
    if (hf_info_shared(info)) {
        cli_text_add(text, "shared");
    } else if (hf_info_slots(info) > 0) {
        cli_text_add(text, "slot %d of %d", hf_info_slot(info),
                     hf_info_slots(info));
    }
}

static void add_number(struct cli_text *text, const char *field, int64_t number,
                       bool is_known)
{
    if (is_known) {
        cli_text_add(text, ",\"%s\":%" PRId64, field, number);
    } else {
        cli_text_add(text, ",\"%s\":null", field);
    }
}

static void add_owner(struct cli_text *text, const hf_info *info)
{
    cli_text_add(text, "\"owner\":{\"label\":");
    cli_text_json(text, hf_info_label(info));
    cli_text_add(text, ",\"host\":");
    cli_text_json(text, hf_info_host(info));
    add_number(text, "pid", hf_info_pid(info), hf_info_pid(info) > 0);
    cli_text_add(text, ",\"thread\":");
    cli_text_json(text, hf_info_thread(info));
    add_number(text, "tid", hf_info_tid(info), hf_info_tid(info) > 0);
    cli_text_add(text, "}");
}

static const char *state_word(hf_presence presence)
{
    return presence == HF_FREE      ? "free"
           : presence == HF_HELD_BY ? "held"
                                    : "unknown";
}

static const char *mode_word(const hf_info *info)
{
    return hf_info_shared(info)      ? "shared"
           : hf_info_slots(info) > 0 ? "slots"
                                     : "exclusive";
}

/* Add one of several holders or waiters. */
static void add_participant(struct cli_text *text, const hf_info *one)
{
    int64_t since_us = hf_info_acquired_us(one);
    bool is_holder = hf_info_presence(one) == HF_HELD_BY;
    char stamp[CLI_STAMP_SIZE];

    cli_text_add(text, "{");
    add_owner(text, one);
    cli_text_add(text, ",\"note\":");
    cli_text_json(text, hf_info_note(one));
    cli_text_add(text, ",\"mode\":");
    cli_text_json(text, mode_word(one));
    cli_text_add(text, ",\"since\":");
    cli_text_json(text, since_us > 0 ? cli_stamp(since_us, stamp) : NULL);
    if (is_holder) {
        add_number(text, "slot", hf_info_slot(one), hf_info_slot(one) >= 0);
        add_number(text, "fence", (int64_t)hf_info_fence(one),
                   hf_info_fence(one) > 0);
        add_number(text, "remaining_ms", hf_info_remaining_ms(one),
                   hf_info_remaining_ms(one) >= 0);
    }
    cli_text_add(text, "}");
}

/* Add the holders or the waiters; null where the answer does not cover all of
 * them, or the store cannot tell. */
static void add_participants(struct cli_text *text, const char *field,
                             const hf_info *info, int n,
                             const hf_info *(*at)(const hf_info *, int))
{
    if (n < 0) {
        cli_text_add(text, ",\"%s\":null", field);
        return;
    }
    cli_text_add(text, ",\"%s\":[", field);
    for (int i = 0; i < n; i++) {
        cli_text_add(text, i ? "," : "");
        add_participant(text, at(info, i));
    }
    cli_text_add(text, "]");
}

void cli_holder_json(struct cli_text *text, const hf_info *info)
{
    bool is_held = hf_info_presence(info) == HF_HELD_BY;
    int64_t since_us = is_held ? hf_info_acquired_us(info) : 0;
    char stamp[CLI_STAMP_SIZE];

    cli_text_add(text, "\"name\":");
    cli_text_json(text, hf_info_name(info));
    cli_text_add(text, ",\"state\":\"%s\"", state_word(hf_info_presence(info)));
    if (is_held) {
        cli_text_add(text, ",");
        add_owner(text, info);
    } else {
        cli_text_add(text, ",\"owner\":null");
    }
    cli_text_add(text, ",\"note\":");
    cli_text_json(text, is_held ? hf_info_note(info) : NULL);
    cli_text_add(text, ",\"mode\":");
    cli_text_json(text, is_held ? mode_word(info) : NULL);
    add_number(text, "slots", hf_info_slots(info),
               is_held && hf_info_slots(info) > 0);
    add_number(text, "slot", hf_info_slot(info), hf_info_slot(info) >= 0);
    add_number(text, "fence", (int64_t)hf_info_fence(info),
               hf_info_fence(info) > 0);
    cli_text_add(text, ",\"acquired_at\":");
    cli_text_json(text, since_us > 0 ? cli_stamp(since_us, stamp) : NULL);
    add_number(text, "remaining_ms", hf_info_remaining_ms(info),
               (is_held && hf_info_remaining_ms(info) >= 0) ||
                   cli_holder_kept_ms(info) > 0);
    add_participants(text, "holders", info, hf_info_holders(info),
                     hf_info_holder_at);
    add_participants(text, "waiters", info, hf_info_waiters(info),
                     hf_info_waiter_at);
}

void cli_caps_json(struct cli_text *text, const hf_caps_info *caps)
{
    cli_text_add(text, "\"store\":");
    cli_text_json(text, caps->store);
    cli_text_add(text, ",\"grade\":\"%c\",\"reach\":\"%s\"", caps->grade,
                 cli_reach_word(caps->reach));
}

void cli_caps_line(struct cli_text *text, const hf_caps_info *caps)
{
    cli_text_add(text, "store ");
    cli_text_clean(text, caps->store ? caps->store : "unknown");
    cli_text_add(text, ", reach %s, grade %c (%s)", cli_reach_word(caps->reach),
                 caps->grade, caps->rests_on ? caps->rests_on : "unknown");
}

void cli_holder_command(struct cli_text *text, const struct cli_store *store,
                        const char *verb, const char *name)
{
    cli_text_add(text, "holdfast %s ", verb);
    if (store->is_option) {
        cli_text_add(text, "--url ");
        cli_text_shell(text, store->shown);
        cli_text_add(text, " ");
    }
    if (name[0] == '-') {
        cli_text_add(text, "-- ");
    }
    cli_text_shell(text, name);
}

void cli_holder_break(struct cli_text *text, const struct cli_store *store,
                      const hf_info *info)
{
    const char *name = hf_info_name(info);
    struct cli_text head = {0};

    if (hf_info_fence(info)) {
        cli_text_add(&head, "break --fence %" PRIu64, hf_info_fence(info));
    } else {
        cli_text_add(&head, "break --force");
    }
    cli_holder_command(text, store, name[0] == '-' ? head.data : "break", name);
    if (name[0] != '-') {
        cli_text_add(text, "%s", head.data + sizeof "break" - 1);
    }
    cli_text_fini(&head);
}

void cli_info_auto(hf_info **info)
{
    hf_info_free(*info);
}
