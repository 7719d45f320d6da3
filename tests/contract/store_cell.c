/* SPDX-License-Identifier: MIT */
/*
 * Every store that has cells: a change replaces the version that it names and
 * no other, is applied once however often it is asked for, and no version comes
 * back, not even over a deletion or a cleaning.
 */
#include "src/backend/cell.h"
#include "tests/contract/vocabulary.h"

#include "src/base/rand.h"

#include <string.h>

#define NEEDS_CELLS has(HF_CAP_CELLS)

/* One question, as a party asked it last. */
struct asking {
    struct hf__cell_op op;
    char key[HF__KEY_MAX];
    unsigned char value[HF__CELL_MAX];
    hf_error error;
};

static struct asking last;

static struct hf__key cell_key(const char *name)
{
    struct hf__key key = make_key(last.key, name);

    last.key[key.name_at - 1] = '=';
    return key;
}

/* Again what the store asks for again. */
static int send(struct party *p)
{
    last.error = (hf_error)HF_ERROR_INIT;
    last.op.err = &last.error;
    last.op.value = last.value;
    do {
        EXPECT_IS(hf__conn_cell(&p->conn, &last.op,
                                hf__after_ms(hf__now(), 10000), NULL),
                  HF_OK);
    } while (last.op.result == HF__AGAIN);
    return last.op.result;
}

static struct hf__token new_writer(void)
{
    struct hf__token writer = {{0}};

    hf__random(writer.bytes, sizeof writer.bytes);
    return writer;
}

static int put_bytes(struct party *p, const char *name, uint64_t version,
                     const void *bytes, size_t length)
{
    last.op = (struct hf__cell_op){.what = HF__CELL_PUT,
                                   .key = cell_key(name),
                                   .writer = new_writer(),
                                   .expected = version,
                                   .length = length};
    memmove(last.value, bytes, length);
    return send(p);
}

static int put(struct party *p, const char *name, uint64_t version,
               const char *text)
{
    return put_bytes(p, name, version, text, strlen(text));
}

static int delete (struct party *p, const char *name, uint64_t version)
{
    last.op = (struct hf__cell_op){.what = HF__CELL_DELETE,
                                   .key = cell_key(name),
                                   .writer = new_writer(),
                                   .expected = version};
    return send(p);
}

static int get(struct party *p, const char *name)
{
    last.op = (struct hf__cell_op){.what = HF__CELL_GET, .key = cell_key(name)};
    memset(last.value, 0xAA, sizeof last.value);
    return send(p);
}

/* The version that the last question told of. */
static uint64_t told(void)
{
    return last.op.state.version;
}

static void expect_value(struct party *p, const char *name, const char *text)
{
    EXPECT_IS(get(p, name), HF_OK);
    EXPECT_IS(last.op.state.has_value, text != NULL);
    if (text != NULL) {
        EXPECT_IS(last.op.state.length, strlen(text));
        EXPECT_IS(memcmp(last.value, text, strlen(text)), 0);
    }
}

TEST_IF(NEEDS_CELLS, a_cell_that_was_never_written_has_no_version)
{
    PARTY(alice);

    expect_value(&alice, "stock", NULL);
    EXPECT_IS(told(), 0);
}

TEST_IF(NEEDS_CELLS, what_was_put_is_read_by_others)
{
    PARTIES(alice, bob);

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    uint64_t first = told();
    EXPECT_MORE(first, 0);
    expect_value(&bob, "stock", "ten");
    EXPECT_IS(told(), first);
    EXPECT_IS(put(&bob, "stock", first, "nine"), HF_OK);
    EXPECT_MORE(told(), first);
    expect_value(&alice, "stock", "nine");
}

TEST_IF(NEEDS_CELLS, another_version_is_not_replaced)
{
    PARTIES(alice, bob);

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    uint64_t first = told();
    EXPECT_IS(put(&bob, "stock", 0, "mine"), HF_CONFLICT);
    EXPECT_IS(told(), first);
    EXPECT_IS(put(&bob, "stock", first + 1, "mine"), HF_CONFLICT);
    EXPECT_IS(delete (&bob, "stock", 0), HF_CONFLICT);
    EXPECT_IS(put(&alice, "stock", first, "nine"), HF_OK);
    EXPECT_IS(put(&bob, "stock", first, "mine"), HF_CONFLICT);
    EXPECT_IS(delete (&bob, "stock", first), HF_CONFLICT);
    expect_value(&bob, "stock", "nine");
    EXPECT_IS(put(&bob, "other", first, "mine"), HF_CONFLICT);
    EXPECT_IS(told(), 0);
}

TEST_IF(NEEDS_CELLS, versions_rise_over_a_deletion)
{
    PARTIES(alice, bob);

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    uint64_t first = told();
    EXPECT_IS(delete (&alice, "stock", first), HF_OK);
    uint64_t gone = told();
    EXPECT_MORE(gone, first);
    expect_value(&bob, "stock", NULL);
    EXPECT_IS(told(), gone);
    EXPECT_IS(put(&bob, "stock", 0, "new"), HF_CONFLICT);
    EXPECT_IS(put(&bob, "stock", first, "new"), HF_CONFLICT);
    EXPECT_IS(put(&bob, "stock", gone, "new"), HF_OK);
    EXPECT_MORE(told(), gone);
    expect_value(&alice, "stock", "new");
}

