/* SPDX-License-Identifier: MIT */
/*
 * The mutants: each takes what memory: does and spoils it in one way, before
 * the operation (the request is altered, spoil.c) or after it (the answer is,
 * here), or around it (spoil_crowd.c). They keep no state, so a session's
 * state is memory:'s.
 */
#include "tests/contract/mutants.h"
#include "tests/contract/spoil.h"
#include "tests/contract/spoil_crowd.h"

#include "src/backend/registry.h"
#include "src/base/wake.h"

#include <string.h>

/* NULL: leaves that part alone. */
struct mutant {
    const char *name;
    const char *test; /* the one that is to catch it */
    const char *kind; /* ":session": of memory: with sessions */
    bool stops_at_refusal;
    int (*open)(void *s, const struct hf__url *, const char *allow,
                hf__time deadline, hf_error *);
    void (*request)(void *s, struct hf__op *);
    void (*answer)(void *s, struct hf__op *);
    int (*wait)(void *s, struct hf__watch *w[], int n, hf__time deadline,
                hf_error *);
    int (*list)(void *s, const struct hf__key *prefix, hf__list_fn, void *arg,
                hf__time deadline, hf_error *);
    int (*gc)(void *s, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *err);
};

static const struct mutant *active;
static struct hf__backend active_backend;

/* ---- answers altered */

/* As an upsert that reports a row touched as a row inserted. */
static void busy_looks_granted(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE && op->result == HF_BUSY) {
        op->result = HF_OK;
        op->fence = look_at(s, op).fence + 1;
    }
}

static void fence_starts_again(void *s, struct hf__op *op)
{
    (void)s;
    if (op->kind == HF__OP_ACQUIRE && op->result == HF_OK) {
        op->fence = 1;
    }
}

static void fence_rises_with_renewals(void *s, struct hf__op *op)
{
    struct hf__op raise = *op;

    if (op->kind == HF__OP_RENEW && op->result == HF_OK) {
        raise.kind = HF__OP_RAISE;
        raise.fence = look_at(s, op).fence + 1;
        send_one(s, &raise);
    }
}

static void break_hides_old_holder(void *s, struct hf__op *op)
{
    (void)s;
    if (op->kind == HF__OP_BREAK && op->ret_record != NULL) {
        memset(op->ret_record, 0, sizeof *op->ret_record);
    }
}

static void busy_tells_nothing(void *s, struct hf__op *op)
{
    (void)s;
    if (op->result == HF_BUSY && op->ret_record != NULL) {
        memset(op->ret_record, 0, sizeof *op->ret_record);
    }
}

static void lost_tells_nothing(void *s, struct hf__op *op)
{
    (void)s;
    if (op->result == HF_LOST && op->ret_record != NULL) {
        memset(op->ret_record, 0, sizeof *op->ret_record);
    }
}

/* A change that matched no row counts as done. */
static void lost_looks_done(void *s, struct hf__op *op)
{
    (void)s;
    if (op->kind == HF__OP_RELEASE && op->result == HF_LOST) {
        op->result = HF_OK;
    }
}

static void free_names_lose_fence(void *s, struct hf__op *op)
{
    (void)s;
    if (op->ret_record != NULL && !op->ret_record->is_held) {
        op->ret_record->fence = 0;
    }
}

/* ---- the other calls altered */

static int sleeps_to_the_deadline(void *s, struct hf__watch *w[], int n,
                                  hf__time deadline, hf_error *err)
{
    struct hf__parker nobody = {0};

    (void)w;
    (void)n;
    (void)err;
    while (hf__before(hf__now(), deadline) && !hf__is_interrupted(s)) {
        hf__park(&nobody, hf__parker_seen(&nobody),
                 hf__earlier(deadline, hf__after_ms(hf__now(), 10)));
    }
    return HF_OK;
}

static int wait_cannot_be_interrupted(void *s, struct hf__watch *w[], int n,
                                      hf__time deadline, hf_error *err)
{
    int r;

    do {
        struct hf__head *head = s;
        atomic_store(&head->interrupted, head->generation - 1);
        r = hf__memory_backend.wait(s, w, n, deadline, err);
    } while (hf__before(hf__now(), deadline) && !w[0]->has_fired);
    return r;
}

static int lists_everything(void *s, const struct hf__key *prefix,
                            hf__list_fn fn, void *arg, hf__time deadline,
                            hf_error *err)
{
    struct hf__key all = *prefix;

    all.length = prefix->name_at;
    return hf__memory_backend.list(s, &all, fn, arg, deadline, err);
}

struct go_on {
    hf__list_fn fn;
    void *arg;
};

static int never_stop(void *arg, const char *name, size_t length,
                      const struct hf__record *record)
{
    const struct go_on *g = arg;

    (void)g->fn(g->arg, name, length, record);
    return 0;
}

static int list_does_not_stop(void *s, const struct hf__key *prefix,
                              hf__list_fn fn, void *arg, hf__time deadline,
                              hf_error *err)
{
    struct go_on g = {fn, arg};

    return hf__memory_backend.list(s, prefix, never_stop, &g, deadline, err);
}

