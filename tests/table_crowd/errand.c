/* SPDX-License-Identifier: MIT */
/*
 * An operation that is under way while the test goes on.
 */
#include "tests/table_crowd/stranger.h"

static void run_errand(void *arg)
{
    struct errand *e = arg;
    int64_t start = hf__test_now_ms();
    struct hf__op *op = &e->rq.op;
    int r;

    op->err = &e->rq.error;
    r = hf__conn_execute(&e->who->conn, &op, 1,
                         hf__after_ms(hf__now(), slowly(10000)),
                         &e->who->error);
    e->took_ms = hf__test_now_ms() - start;
    e->result = r == HF_OK ? op->result : r;
}

void start_errand(struct errand *e, struct party *p, enum hf__op_kind kind,
                  const char *name, struct hf__lock_mode lock_mode)
{
    *e = (struct errand){.who = p};
    ask(p, &e->rq, kind, name);
    e->rq.op.lock_mode = lock_mode;
    e->thread = hf__test_start(run_errand, e);
}

int end_errand(struct errand *e)
{
    hf__test_join(e->thread);
    return e->result;
}
