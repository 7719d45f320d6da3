/* SPDX-License-Identifier: MIT */
/*
 * What the words of cell.h do. Thread: each door is used by one at a time.
 */
#include "tests/store_server/cell.h"

#include "src/base/rand.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

_Thread_local struct asking last;

int ask_again(struct door *d, int64_t ms, int *ret_session)
{
    int r;

    last.error = (hf_error)HF_ERROR_INIT;
    last.op.err = &last.error;
    last.op.value = last.value;
    r = hf__conn_cell(&d->conn, &last.op, hf__after_ms(hf__now(), ms),
                      &d->error);
    if (ret_session != NULL) {
        *ret_session = r;
    } else {
        EXPECT_IS(r, HF_OK);
    }
    return last.op.result;
}

static void begin(enum hf__cell_do what, const char *name, uint64_t version)
{
    int length = snprintf(last.key, sizeof last.key, "holdfast=%s", name);

    last.op = (struct hf__cell_op){.what = what,
                                   .key = {last.key, (uint16_t)length, 9},
                                   .expected = version};
    hf__random(last.op.writer.bytes, sizeof last.op.writer.bytes);
}

int get(struct door *d, const char *name)
{
    begin(HF__CELL_GET, name, 0);
    return ask_again(d, 10000, NULL);
}

void prepare_put(const char *name, uint64_t version, const char *text)
{
    begin(HF__CELL_PUT, name, version);
    last.op.length = strlen(text);
    memcpy(last.value, text, last.op.length);
}

int put(struct door *d, const char *name, uint64_t version, const char *text)
{
    prepare_put(name, version, text);
    return ask_again(d, 10000, NULL);
}

int put_bytes(struct door *d, const char *name, uint64_t version, int byte,
              size_t length)
{
    begin(HF__CELL_PUT, name, version);
    last.op.length = length;
    memset(last.value, byte, length);
    return ask_again(d, 10000, NULL);
}

int delete_cell(struct door *d, const char *name, uint64_t version)
{
    begin(HF__CELL_DELETE, name, version);
    return ask_again(d, 10000, NULL);
}

uint64_t told(void)
{
    return last.op.state.version;
}

uint64_t clean_cells(struct door *d, int64_t idle_us)
{
    struct hf__key prefix = {"holdfast=", 9, 9};
    struct hf__gc g = {.of_cells = true, .idle_us = idle_us};

    do {
        EXPECT_IS(hf__conn_gc(&d->conn, &prefix, &g,
                              hf__after_ms(hf__now(), 5000), &d->error),
                  HF_OK);
    } while (g.length > 0);
    return g.count;
}
