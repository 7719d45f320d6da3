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

static void expect_seen(struct hf__stamps *stamps, unsigned i, int64_t ms)
{
    struct token token = numbered(i);

    EXPECT_IS(hf__stamps_get(stamps, chime_of(&token)).ns, at_ms(ms).ns);
}

static void see(struct hf__stamps *stamps, unsigned i, int64_t ms)
{
    struct token token = numbered(i);

    hf__stamps_set(stamps, chime_of(&token), at_ms(ms));
}

static struct hf__stamps stamps;

TEST(a_stamp_says_when_it_was_set_last)
{
    memset(&stamps, 0, sizeof stamps);
    expect_seen(&stamps, 1, 0);
    see(&stamps, 1, 1000);
    expect_seen(&stamps, 1, 1000);
    see(&stamps, 1, 2000);
    expect_seen(&stamps, 1, 2000);
    expect_seen(&stamps, 2, 0);
}

/* A thousand who wait: no one's stamp is taken for another's. */
TEST(each_has_a_stamp_of_its_own)
{
    memset(&stamps, 0, sizeof stamps);
    for (unsigned i = 0; i < 1000; i++) {
        see(&stamps, i, 5000 + i);
    }
    for (unsigned i = 0; i < 1000; i++) {
        expect_seen(&stamps, i, 5000 + i);
    }
}

/* However many came and went: who was seen last has its stamp. */
TEST(what_was_not_seen_longest_gives_way)
{
    memset(&stamps, 0, sizeof stamps);
    for (unsigned i = 0; i < 100000; i++) {
        see(&stamps, i, 1 + i);
    }
    for (unsigned i = 99000; i < 100000; i++) {
        expect_seen(&stamps, i, 1 + i);
    }
    expect_seen(&stamps, 0, 0);
}
