/* SPDX-License-Identifier: MIT */
/*
 * The containers against simple models: the heap against a flat array, the
 * map against its own elements, the list against an order.
 */
#include "src/base/alloc.h"
#include "src/base/heap.h"
#include "src/base/list.h"
#include "src/base/map.h"
#include "src/base/rand.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_TIMERS = 10000, N_ELEMENTS = 3000 };

static struct hf__timer timers[N_TIMERS];

static hf__time at(int64_t ns)
{
    return (hf__time){ns};
}

TEST(an_empty_heap_has_no_first)
{
    struct hf__heap h = {NULL};

    EXPECT(hf__heap_first(&h) == NULL);
    hf__heap_remove(&h, &timers[0]);
    hf__heap_set(&h, &timers[0], at(5));
    EXPECT(hf__heap_first(&h) == &timers[0]);
    EXPECT(timers[0].is_set);
    hf__heap_remove(&h, &timers[0]);
    EXPECT(!timers[0].is_set);
    EXPECT(hf__heap_first(&h) == NULL);
}

/* Empties the heap; each that comes out is not before the last one. */
static int drain(struct hf__heap *h)
{
    hf__time last = at(INT64_MIN);
    int n = 0;

    for (struct hf__timer *t; (t = hf__heap_first(h)) != NULL; n++) {
        EXPECT(!hf__before(t->due, last));
        last = t->due;
        hf__heap_remove(h, t);
    }
    return n;
}

/* Rising, falling and equal: the shapes with the longest lists. */
TEST(ten_thousand_timers_come_out_in_order)
{
    struct hf__heap h = {NULL};

    for (int shape = 0; shape < 4; shape++) {
        for (int i = 0; i < N_TIMERS; i++) {
            int64_t due[] = {i, -i, 7, hf__random_between(-9999, 9999)};
            hf__heap_set(&h, &timers[i], at(due[shape]));
        }
        EXPECT_IS(drain(&h), N_TIMERS);
    }
    hf__heap_set(&h, &timers[0], HF__NEVER);
    EXPECT(hf__is_never(hf__heap_first(&h)->due));
    hf__heap_set(&h, &timers[0], at(1));
    EXPECT_IS(drain(&h), 1);
}

static int64_t earliest(int n)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < n; i++) {
        if (timers[i].is_set && timers[i].due.ns < first) {
            first = timers[i].due.ns;
        }
    }
    return first;
}

TEST(random_steps_agree_with_a_flat_array)
{
    enum { N = 60 };
    struct hf__heap h = {NULL};

    for (int step = 0; step < 50000; step++) {
        struct hf__timer *t = &timers[hf__random_between(0, N - 1)];

        if (hf__random_between(0, 2) == 0) {
            hf__heap_remove(&h, t);
        } else if (hf__random_between(0, 5) == 0 && hf__heap_first(&h)) {
            hf__heap_remove(&h, hf__heap_first(&h));
        } else {
            hf__heap_set(&h, t, at(hf__random_between(0, 100)));
        }
        const struct hf__timer *first = hf__heap_first(&h);
        EXPECT_IS(first != NULL ? first->due.ns : INT64_MAX, earliest(N));
    }
    int n_set = 0;
    for (int i = 0; i < N; i++) {
        n_set += timers[i].is_set;
    }
    EXPECT_IS(drain(&h), n_set);
}

struct element {
    struct hf__map_link link;
    char key[24];
    bool is_in;
    int seen;
};

static struct element elements[N_ELEMENTS];

static void name_elements(void)
{
    for (int i = 0; i < N_ELEMENTS; i++) {
        snprintf(elements[i].key, sizeof elements[i].key, "name-%d", i);
    }
}

static struct hf__map_link *find(struct hf__map *m, const char *key)
{
    return hf__map_find(m, key, strlen(key));
}

static void flip(struct hf__map *m, struct element *e)
{
    if (e->is_in) {
        hf__map_remove(m, &e->link);
    } else {
        hf__map_add(m, &e->link, e->key, strlen(e->key));
    }
    e->is_in = !e->is_in;
}

static void count_element(void *arg, struct hf__map_link *link)
{
    ((struct element *)(void *)link)->seen++;
    ++*(size_t *)arg;
}

