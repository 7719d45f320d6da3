/* SPDX-License-Identifier: MIT */
/*
 * Requests altered on their way to the store, and sessions that are not what
 * they seem, one rule of the contract broken by each. Which mutant uses which
 * is the table's in mutants.c.
 */
#include "tests/contract/spoil.h"

#include "src/backend/memory/store.h"
#include "src/backend/registry.h"

#include <ctype.h>
#include <string.h>

void send_one(void *s, struct hf__op *op)
{
    (void)hf__memory_backend.execute(s, &op, 1, HF__NEVER, NULL);
}

struct hf__record look_at(void *s, const struct hf__op *op)
{
    struct hf__record record = {0};
    struct hf__op look = *op;

    look.kind = HF__OP_INSPECT;
    look.ret_record = &record;
    send_one(s, &look);
    return record;
}

static void take_holders_token(void *s, struct hf__op *op)
{
    struct hf__record record = look_at(s, op);

    if (record.is_held) {
        op->token = record.token;
    }
}

void release_for_anyone(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_RELEASE) {
        take_holders_token(s, op);
    }
}

void renew_for_anyone(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_RENEW) {
        take_holders_token(s, op);
    }
}

void raise_for_anyone(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_RAISE) {
        take_holders_token(s, op);
    }
}

void renewal_revives(void *s, struct hf__op *op)
{
    struct hf__record record = look_at(s, op);

    if (op->kind == HF__OP_RENEW && !record.is_held && record.fence > 0) {
        op->kind = HF__OP_ACQUIRE;
    }
}

void renewal_ignores_lease(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_RENEW) {
        op->lease_us = look_at(s, op).remaining_us + 1;
    }
}

void lease_is_short(void *s, struct hf__op *op)
{
    (void)s;
    op->lease_us /= 2;
}

void lease_never_ends(void *s, struct hf__op *op)
{
    (void)s;
    op->lease_us = INT64_C(86400) * 1000000;
}

void keeps_nothing(void *s, struct hf__op *op)
{
    (void)s;
    op->keep_us = 0;
}

void reopens_nothing(void *s, struct hf__op *op)
{
    (void)s;
    op->reopens = false;
}

void break_ignores_fence(void *s, struct hf__op *op)
{
    (void)s;
    if (op->kind == HF__OP_BREAK) {
        op->fence = 0;
    }
}

void own_claim_is_busy(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE && look_at(s, op).is_held) {
        op->token.bytes[0] ^= 1;
    }
}

/* The token is matched, the lease is not looked at. */
void handover_after_expiry(void *s, struct hf__op *op)
{
    struct hf__op again = *op;

    if (op->kind == HF__OP_HANDOVER && !look_at(s, op).is_held) {
        again.kind = HF__OP_ACQUIRE;
        again.ret_record = NULL;
        send_one(s, &again);
    }
}

void names_fold_case(void *s, struct hf__op *op)
{
    static _Thread_local char folded[HF__KEY_MAX];

    (void)s;
    for (size_t i = 0; i < op->key.length; i++) {
        folded[i] = (char)tolower((unsigned char)op->key.bytes[i]);
    }
    op->key.bytes = folded;
}

void names_lose_last_spaces(void *s, struct hf__op *op)
{
    (void)s;
    while (op->key.bytes[op->key.length - 1] == ' ') {
        op->key.length--;
    }
}

void names_are_cut(void *s, struct hf__op *op)
{
    (void)s;
    if (op->key.length > 255) {
        op->key.length = 255;
    }
}

void names_lose_their_prefix(void *s, struct hf__op *op)
{
    (void)s;
    op->key.bytes += op->key.name_at;
    op->key.length = (uint16_t)(op->key.length - op->key.name_at);
    op->key.name_at = 0;
}

void labels_are_cut(void *s, struct hf__op *op)
{
    static _Thread_local struct hf__owner cut;

    (void)s;
    if (op->owner != NULL) {
        cut = *op->owner;
        cut.note[100] = '\0';
        op->owner = &cut;
    }
}

/* ---- grants that live with a session */

/* As one that takes the token for the proof of whose grant it is. */
void session_is_anybodys(void *s, struct hf__op *op)
{
    struct hf__record record = look_at(s, op);

    if (op->kind == HF__OP_RENEW && op->result == HF_LOST && record.is_held &&
        hf__token_equal(&record.token, &op->token)) {
        op->result = HF_OK;
        op->fence = record.fence;
    }
}

/* A holder may believe in it for twice as long as its session lives. */
int lease_outlives_session(void *s, const struct hf__url *url,
                           const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__head *head = s;
    int r = hf__memory_backend.open(s, url, allow, deadline, err);

    head->server_info.lease_us *= 3;
    return r;
}

/* The server ends it as soon as it does not hear of it. */
int session_ends_at_once(void *s, const struct hf__url *url, const char *allow,
                         hf__time deadline, hf_error *err)
{
    struct hf__mem_session *session = s;
    int r = hf__memory_backend.open(s, url, allow, deadline, err);

    session->life->timeout_ms = 0;
    return r;
}

/* ---- how the last grant ended */

void all_is_taken_over(void *s, struct hf__op *op)
{
    (void)s;
    op->took_over = op->kind == HF__OP_ACQUIRE && op->result == HF_OK;
}

void nothing_is_taken_over(void *s, struct hf__op *op)
{
    (void)s;
    op->took_over = false;
}
