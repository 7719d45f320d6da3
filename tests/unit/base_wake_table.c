/* SPDX-License-Identifier: MIT */
/*
 * Channels: notified only while somebody sleeps. Stamps of those in line: each
 * its own, also where many are near each other. Sleepers who come at once: in
 * every order of their steps, which they take when they are told to, by the
 * linker's --wrap.
 */
#include "src/base/wake_table.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

struct token {
    char bytes[16];
};

static struct token numbered(unsigned i)
{
    struct token token = {{0}};

    (void)snprintf(token.bytes, sizeof token.bytes, "ticket %u", i);
    return token;
}

static struct hf__wake_key chime_of(const struct token *token)
{
    return (struct hf__wake_key){token->bytes, sizeof token->bytes};
}

static hf__time at_ms(int64_t ms)
{
    return hf__after_ms((hf__time){0}, ms);
}

static struct hf__last_seen last_seen;
static struct hf__words words;

static void expect_seen(unsigned i, int64_t ms)
{
    struct token token = numbered(i);

    EXPECT_IS(hf__last_seen_get(&words, 0, chime_of(&token)).ns, at_ms(ms).ns);
}

static void see(unsigned i, int64_t ms)
{
    struct token token = numbered(i);

    hf__last_seen_set(&words, 0, chime_of(&token), at_ms(ms));
}

static void begin(void)
{
    hf__words_fini(&words);
    memset(&last_seen, 0, sizeof last_seen);
    hf__words_own(&words, &last_seen, sizeof last_seen);
}

TEST(a_stamp_says_when_it_was_set_last)
{
    begin();
    expect_seen(1, 0);
    see(1, 1000);
    expect_seen(1, 1000);
    see(1, 2000);
    expect_seen(1, 2000);
    expect_seen(2, 0);
}

/* A thousand who wait: no one's time last seen is taken for another's. */
TEST(each_has_a_stamp_of_its_own)
{
    begin();
    for (unsigned i = 0; i < 1000; i++) {
        see(i, 5000 + i);
    }
    for (unsigned i = 0; i < 1000; i++) {
        expect_seen(i, 5000 + i);
    }
}

/* However many came and went: who was seen last has its time last seen. */
TEST(what_was_not_seen_longest_gives_way)
{
    begin();
    for (unsigned i = 0; i < 100000; i++) {
        see(i, 1 + i);
    }
    for (unsigned i = 99000; i < 100000; i++) {
        expect_seen(i, 1 + i);
    }
    expect_seen(0, 0);
}

static struct hf__wake_table wake_table;
static struct hf__wake_view view;

static void begin_bells(void)
{
    hf__words_fini(&words);
    memset(&wake_table, 0, sizeof wake_table);
    memset(&view, 0, sizeof view);
    hf__words_own(&words, &wake_table, sizeof wake_table);
    view.words = &words;
}

static unsigned word_of(const struct token *name)
{
    return hf__words_get(&words, hf__wake_table_word(&view, chime_of(name)));
}

static void change(const struct token *name)
{
    struct hf__wake_summary summary;

    hf__wake_table_look(&view, &summary);
    hf__wake_table_taken(&view, chime_of(name), &summary);
    hf__wake_table_freed(&view, chime_of(name));
}

TEST(with_nobody_asleep_no_bell_is_touched)
{
    struct token name = numbered(1);

    begin_bells();
    change(&name);
    hf__wake_table_notify(&view, chime_of(&name));
    EXPECT_IS(word_of(&name), 0);
    EXPECT_IS(hf__words_get(&words, hf__wake_table_any(&view)), 0);
}

/* Who is in line sleeps on a channel of its own, and minds the name's word
 * too. */
TEST(while_anybody_sleeps_each_change_is_told)
{
    struct token name = numbered(1);
    struct token ticket = numbered(2);

    for (int is_alone = 0; is_alone < 2; is_alone++) {
        begin_bells();
        hf__wake_table_subscribe(&view, chime_of(&ticket), is_alone);
        change(&name);
        EXPECT_IS(word_of(&name), 2);
        hf__wake_table_notify(&view, chime_of(&ticket));
        EXPECT_IS(word_of(&ticket), 1);
        EXPECT_IS(hf__words_get(&words, hf__wake_table_any(&view)),
                  is_alone ? 0 : 2);
        hf__wake_table_unsubscribe(&view, chime_of(&ticket), is_alone);
        change(&name);
        EXPECT_IS(word_of(&name), 2);
    }
}

