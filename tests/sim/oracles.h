/* SPDX-License-Identifier: MIT */
/*
 * The promises, looked at after every step. The oracles know neither how the
 * core works nor how the store does: they see what each client would answer
 * to hf_held() at this instant, the store's row, and what is sent; their
 * arithmetic is their own.
 */
#ifndef HF_TESTS_SIM_ORACLES_H
#define HF_TESTS_SIM_ORACLES_H

#include "src/core/lock.h"
#include "tests/sim/model_store.h"

/* The rules; a set of them is watched. */
#define HF__RULE_EXCLUSION  0x001u /* I1: never two clients hold the name */
#define HF__RULE_OWNERSHIP  0x002u /* who holds it owns the running lease */
#define HF__RULE_FENCE      0x004u /* I2: fences rise from grant to grant */
#define HF__RULE_FINAL      0x008u /* lost and released are final */
#define HF__RULE_REVIVAL    0x010u /* what was not held is not held again */
#define HF__RULE_RENEW_SENT 0x020u /* none after the deadline or a release */
#define HF__RULE_ROW        0x040u /* only the owner changes a running lease */
#define HF__RULE_LIVENESS   0x080u /* faults over, the name is given again */
#define HF__RULE_HEALTHY    0x100u /* faults over, no renewed lock is lost */
#define HF__RULES_ALL       0x1ffu

enum { HF__EXCUSED_MAX = 256, HF__STEPS_MAX = 1000 };

/* One client as an onlooker sees it at this instant. */
struct hf__view {
    bool is_claiming;
    bool is_held; /* hf__grant_is_held by its own clock */
    enum hf__phase phase;
    uint64_t claim; /* rises with each new claim; 0: none */
    uint64_t token;
    hf__time now; /* by its clock */
};

/* What the oracles remember of a client. */
struct hf__memory {
    struct hf__view last;
    bool has_held;
    bool has_ended;    /* was held and then was not */
    int64_t held_at;   /* true time */
    hf__time deadline; /* by its clock; from what the store confirmed */
};

struct hf__oracle {
    const struct hf__plan *plan;
    unsigned watched;
    unsigned broken; /* the first rule that was broken; 0: none */
    char text[160];
    uint64_t last_fence; /* of the last grant a client believed */
    int64_t instant;     /* true time of the last step */
    int steps;           /* of this one instant */
    int64_t busy_at;     /* last time it was held, or nobody wanted it */
    struct hf__memory clients[HF__SIM_CLIENTS];
    int excused_count;
    uint64_t excused[HF__EXCUSED_MAX]; /* tokens that lost by force */
};

void hf__oracle_init(struct hf__oracle *, const struct hf__plan *,
                     unsigned watched);
/* The owner loses the name by an operator or by a step of the store's clock:
 * no client can foresee it, so its claim on exclusion ends here. */
void hf__oracle_excuse(struct hf__oracle *, uint64_t token);

/* A client began to hold a grant with that fence. */
void hf__oracle_granted(struct hf__oracle *, const struct hf__message *);
/* A client heard that its lease was given or renewed for a request that left
 * at m->sent. */
void hf__oracle_confirmed(struct hf__oracle *, const struct hf__message *,
                          const struct hf__view *);
void hf__oracle_sent(struct hf__oracle *, const struct hf__message *,
                     const struct hf__view *);
/* The store applied a request; `before` is its row until then. */
void hf__oracle_applied(struct hf__oracle *, const struct hf__message *,
                        const struct hf__row *before,
                        const struct hf__model_store *, int64_t true_ns);
/* After every step. */
void hf__oracle_check(struct hf__oracle *, const struct hf__view views[],
                      const struct hf__model_store *, int64_t true_ns);
/* A client's process ended; its views begin anew. */
void hf__oracle_forget(struct hf__oracle *, int client);

#endif
