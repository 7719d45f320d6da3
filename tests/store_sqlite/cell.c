/* SPDX-License-Identifier: MIT */
/*
 * Questions to a cell. Thread: the test's.
 */
#include "tests/store_sqlite/cell.h"

#include "src/base/rand.h"

#include <stdio.h>
#include <string.h>

struct hf__cell_state told;
unsigned char told_bytes[HF__CELL_MAX];

static hf__time soon(void)
{
    return hf__after_ms(hf__now(), stretched(5000));
}

static int ask(struct peer *p, const char *name, struct hf__cell_op *op)
{
    char key[HF__KEY_MAX + 1];

    (void)snprintf(key, sizeof key, "test=%s", name);
    op->key = (struct hf__key){key, (uint16_t)strlen(key), 5};
    op->err = &p->error;
    hf__random(op->writer.bytes, sizeof op->writer.bytes);
    do {
        p->error = (hf_error)HF_ERROR_INIT;
        (void)!hf__conn_cell(&p->conn, op, soon(), &p->error);
    } while (op->result == HF__AGAIN);
    told = op->state;
    return op->result;
}

int get_cell(struct peer *p, const char *name)
{
    return ask(
        p, name,
        &(struct hf__cell_op){.what = HF__CELL_GET, .value = told_bytes});
}

int put_cell(struct peer *p, const char *name, uint64_t version,
             const void *bytes, size_t length)
{
    static unsigned char value[HF__CELL_MAX];

    memcpy(value, bytes, length);
    return ask(p, name,
               &(struct hf__cell_op){.what = HF__CELL_PUT,
                                     .expected = version,
                                     .length = length,
                                     .value = value});
}

int delete_cell(struct peer *p, const char *name, uint64_t version)
{
    return ask(
        p, name,
        &(struct hf__cell_op){.what = HF__CELL_DELETE, .expected = version});
}

uint64_t clean_cells(struct peer *p, int64_t idle_us)
{
    const struct hf__key all = {"test=", 5, 5};
    struct hf__gc g = {.of_cells = true, .idle_us = idle_us};

    do {
        EXPECT_IS(hf__conn_gc(&p->conn, &all, &g, soon(), &p->error), HF_OK);
    } while (g.length > 0);
    return g.count;
}

void expect_cell(struct peer *p, const char *name, const char *text)
{
    EXPECT_IS(get_cell(p, name), HF_OK);
    EXPECT_SAFE(told.has_value);
    EXPECT_SAFE_IS(told.length, strlen(text));
    EXPECT_SAFE_IS(memcmp(told_bytes, text, strlen(text)), 0);
}

void expect_damaged_cell(struct peer *p, const char *name, const char *words)
{
    EXPECT_IS(get_cell(p, name), HF_EPROTO);
    EXPECT_HAS(p->error.text, words);
    EXPECT_SAFE_IS(put_cell(p, name, 0, "new", 3), HF_EPROTO);
    EXPECT_SAFE_IS(put_cell(p, name, 1, "new", 3), HF_EPROTO);
    EXPECT_SAFE_IS(delete_cell(p, name, 1), HF_EPROTO);
    EXPECT_HAS(p->error.text, words);
    EXPECT_IS(get_cell(p, name), HF_EPROTO);
    EXPECT(!p->conn.is_dead);
}
