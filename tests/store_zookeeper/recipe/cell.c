/* SPDX-License-Identifier: MIT */
/*
 * Asking for cells, and seeing their nodes by the tests' own client. Thread:
 * the test's.
 */
#include "tests/store_zookeeper/recipe/cell.h"

#include "src/base/rand.h"

#include <string.h>

struct cell_question last_cell;

int ask_cell(struct party *p, int64_t ms)
{
    last_cell.error = (hf_error)HF_ERROR_INIT;
    last_cell.op.err = &last_cell.error;
    last_cell.op.value = last_cell.value;
    do {
        EXPECT_IS(hf__conn_cell(&p->conn, &last_cell.op,
                                hf__after_ms(hf__now(), ms), NULL),
                  HF_OK);
    } while (last_cell.op.result == HF__AGAIN);
    return last_cell.op.result;
}

int ask_cell_again(struct party *p)
{
    return ask_cell(p, 10000);
}

static void prepare(enum hf__cell_do what, const char *name, uint64_t version)
{
    last_cell.op =
        (struct hf__cell_op){.what = what,
                             .key = make_key(last_cell.key, name),
                             .expected = what == HF__CELL_GET ? 0 : version};
    last_cell.key[last_cell.op.key.name_at - 1] = '=';
    hf__random(last_cell.op.writer.bytes, sizeof last_cell.op.writer.bytes);
}

void prepare_put(const char *name, uint64_t version, const char *text)
{
    prepare(HF__CELL_PUT, name, version);
    last_cell.op.length = strlen(text);
    memcpy(last_cell.value, text, strlen(text) + 1);
}

int put(struct party *p, const char *name, uint64_t version, const char *text)
{
    prepare_put(name, version, text);
    return ask_cell_again(p);
}

int delete_cell(struct party *p, const char *name, uint64_t version)
{
    prepare(HF__CELL_DELETE, name, version);
    return ask_cell_again(p);
}

int get(struct party *p, const char *name)
{
    prepare(HF__CELL_GET, name, 0);
    return ask_cell_again(p);
}

uint64_t told(void)
{
    return last_cell.op.state.version;
}

void expect_value(struct party *p, const char *name, const char *text)
{
    EXPECT_SAFE_IS(get(p, name), HF_OK);
    EXPECT_SAFE(last_cell.op.state.has_value);
    EXPECT_SAFE_IS(last_cell.op.state.length, strlen(text));
    EXPECT_SAFE_IS(memcmp(last_cell.value, text, strlen(text)), 0);
}

const struct hf__zookeeper *server(void)
{
    return hf__zookeeper_shared();
}

const char *cells_folder(void)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/test:cells", hf__zookeeper_test_chroot());
    return path;
}

const char *cell_at(const char *name)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/%s", cells_folder(), name);
    return path;
}

struct hf__zookeeper_node see_cell(const char *name)
{
    struct hf__zookeeper_node node = {0};

    EXPECT(hf__zookeeper_look(server(), cell_at(name), &node));
    return node;
}

uint64_t clean_cells(struct party *p, int64_t ms)
{
    char bytes[HF__KEY_MAX];
    struct hf__key prefix = make_key(bytes, "");
    struct hf__gc g = {.of_cells = true};
    int r;

    bytes[prefix.name_at - 1] = '=';
    do {
        r = hf__conn_gc(&p->conn, &prefix, &g, hf__after_ms(hf__now(), ms),
                        NULL);
    } while (r == HF_OK && g.length > 0);
    return g.count;
}