TEST_IF(NEEDS_CELLS, a_deletion_may_be_the_first_change)
{
    PARTY(alice);

    EXPECT_IS(delete (&alice, "stock", 0), HF_OK);
    uint64_t gone = told();
    EXPECT_MORE(gone, 0);
    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_CONFLICT);
    EXPECT_IS(put(&alice, "stock", gone, "ten"), HF_OK);
}

/* As who got no answer asks: the same change, with the same token. */
TEST_IF(NEEDS_CELLS, a_change_that_is_asked_for_twice_is_applied_once)
{
    PARTIES(alice, bob);

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    uint64_t first = told();
    EXPECT_IS(send(&alice), HF_OK);
    EXPECT_IS(told(), first);
    rejoin(&alice);
    EXPECT_IS(send(&alice), HF_OK);
    EXPECT_IS(told(), first);
    EXPECT_IS(delete (&alice, "stock", first), HF_OK);
    uint64_t gone = told();
    EXPECT_IS(send(&alice), HF_OK);
    EXPECT_IS(told(), gone);
    struct hf__cell_op late = last.op;
    EXPECT_IS(put(&bob, "stock", gone, "new"), HF_OK);
    last.op = late;
    EXPECT_IS(send(&alice), HF_CONFLICT);
    expect_value(&bob, "stock", "new");
}

TEST_IF(NEEDS_CELLS, a_value_is_kept_byte_by_byte)
{
    PARTY(alice);
    static unsigned char bytes[HF__CELL_MAX];
    static const size_t lengths[] = {0, 1, 255, 256, 4096, 65535, 65536};
    uint64_t version = 0;

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        EXPECT_IS(put_bytes(&alice, "blob", version, bytes, lengths[i]), HF_OK);
        version = told();
        EXPECT_IS(get(&alice, "blob"), HF_OK);
        EXPECT(last.op.state.has_value);
        EXPECT_IS(last.op.state.length, lengths[i]);
        EXPECT_IS(memcmp(last.value, bytes, lengths[i]), 0);
        EXPECT_IS(told(), version);
    }
}

TEST_IF(NEEDS_CELLS, keys_are_kept_byte_by_byte)
{
    PARTY(alice);
    static const char *const keys[] = {"a",   "A",  "a ", "ä",
                                       "a/b", "%_", "..", "a'b\"c\\"};
    enum { KEYS = sizeof keys / sizeof *keys };
    char longest[HF_NAME_MAX + 1];

    memset(longest, 'k', HF_NAME_MAX);
    longest[HF_NAME_MAX] = '\0';
    for (int i = 0; i < KEYS; i++) {
        EXPECT_IS(put(&alice, keys[i], 0, keys[i]), HF_OK);
    }
    EXPECT_IS(put(&alice, longest, 0, "long"), HF_OK);
    for (int i = 0; i < KEYS; i++) {
        expect_value(&alice, keys[i], keys[i]);
    }
    expect_value(&alice, longest, "long");
}

TEST_IF(NEEDS_CELLS, a_cell_and_a_lock_of_one_name_do_not_meet)
{
    JOB_OF(alice, bob);
    struct listing seen = {.count = 0};

    EXPECT_IS(put(&bob, "job", 0, "value"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    expect_value(&alice, "job", "value");
    if (has(HF_CAP_LIST)) {
        EXPECT_IS(acquire(&alice, "other"), HF_OK);
        EXPECT_IS(list(&alice, "", &seen), HF_OK);
        EXPECT_IS(seen.count, 1);
    }
}

static uint64_t clean_cells(struct party *p, int64_t idle_ms)
{
    char bytes[HF__KEY_MAX];
    struct hf__key prefix = make_key(bytes, "");
    struct hf__gc g = {.of_cells = true, .idle_us = idle_ms * 1000};

    bytes[prefix.name_at - 1] = '=';
    do {
        EXPECT_IS(hf__conn_gc(&p->conn, &prefix, &g,
                              hf__after_ms(hf__now(), 10000), NULL),
                  HF_OK);
    } while (g.length > 0);
    return g.count;
}

TEST_IF(NEEDS_CELLS &&cleans(), only_what_was_deleted_and_is_old_is_cleaned_up)
{
    PARTY(alice);
    uint64_t count = 0;

    EXPECT_IS(put(&alice, "kept", 0, "value"), HF_OK);
    EXPECT_IS(put(&alice, "gone", 0, "value"), HF_OK);
    EXPECT_IS(delete (&alice, "gone", told()), HF_OK);
    uint64_t gone = told();
    EXPECT_IS(acquire(&alice, "lock"), HF_OK);
    EXPECT_IS(release(&alice, "lock"), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&alice, 3600000), 0);
    EXPECT_IS(clean_cells(&alice, 0), 1);
    EXPECT_IS(clean_cells(&alice, 0), 0);
    expect_value(&alice, "kept", "value");
    EXPECT_IS(get(&alice, "gone"), HF_OK);
    EXPECT_IS(told(), 0);
    EXPECT_IS(put(&alice, "gone", 0, "new"), HF_OK);
    EXPECT_MORE(told(), gone);
    EXPECT_IS(collect_garbage(&alice, 0, &count), HF_OK);
    EXPECT_IS(count, 1);
    expect_value(&alice, "kept", "value");
    expect_value(&alice, "gone", "new");
}

TEST_IF(NEEDS_CELLS, another_prefix_has_other_cells)
{
    PARTY(alice);
    struct hf__key key;

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    key = cell_key("stock");
    last.key[0] ^= 1;
    last.op = (struct hf__cell_op){.what = HF__CELL_GET, .key = key};
    EXPECT_IS(send(&alice), HF_OK);
    EXPECT_IS(told(), 0);
}