static void check(struct hf__map *m)
{
    size_t n_each = 0;
    size_t n_in = 0;

    hf__map_each(m, count_element, &n_each);
    for (int i = 0; i < N_ELEMENTS; i++) {
        struct element *e = &elements[i];
        EXPECT(find(m, e->key) == (e->is_in ? &e->link : NULL));
        EXPECT_IS(e->seen, e->is_in);
        e->seen = 0;
        n_in += e->is_in;
    }
    EXPECT_IS(n_each, n_in);
    EXPECT_IS(m->count, n_in);
}

TEST(the_map_finds_what_is_in_and_nothing_else)
{
    struct hf__map m;

    name_elements();
    EXPECT_IS(hf__map_init(&m), HF_OK);
    EXPECT(hf__map_any(&m) == NULL);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++) {
            flip(&m, &elements[hf__random_between(0, N_ELEMENTS - 1)]);
        }
        check(&m);
    }
    EXPECT(m.n_buckets > 16);
    for (struct hf__map_link *link; (link = hf__map_any(&m)) != NULL;) {
        hf__map_remove(&m, link);
    }
    EXPECT_IS(m.count, 0);
    hf__map_fini(&m);
    hf__map_fini(&m);
}

TEST(keys_are_bytes)
{
    struct hf__map_link a = {0};
    struct hf__map_link b = {0};
    struct hf__map m;

    EXPECT_IS(hf__map_init(&m), HF_OK);
    hf__map_add(&m, &a, "x\0y", 3);
    hf__map_add(&m, &b, "x\0z", 3);
    EXPECT(hf__map_find(&m, "x\0y", 3) == &a);
    EXPECT(hf__map_find(&m, "x\0z", 3) == &b);
    EXPECT(hf__map_find(&m, "x", 1) == NULL);
    EXPECT(hf__map_find(&m, "", 0) == NULL);
    hf__map_fini(&m);
}

static bool is_refusing;

static void *refusing_resize(void *p, size_t size)
{
    return is_refusing ? NULL : realloc(p, size);
}

TEST(a_map_that_cannot_grow_goes_on)
{
    struct hf__map m;

    EXPECT_IS(hf__alloc_replace(refusing_resize, free), HF_OK);
    name_elements();
    is_refusing = true;
    EXPECT_IS(hf__map_init(&m), HF_ENOMEM);
    hf__map_fini(&m);
    is_refusing = false;
    EXPECT_IS(hf__map_init(&m), HF_OK);
    is_refusing = true;
    for (int i = 0; i < 500; i++) {
        flip(&m, &elements[i]);
    }
    EXPECT_IS(m.n_buckets, 16);
    check(&m);
    is_refusing = false;
    flip(&m, &elements[500]);
    EXPECT_IS(m.n_buckets, 32);
    check(&m);
    hf__map_fini(&m);
}

TEST(the_hash_is_fnv_1a)
{
    EXPECT(hf__hash("", 0) == UINT64_C(0xcbf29ce484222325));
    EXPECT(hf__hash("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    EXPECT(hf__hash("foobar", 6) == UINT64_C(0x85944171f73967e8));
}

struct item {
    int number;
    struct hf__link link;
};

TEST(the_list_keeps_its_order)
{
    struct item items[5];
    struct hf__link list;
    int number = 0;

    hf__list_init(&list);
    EXPECT(hf__list_pop(&list) == NULL);
    for (int i = 0; i < 5; i++) {
        items[i].number = i;
        hf__list_push(&list, &items[i].link);
    }
    HF__LIST_EACH (it, &list) {
        const struct item *item = HF__ELEMENT(it, struct item, link);
        EXPECT_IS(item->number, number++);
        if (item->number % 2 == 1) {
            hf__list_remove(it);
            hf__list_remove(it);
        }
    }
    for (number = 0; number < 5; number += 2) {
        struct hf__link *link = hf__list_pop(&list);

        EXPECT(link != NULL);
        EXPECT_IS(HF__ELEMENT(link, struct item, link)->number, number);
    }
    EXPECT(hf__list_is_empty(&list));
}
