/* SPDX-License-Identifier: MIT */
/*
 * Stamps of those in line: each its own, also where many are near each other.
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