static int gc_takes_the_young(void *s, const struct hf__key *prefix,
                              struct hf__gc *g, hf__time deadline,
                              hf_error *err)
{
    g->idle_us = 0;
    return hf__memory_backend.gc(s, prefix, g, deadline, err);
}

static int gc_counts_nothing(void *s, const struct hf__key *prefix,
                             struct hf__gc *g, hf__time deadline, hf_error *err)
{
    int r = hf__memory_backend.gc(s, prefix, g, deadline, err);

    g->count = 0;
    return r;
}

static int gc_calls_all_expired(void *s, const struct hf__key *prefix,
                                struct hf__gc *g, hf__time deadline,
                                hf_error *err)
{
    int r = hf__memory_backend.gc(s, prefix, g, deadline, err);

    g->expired = g->count;
    return r;
}

/* ---- the table */

static const struct mutant mutants[] = {
    {"release-for-anyone", "a_stranger_cannot_release",
     .request = release_for_anyone},
    {"renew-for-anyone", "a_stranger_cannot_renew",
     .request = renew_for_anyone},
    {"raise-for-anyone", "a_stranger_cannot_raise_the_fence",
     .request = raise_for_anyone},
    {"renewal-revives", "a_renewal_after_the_lease_ran_out_is_lost",
     .request = renewal_revives},
    {"renewal-ignores-lease", "a_renewal_makes_the_lease_what_it_says",
     .request = renewal_ignores_lease},
    {"lease-is-short", "a_lease_lasts_as_long_as_it_says",
     .request = lease_is_short},
    {"lease-never-ends", "a_lease_lasts_as_long_as_it_says",
     .request = lease_never_ends},
    {"keeps-nothing", "a_released_name_can_be_kept_closed",
     .request = keeps_nothing},
    {"reopens-nothing", "the_owner_can_reopen_what_it_kept_closed",
     .request = reopens_nothing},
    {"break-ignores-fence", "a_break_with_a_fence_ends_only_that_grant",
     .request = break_ignores_fence},
    {"own-claim-is-busy", "acquiring_again_with_the_same_token",
     .request = own_claim_is_busy},
    {"handover-after-expiry", "a_handover_after_the_lease_ran_out_is_lost",
     .request = handover_after_expiry},
    {"names-fold-case", "names_are_told_apart_byte_by_byte",
     .request = names_fold_case},
    {"names-lose-last-spaces", "names_are_told_apart_byte_by_byte",
     .request = names_lose_last_spaces},
    {"names-are-cut", "the_longest_names_are_kept_in_full",
     .request = names_are_cut},
    {"gc-takes-the-young", "young_records_stay", .gc = gc_takes_the_young},
    {"gc-counts-nothing", "idle_records_are_deleted_and_counted",
     .gc = gc_counts_nothing},
    {"gc-calls-all-expired", "what_expired_is_told_from_what_was_released",
     .gc = gc_calls_all_expired},
    {"all-is-taken-over", "what_was_given_back_late_is_not_taken_over",
     .answer = all_is_taken_over},
    {"nothing-is-taken-over", "a_grant_after_one_that_ran_out_is_a_takeover",
     .answer = nothing_is_taken_over},
    {"names-lose-their-prefix", "prefixes_keep_their_names_apart",
     .request = names_lose_their_prefix},
    {"labels-are-cut", "labels_come_back_as_they_were",
     .request = labels_are_cut},
    {"busy-looks-granted", "a_second_claim_is_busy",
     .answer = busy_looks_granted},
    {"busy-looks-granted", "eight_threads_lose_no_update",
     .answer = busy_looks_granted},
    {"fence-starts-again", "the_fence_rises_with_each_grant",
     .answer = fence_starts_again},
    {"fence-rises-with-renewals", "renewing_leaves_the_fence_alone",
     .answer = fence_rises_with_renewals},
    {"break-hides-old-holder", "a_break_ends_the_grant",
     .answer = break_hides_old_holder},
    {"busy-tells-nothing", "busy_tells_who_holds_it",
     .answer = busy_tells_nothing},
    {"lost-tells-nothing", "who_was_late_can_do_nothing",
     .answer = lost_tells_nothing},
    {"lost-looks-done", "what_is_released_is_not_ours",
     .answer = lost_looks_done},
    {"free-names-lose-fence", "the_fence_stays_when_a_lock_is_released",
     .answer = free_names_lose_fence},
    {"stops-at-refusal", "one_refusal_does_not_touch_its_neighbours",
     .stops_at_refusal = true},
    {"sleeps-to-the-deadline", "a_release_wakes_a_waiter",
     .wait = sleeps_to_the_deadline},
    {"wait-cannot-be-interrupted", "an_interrupt_ends_a_wait",
     .wait = wait_cannot_be_interrupted},
    {"lists-everything", "a_list_can_be_narrowed_to_a_prefix",
     .list = lists_everything},
    {"list-does-not-stop", "a_list_stops_when_told",
     .list = list_does_not_stop},
    {"barging", "nobody_barges_past_the_line", .request = barging_request,
     .answer = barging_answer},
    {"barging-handover", "a_handover_does_not_go_past_the_line",
     .request = barging_handover_request, .answer = barging_answer},
    {"tickets-live-for-ever", "who_is_gone_is_passed_over",
     .request = tickets_live_for_ever},
    {"tickets-live-for-ever", "a_handover_does_not_wait_for_who_is_gone",
     .request = tickets_live_for_ever},
    {"asking-again-begins-anew", "who_asks_again_keeps_its_place",
     .request = asking_again_begins_anew},
    {"release-keeps-ticket", "a_release_takes_a_ticket_out_of_line",
     .request = release_keeps_ticket_request, .answer = barging_answer},
    {"grant-keeps-ticket", "a_grant_takes_its_ticket_out_of_line",
     .answer = grant_keeps_ticket},
    {"wait-forgets-the-ticket", "a_wait_keeps_a_ticket_alive",
     .wait = wait_forgets_the_ticket},
    {"nobody-queues-behind-shared",
     "who_waits_behind_shared_stops_those_who_come_later",
     .request = nobody_queues_behind_shared},
    {"shared-beside-alone", "alone_waits_for_all_who_share",
     .request = shared_beside_alone_request, .answer = beside_answer},
    {"alone-beside-shared", "alone_waits_for_all_who_share",
     .request = alone_beside_shared_request, .answer = beside_answer},
    {"break-ends-one", "a_break_without_a_fence_ends_all_grants",
     .request = break_ends_one},
    {"broken-looks-expired", "a_break_with_a_fence_ends_that_grant_of_several",
     .answer = broken_looks_expired},
    {"renewal-is-for-all", "a_renewal_beside_others_is_of_ones_own_lease",
     .request = renewal_is_for_all},
    {"fence-is-each-ones-own", "fences_rise_over_all_grants_of_a_name",
     .answer = fence_is_each_ones_own},
    {"any-number-of-slots-fits",
     "slots_are_given_lowest_first_and_no_more_than_there_are",
     .request = any_number_of_slots_fits},
    {"any-number-of-slots-fits",
     "another_number_of_slots_is_refused_while_one_is_held",
     .request = any_number_of_slots_fits},
    {"slot-is-given-twice",
     "slots_are_given_lowest_first_and_no_more_than_there_are",
     .answer = slot_is_given_twice},
    {"slot-is-given-twice", "the_most_slots_are_told_apart",
     .answer = slot_is_given_twice},
    {"lease-outlives-session",
     "a_session_that_is_cut_keeps_what_it_has_for_its_lease",
     .kind = ":session", .open = lease_outlives_session},
    {"session-ends-at-once",
     "a_session_that_is_cut_keeps_what_it_has_for_its_lease",
     .kind = ":session", .open = session_ends_at_once},
    {"session-is-anybodys",
     "what_lives_with_a_session_is_no_other_clients_to_renew",
     .kind = ":session", .answer = session_is_anybodys},
};
enum { N_MUTANTS = (int)(sizeof mutants / sizeof *mutants) };

