/* SPDX-License-Identifier: MIT */
/*
 * What the files of the proxy share: how a framing tells where messages begin
 * and end, the connections, and the commands.
 */
#ifndef HF_TESTS_SERVERS_PROXY_PRIVATE_H
#define HF_TESTS_SERVERS_PROXY_PRIVATE_H

#include "tests/servers/proxy.h"

/* ---- a framing */

/* What a unit, the smallest piece that a framing tells apart, is part of. */
struct hf__mark {
    bool is_counted; /* part of a message of the kind `what` */
    enum hf__proxy_what what;
    bool starts; /* it is the first unit of the message */
    bool ends;   /* it is the last */
};

enum { HF__FRAMING_STATE = 64 };

struct hf__framing {
    /* The length of the unit that begins here; 0: more bytes are needed to
     * tell. Changes nothing. */
    size_t (*measure)(const void *state, enum hf__proxy_way,
                      const uint8_t *bytes, size_t n);
    /* One unit in full; state is HF__FRAMING_STATE bytes, zero at first. */
    struct hf__mark (*read)(void *state, enum hf__proxy_way,
                            const uint8_t *unit, size_t length);
    /* What rules find in a statement, as text; how long it is. NULL: its own
     * bytes. */
    size_t (*describe)(const uint8_t *unit, size_t length, uint8_t *text,
                       size_t size);
    /* Makes a statement one that no server knows; NULL: it can't. */
    void (*disguise)(uint8_t *unit, size_t length);
};

/* ---- the proxy's process */

struct hf__chunk {
    struct hf__chunk *next;
    int64_t due_ms;
    size_t length;
    size_t written;
    uint8_t bytes[];
};

struct hf__flow {
    uint8_t *bytes; /* received, not yet passed on; in the buffer */
    size_t length;
    uint8_t *buffer;
    size_t size;
    size_t unit;    /* the length of the unit that waits in bytes; 0: none */
    size_t message; /* bytes of the message that were passed on before it */
    struct hf__mark mark;       /* of that unit */
    struct hf__proxy_rule rule; /* that hits this message */
    bool has_rule;
    bool at_end;   /* of what there is to read */
    bool told_end; /* to the other side */
    struct hf__chunk *first;
    struct hf__chunk **last;
};

/* What was asked and not yet answered in full; a pipeline has many. */
struct hf__question {
    struct hf__question *next;
    size_t length;
    uint8_t statement[1024]; /* its beginning */
};

struct hf__passage {
    struct hf__passage *next;
    int ends[HF__PROXY_WAYS]; /* where each flow ends; −1: nowhere */
    struct hf__flow flows[HF__PROXY_WAYS];
    bool is_silenced;
    bool is_over;
    struct hf__question *questions; /* the oldest first */
    struct hf__question **last_question;
    struct hf__question *answered; /* the last one that was; or NULL */
    uint64_t framing_state[HF__FRAMING_STATE / 8];
};

enum { HF__PROXY_RULES = 8 };

struct hf__subscriptions {
    struct hf__proxy_rule rule;
    int seen;
    bool is_armed;
};

struct hf__relay {
    const struct hf__framing *framing;
    int port;
    int server_port;
    int listener; /* −1: refusing */
    bool accepts_silently;
    bool holds[HF__PROXY_WAYS];
    int64_t delay_ms[HF__PROXY_WAYS];
    struct hf__subscriptions rules[HF__PROXY_RULES];
    struct hf__proxy_counts counts;
    struct hf__passage *passages;
};

/* proxy_flow.c: the bytes of one direction. */
void hf__flow_init(struct hf__flow *);
void hf__flow_fini(struct hf__flow *);
/* Reads what has come. False: the connection is broken. */
bool hf__flow_receive(struct hf__flow *, int fd);
/* The first n bytes may leave, so much later. */
void hf__flow_pass(struct hf__flow *, size_t n, int64_t delay_ms);
/* Writes what is due. False: the connection is broken. */
bool hf__flow_write(struct hf__flow *, int fd);
/* Writes all, due or not. */
void hf__flow_flush(struct hf__flow *, int fd);

/* proxy_passage.c: a connection. */
struct hf__passage *hf__passage_new(int client, int server);
void hf__passage_free(struct hf__passage *);
/* True: nothing shall pass that way now. */
bool hf__passage_is_held(const struct hf__relay *, const struct hf__passage *,
                         enum hf__proxy_way);
/* Passes on what may pass. */
void hf__passage_advance(struct hf__relay *, struct hf__passage *);
/* Ends it, after all that passed was written; or silences it. */
void hf__passage_cut(struct hf__passage *, enum hf__proxy_action);
/* No rule, silence or delay holds for it any more. */
void hf__passage_heal(struct hf__passage *);

/* proxy_rules.c: which rule hits a message that begins here; and that one has
 * passed in full. */
void hf__rules_begin(struct hf__relay *, struct hf__passage *,
                     struct hf__flow *);
void hf__rules_end(struct hf__passage *, enum hf__proxy_what);
/* Frees what was kept of a connection. */
void hf__rules_forget(struct hf__passage *);

enum hf__proxy_order {
    HF__ORDER_RULE,
    HF__ORDER_CUT,
    HF__ORDER_HOLD,
    HF__ORDER_DELAY,
    HF__ORDER_ACCEPT_SILENTLY,
    HF__ORDER_REFUSE,
    HF__ORDER_HEAL,
    HF__ORDER_COUNT,
};
struct hf__proxy_command {
    enum hf__proxy_order order;
    struct hf__proxy_rule rule; /* its action for HF__ORDER_CUT too */
    enum hf__proxy_way way;
    int64_t ms;
};
/* The answer to each command. */
struct hf__proxy_answer {
    bool is_done;
    struct hf__proxy_counts counts;
};
/* proxy_command.c. False: it can't be done. */
bool hf__relay_obey(struct hf__relay *, const struct hf__proxy_command *);
void hf__relay_cut(struct hf__relay *, enum hf__proxy_action);

/* proxy_relay.c: the process. */
_Noreturn void hf__relay_run(struct hf__relay *, int control);
/* A socket that listens on that port of 127.0.0.1; −1: it is taken. */
int hf__relay_listen(int port);

#endif
