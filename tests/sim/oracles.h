/* SPDX-License-Identifier: MIT */
/*
 * Who looks at what the hosts believe, do and owe. Nothing here takes time or
 * ends a turn; a flaw ends the process.
 */
#ifndef HF_TESTS_SIM_ORACLES_H
#define HF_TESTS_SIM_ORACLES_H

#include "src/backend/backend.h"
#include "tests/sim/scene.h"

/* ---- oracles.c */
struct hf__claim_seen { /* when the call began */
    int64_t at;         /* true time */
    int64_t stood;
    int64_t told; /* by its clock, when it was called back; 0: as it returns */
    uint64_t floor[HF__NAMES]; /* fences that were seen held by then */
};
void hf__oracle_call(struct hf__claim_seen *);
/* The caller has it: of the name, in that way. */
void hf__oracle_granted(hf_lock *whole, hf_lock *part, int name,
                        const hf_acquire_opts *, const struct hf__claim_seen *);
/* As hf_held(), and what that may say after what it said. */
bool hf__oracle_held(hf_lock *whole);
void hf__oracle_forget(const hf_lock *whole);
void hf__oracle_dead(int host);
/* What no client could foresee: locks of that host; of that name up to that
 * fence. -1: of all. */
void hf__oracle_excuse(int host, int name, uint64_t fence);
/* A renewal or a release goes out. */
void hf__oracle_sent(const struct hf__op *);
/* Its host has the answer. */
void hf__oracle_answered(const struct hf__op *);
/* A call that began then is back, which had so long by its own clock. */
void hf__oracle_took(const struct hf__claim_seen *, int64_t limit_ms,
                     const char *what);
bool hf__oracle_is_excused(const hf_lock *whole);
/* Of who holds it by that token, not excused; 0: nobody does. */
uint64_t hf__oracle_fence_held(const struct hf__token *);
void hf__oracle_look(void);

/* ---- line.c: those at a name */
/* By the mutex of the way, right after it was applied. */
void hf__line_applied(const struct hf__op *);
/* Somebody waits for that name, until it is said to be over. */
void hf__wish_begin(int claim, int name, const hf_acquire_opts *);
void hf__wish_end(int claim);
void hf__line_look(void);

/* ---- resource.c */
struct hf__draft {
    int name;
    int64_t called; /* true time: for the lock; and when it was granted */
    int64_t granted;
    int version; /* as it was read */
};
void hf__resource_read(struct hf__draft *);
void hf__resource_write(const struct hf__draft *, hf_lock *);

/* ---- account.c */
/* A session of that host was opened in the store as it is, or closed. */
void hf__account_session(int host, int more);
/* It begins to wait with that ticket, or has waited. */
void hf__account_waits(const struct hf__key *, const struct hf__token *,
                       bool begins);
void hf__account_dead(int host);
/* The clock of its leases is about to step. */
void hf__account_step(int64_t ns);
/* The store has forgotten all. */
void hf__account_forget(void);
/* The highest fence of that name that was ever given. */
uint64_t hf__account_top(int name);
/* It was an operator who ended the grant of that token. */
bool hf__account_is_broken(const struct hf__token *);

/* ---- ledger.c */
/* It was applied no earlier than then, by the store's clock. */
void hf__ledger_applied(const struct hf__op *, int64_t at);
/* Until when that token has it at least, by the store's clock; 0: unknown. */
int64_t hf__ledger_end(const struct hf__token *);
/* The host must give it back; it has tried; it says that it owes nothing. */
void hf__ledger_owe(int host, int name, const struct hf__token *);
void hf__ledger_pay(const struct hf__token *);
void hf__ledger_settled(int host);

#endif