static int mutant_execute(void *s, struct hf__op *ops[], int n,
                          hf__time deadline, hf_error *err)
{
    (void)deadline;
    (void)err;
    for (int i = 0; i < n; i++) {
        struct hf__op op = *ops[i];

        if (active->request != NULL) {
            active->request(s, &op);
        }
        send_one(s, &op);
        if (active->answer != NULL) {
            active->answer(s, &op);
        }
        ops[i]->result = op.result;
        ops[i]->fence = op.fence;
        ops[i]->ret_reason = op.ret_reason;
        ops[i]->is_queued = op.is_queued;
        ops[i]->took_over = op.took_over;
        ops[i]->slot = op.slot;
        if (active->stops_at_refusal && op.result != HF_OK) {
            break;
        }
    }
    return HF_OK;
}

const char *mutant_at(int i)
{
    return i >= 0 && i < N_MUTANTS ? mutants[i].name : NULL;
}

const char *mutant_test_at(int i)
{
    return i >= 0 && i < N_MUTANTS ? mutants[i].test : NULL;
}

const char *mutant_kind_at(int i)
{
    return mutants[i].kind != NULL ? mutants[i].kind : "";
}

static void activate(const struct mutant *m)
{
    active = m;
    active_backend = hf__memory_backend;
    active_backend.execute = mutant_execute;
    if (m->open != NULL) {
        active_backend.open = m->open;
    }
    if (m->wait != NULL) {
        active_backend.wait = m->wait;
    }
    if (m->list != NULL) {
        active_backend.list = m->list;
    }
    if (m->gc != NULL) {
        active_backend.gc = m->gc;
    }
}

const struct hf__backend *find_mutant(const char *scheme)
{
    for (int i = 0; i < N_MUTANTS && active == NULL; i++) {
        size_t length = strlen(mutants[i].name);
        if (strncmp(scheme, mutants[i].name, length) == 0 &&
            strcmp(scheme + length, MUTANT_SUFFIX) == 0) {
            activate(&mutants[i]);
        }
    }
    return active != NULL ? &active_backend : NULL;
}