/* A waiter that was counted and is woken goes first, by any path. */
TEST(a_grace_is_seen_in_the_lobby)
{
    struct token name = numbered(1);
    struct token other = numbered(2);
    struct hf__wake_summary summary;
    hf__time now = hf__now();
    unsigned grace =
        (unsigned)(hf__after_ms(now, HF__GRACE_MS).ns / HF__MS) | 1u;

    begin_bells();
    atomic_store(
        &wake_table.channel[hf__wake_channel_index(chime_of(&name))].grace,
        grace);
    hf__wake_table_look(&view, &summary);
    EXPECT(
        !hf__wake_table_must_hold_back(&view, chime_of(&name), &summary, now));
    atomic_store(&wake_table.summary.grace, grace);
    hf__wake_table_look(&view, &summary);
    EXPECT(
        hf__wake_table_must_hold_back(&view, chime_of(&name), &summary, now));
    EXPECT(
        !hf__wake_table_must_hold_back(&view, chime_of(&other), &summary, now));
    now = hf__after_ms(now, 2L * HF__GRACE_MS);
    EXPECT(
        !hf__wake_table_must_hold_back(&view, chime_of(&name), &summary, now));
}

/* ---- two who come at once */

#define STEPS 6 /* of one who comes, at most */

struct sleeper {
    struct token name;
    atomic_int asked; /* for leave to take so many steps */
    atomic_int given;
    atomic_bool sleeps;
};

static _Thread_local struct sleeper *self;

static void ask_for_step(void)
{
    int step = 0;

    if (self == NULL) {
        return;
    }
    step = atomic_fetch_add(&self->asked, 1) + 1;
    while (atomic_load(&self->given) < step) {
        hf__thread_yield();
    }
}

void __real_hf__words_add(const struct hf__words *, size_t, int, size_t);
void __wrap_hf__words_add(const struct hf__words *, size_t, int, size_t);
void __wrap_hf__words_add(const struct hf__words *w, size_t at, int by,
                          size_t idle)
{
    ask_for_step();
    __real_hf__words_add(w, at, by, idle);
}

void __real_hf__words_read(const struct hf__words *, size_t, void *, size_t);
void __wrap_hf__words_read(const struct hf__words *, size_t, void *, size_t);
void __wrap_hf__words_read(const struct hf__words *w, size_t at, void *value,
                           size_t size)
{
    ask_for_step();
    __real_hf__words_read(w, at, value, size);
}

void __real_hf__words_set(const struct hf__words *, size_t, unsigned);
void __wrap_hf__words_set(const struct hf__words *, size_t, unsigned);
void __wrap_hf__words_set(const struct hf__words *w, size_t at, unsigned value)
{
    ask_for_step();
    __real_hf__words_set(w, at, value);
}

static void go_to_sleep(void *arg)
{
    self = arg;
    hf__wake_table_subscribe(&view, chime_of(&self->name), true);
    atomic_store(&self->sleeps, true);
}

/* Until it sleeps or asks for its next step. */
static void await_next(struct sleeper *s)
{
    while (!atomic_load(&s->sleeps) &&
           atomic_load(&s->asked) == atomic_load(&s->given)) {
        hf__thread_yield();
    }
}

static void let_step(struct sleeper *s)
{
    await_next(s);
    if (!atomic_load(&s->sleeps)) {
        atomic_fetch_add(&s->given, 1);
        await_next(s);
    }
}

/* Bit i of the order says who takes the i-th step. */
static void come_at_once(struct sleeper s[2], unsigned order)
{
    struct hf__test_thread *threads[2];

    for (int i = 0; i < 2; i++) {
        threads[i] = hf__test_start(go_to_sleep, &s[i]);
    }
    for (int i = 0; i < 2 * STEPS; i++) {
        let_step(&s[order >> i & 1]);
    }
    for (int i = 0; i < 2; i++) {
        EXPECT(atomic_load(&s[i].sleeps));
        hf__test_join(threads[i]);
    }
}

static struct token one_at_the_same_bell(const struct token *name)
{
    for (unsigned i = 2;; i++) {
        struct token other = numbered(i);

        if (hf__wake_channel_index(chime_of(&other)) ==
            hf__wake_channel_index(chime_of(name))) {
            return other;
        }
    }
}

/* Who has slept there before leaves its tag: nobody, one of them, the other. */
TEST_WITHIN(120, of_two_names_at_one_bell_none_is_its_tag)
{
    struct token name = numbered(1);
    struct token other = one_at_the_same_bell(&name);
    const struct hf__wake_channel *channel =
        &wake_table.channel[hf__wake_channel_index(chime_of(&name))];

    for (unsigned order = 0; order < 1u << 2 * STEPS; order++) {
        for (int before = 0; before < 3; before++) {
            struct sleeper s[2] = {{.name = name}, {.name = other}};

            if (__builtin_popcount(order) != STEPS) {
                continue;
            }
            begin_bells();
            if (before > 0) {
                hf__wake_table_subscribe(&view, chime_of(&s[before - 1].name),
                                         true);
                hf__wake_table_unsubscribe(&view, chime_of(&s[before - 1].name),
                                           true);
            }
            come_at_once(s, order);
            EXPECT_IS(atomic_load(&channel->sleepers), 2);
            EXPECT_IS(atomic_load(&channel->tag), 0);
        }
    }
}
