/* SPDX-License-Identifier: MIT */
/*
 * What the words of names.h do. Thread: each door is used by one at a time.
 */
#include "tests/store_server/names.h"

#include "src/base/rand.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static int run(struct door *d, struct hf__op *op, const char *name)
{
    struct hf__op *ops[] = {op};
    char key[HF__KEY_MAX];

    snprintf(key, sizeof key, "holdfast:%s", name);
    op->key = (struct hf__key){key, (uint16_t)strlen(key), 9};
    op->err = &d->error;
    EXPECT_IS(hf__conn_execute(&d->conn, ops, 1, hf__after_ms(hf__now(), 5000),
                               &d->error),
              HF_OK);
    return op->result;
}

static int attempt(struct door *d, const char *name, struct hf__op *op)
{
    static const struct hf__owner owner = {.label = "test", .pid = 1};

    *op = (struct hf__op){.kind = HF__OP_ACQUIRE, .lease_us = 30000000};
    op->owner = &owner;
    hf__random(&op->token, sizeof op->token);
    return run(d, op, name);
}

int claim(struct door *d, const char *name, uint64_t *fence)
{
    struct hf__op op;
    int r = attempt(d, name, &op);

    if (fence != NULL) {
        *fence = op.fence;
    }
    return r;
}

void use(struct door *d, const char *name)
{
    struct hf__op op;

    EXPECT_IS(attempt(d, name, &op), HF_OK);
    op.kind = HF__OP_RELEASE;
    EXPECT_IS(run(d, &op, name), HF_OK);
}

void prepare(struct batch *b, const char *stem, int n, int64_t lease_us)
{
    static const struct hf__owner owner = {.label = "test", .pid = 1};

    b->n = n;
    for (int i = 0; i < n; i++) {
        struct hf__op *op = b->ops[i] = &b->op[i];
        int length =
            snprintf(b->key[i], sizeof b->key[i], "holdfast:%s%03d", stem, i);

        *op = (struct hf__op){.kind = HF__OP_ACQUIRE,
                              .key = {b->key[i], (uint16_t)length, 9},
                              .lease_us = lease_us,
                              .owner = &owner};
        hf__random(&op->token, sizeof op->token);
    }
}

void prepare_shared(struct batch *b, const char *stem, int n, int64_t lease_us)
{
    prepare(b, stem, n, lease_us);
    for (int i = 0; i < n; i++) {
        b->op[i].lock_mode.mode = HF__MODE_SHARED;
    }
}

int ask(struct door *d, struct batch *b, enum hf__op_kind kind, int64_t ms)
{
    for (int i = 0; i < b->n; i++) {
        b->op[i].kind = kind;
    }
    return hf__conn_execute(&d->conn, b->ops, b->n, hf__after_ms(hf__now(), ms),
                            &d->error);
}

int count(const struct batch *b, int result)
{
    int n = 0;

    for (int i = 0; i < b->n; i++) {
        n += b->op[i].result == result;
    }
    return n;
}

void ask_all(struct door *d, struct batch *b, enum hf__op_kind kind)
{
    EXPECT_IS(ask(d, b, kind, 15000), HF_OK);
    EXPECT_IS(count(b, HF_OK), b->n);
}
