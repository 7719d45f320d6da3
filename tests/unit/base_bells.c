/* SPDX-License-Identifier: MIT */
/*
 * Bells: rung only while somebody sleeps. Stamps of those in line: each its
 * own, also where many are near each other.
 */
#include "src/base/bells.h"
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

static struct hf__chime chime_of(const struct token *token)
{
    return (struct hf__chime){token->bytes, sizeof token->bytes};
}

static hf__time at_ms(int64_t ms)
{
    return hf__after_ms((hf__time){0}, ms);
}

static struct hf__stamps stamps;
static struct hf__words words;

static void expect_seen(unsigned i, int64_t ms)
{
    struct token token = numbered(i);

    EXPECT_IS(hf__stamps_get(&words, 0, chime_of(&token)).ns, at_ms(ms).ns);
}

static void see(unsigned i, int64_t ms)
{
    struct token token = numbered(i);

    hf__stamps_set(&words, 0, chime_of(&token), at_ms(ms));
}

static void begin(void)
{
    hf__words_fini(&words);
    memset(&stamps, 0, sizeof stamps);
    hf__words_own(&words, &stamps, sizeof stamps);
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

/* A thousand who wait: no one's stamp is taken for another's. */
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

/* However many came and went: who was seen last has its stamp. */
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

static struct hf__belfry belfry;
static struct hf__bells bells;

static void begin_bells(void)
{
    hf__words_fini(&words);
    memset(&belfry, 0, sizeof belfry);
    memset(&bells, 0, sizeof bells);
    hf__words_own(&words, &belfry, sizeof belfry);
    bells.words = &words;
}

static unsigned word_of(const struct token *name)
{
    return hf__words_get(&words, hf__bells_word(&bells, chime_of(name)));
}

static void change(const struct token *name)
{
    struct hf__lobby lobby;

    hf__bells_look(&bells, &lobby);
    hf__bells_taken(&bells, chime_of(name), &lobby);
    hf__bells_freed(&bells, chime_of(name));
}

TEST(with_nobody_asleep_no_bell_is_touched)
{
    struct token name = numbered(1);

    begin_bells();
    change(&name);
    hf__bells_ring(&bells, chime_of(&name));
    EXPECT_IS(word_of(&name), 0);
    EXPECT_IS(hf__words_get(&words, hf__bells_any(&bells)), 0);
}

/* Who is in line sleeps on a bell of its own, and minds the name's word too. */
TEST(while_anybody_sleeps_each_change_is_told)
{
    struct token name = numbered(1);
    struct token ticket = numbered(2);

    for (int is_alone = 0; is_alone < 2; is_alone++) {
        begin_bells();
        hf__bells_arm(&bells, chime_of(&ticket), is_alone);
        change(&name);
        EXPECT_IS(word_of(&name), 2);
        hf__bells_ring(&bells, chime_of(&ticket));
        EXPECT_IS(word_of(&ticket), 1);
        EXPECT_IS(hf__words_get(&words, hf__bells_any(&bells)),
                  is_alone ? 0 : 2);
        hf__bells_disarm(&bells, chime_of(&ticket), is_alone);
        change(&name);
        EXPECT_IS(word_of(&name), 2);
    }
}

/* A waiter that was counted and is woken goes first, by any path. */
TEST(a_grace_is_seen_in_the_lobby)
{
    struct token name = numbered(1);
    struct token other = numbered(2);
    struct hf__lobby lobby;
    hf__time now = hf__now();
    unsigned grace =
        (unsigned)(hf__after_ms(now, HF__GRACE_MS).ns / HF__MS) | 1u;

    begin_bells();
    atomic_store(&belfry.bell[hf__bell_index(chime_of(&name))].grace, grace);
    hf__bells_look(&bells, &lobby);
    EXPECT(!hf__bells_must_hold_back(&bells, chime_of(&name), &lobby, now));
    atomic_store(&belfry.lobby.grace, grace);
    hf__bells_look(&bells, &lobby);
    EXPECT(hf__bells_must_hold_back(&bells, chime_of(&name), &lobby, now));
    EXPECT(!hf__bells_must_hold_back(&bells, chime_of(&other), &lobby, now));
    now = hf__after_ms(now, 2L * HF__GRACE_MS);
    EXPECT(!hf__bells_must_hold_back(&bells, chime_of(&name), &lobby, now));
}
