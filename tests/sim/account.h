/* SPDX-License-Identifier: MIT */
/*
 * Who is at each name of memory:'s by what was asked of it and answered: the
 * account from which the line's rules are judged (line.c). It asks no store.
 *
 * An operation reads the store's clock at some moment while it runs, so there
 * are two questions: whether somebody surely is there, and whether perhaps.
 */
#ifndef HF_TESTS_SIM_ACCOUNT_H
#define HF_TESTS_SIM_ACCOUNT_H

#include "src/backend/backend.h"
#include "tests/sim/scene.h"

enum { HF__STANDS = 48 };

/* A grant, or a ticket. */
struct hf__stander {
    struct hf__token token;
    struct hf__lock_mode lock_mode;
    int host;
    unsigned life; /* of the host's, where grants live with their client */
    int claim;     /* which one it was, as its note says; 0: unknown */
    bool is_vague; /* perhaps it is there no more, or has lost its place */
    /* ---- of a grant */
    int slot;
    uint64_t fence;
    int64_t end; /* by the store's clock */
    bool is_broken;
    /* ---- of a ticket */
    int64_t seen;  /* by the store's clock: surely no later than it last was */
    int64_t asked; /* surely no earlier */
    int64_t waits_since; /* true time; 0: its claim is not known to wait */
};

struct hf__stood {
    struct hf__stander grants[HF__STANDS];
    struct hf__stander tickets[HF__STANDS]; /* in the order of their coming */
    int n_grants;
    int n_tickets;
    uint64_t top; /* the highest fence that was ever given */
};

struct hf__stood *hf__account(int name);
int hf__account_name(const struct hf__key *);
/* By the store's clock. */
int64_t hf__account_now(void);
struct hf__stander *hf__account_grant(struct hf__stood *,
                                      const struct hf__token *);
struct hf__stander *hf__account_ticket(struct hf__stood *,
                                       const struct hf__token *);
bool hf__surely_runs(const struct hf__stander *grant);
bool hf__perhaps_runs(const struct hf__stander *grant);
bool hf__surely_waits(struct hf__stander *ticket);
bool hf__perhaps_waits(struct hf__stander *ticket);
/* What was applied, once it was judged. */
void hf__account_enter(const struct hf__op *);
/* The first number in the note of whoever asks; 0: none. */
int hf__account_claim(const struct hf__owner *);

#endif
