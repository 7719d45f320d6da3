/* SPDX-License-Identifier: MIT */
/*
 * A reply that is lost costs no change of a cell and makes none twice, and what
 * is still under way while its cell is deleted, cleaned up and made anew is not
 * done to what it did not see.
 */
#include "tests/store_zookeeper/recipe/cell.h"

#include <string.h>

/* ---- lost on the way */

/* Asks until it is told, as the core does. */
static int ask_until_told(struct party *p)
{
    int64_t start = hf__test_now_ms();
    int r;

    while ((r = ask_cell(p, 5000)) == HF_EUNKNOWN || r == HF_EUNAVAIL) {
        EXPECT_SOON(hf__test_now_ms() - start, slowly(15000));
        hf__test_pause_ms(10);
    }
    return r;
}

/* Fails once, at the n-th message of a change. False: it has not so many. */
static bool fail_at(struct hf__proxy *proxy, struct party *alice,
                    struct hf__proxy_rule rule)
{
    int hits = hf__proxy_counts(proxy).hits;
    int version = see_cell("stock").version;
    uint64_t before;
    bool was_hit;

    EXPECT_IS(get(alice, "stock"), HF_OK);
    before = told();
    hf__proxy_rule(proxy, &rule);
    prepare_put("stock", before, "nine");
    EXPECT_IS(ask_until_told(alice), HF_OK);
    was_hit = hf__proxy_counts(proxy).hits > hits;
    hf__proxy_heal(proxy);
    EXPECT_SAFE_MORE(told(), before);
    EXPECT_SAFE_IS(see_cell("stock").version, version + 1);
    EXPECT_SAFE_IS(see_cell("stock").mzxid, (int64_t)told());
    return was_hit;
}

TEST_WITHIN(60, a_change_is_made_once_whatever_message_is_lost)
{
    static const struct hf__proxy_rule rules[] = {
        {.what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__CLOSE},
        {.what = HF__REPLY, .where = HF__BEFORE, .action = HF__RESET},
    };
    PARTY_BEHIND(alice, proxy, "session_timeout=6s");

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    for (int i = 0; i < 2; i++) {
        struct hf__proxy_rule rule = rules[i];

        for (rule.n = 1; fail_at(proxy, &alice, rule); rule.n++) {
            EXPECT_LESS(rule.n, 20);
        }
        EXPECT_MORE(rule.n, 4);
    }
}

TEST(a_change_whose_reply_is_lost_is_found_by_its_token)
{
    PARTY_BEHIND(alice, proxy, "session_timeout=6s");

    prepare_put("stock", 0, "ten");
    lose_reply_to(proxy, "create ");
    EXPECT_IS(ask_until_told(&alice), HF_OK);
    prepare_put("stock", told(), "nine");
    lose_reply_to(proxy, "multi ");
    EXPECT_IS(ask_cell(&alice, 5000), HF_EUNKNOWN);
    uint64_t made = (uint64_t)see_cell("stock").mzxid;
    EXPECT_IS(ask_until_told(&alice), HF_OK);
    EXPECT_SAFE_IS(told(), made);
}

/* ---- what is still under way */

static void hold_changes(struct hf__proxy *proxy)
{
    hf__proxy_rule(proxy, &(struct hf__proxy_rule){.what = HF__STATEMENT,
                                                   .where = HF__BEFORE,
                                                   .action = HF__SILENCE,
                                                   .text = "multi "});
}

/* Deleted, cleaned up and made anew: its node counts as far as before. */
static void begin_anew_as(struct party *p, const char *name, uint64_t version,
                          const char *text)
{
    if (version != 0) {
        EXPECT_IS(delete_cell(p, name, version), HF_OK);
    }
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(p, 10000), 1);
    EXPECT_IS(put(p, name, 0, text), HF_OK);
}

TEST(a_change_under_way_is_not_made_to_a_cell_that_was_made_anew)
{
    PARTY_BEHIND(alice, proxy, "session_timeout=20s");
    PARTY(bob);
    int version;

    EXPECT_IS(put(&bob, "stock", 0, "ten"), HF_OK);
    uint64_t first = told();
    version = see_cell("stock").version;
    hold_changes(proxy);
    prepare_put("stock", first, "late");
    EXPECT_IS(ask_cell(&alice, 300), HF_EUNKNOWN);
    begin_anew_as(&bob, "stock", first, "new");
    EXPECT_IS(see_cell("stock").version, version);
    hf__proxy_heal(proxy);
    expect_value(&alice, "stock", "new");
    prepare_put("stock", first, "late");
    EXPECT_IS(ask_cell_again(&alice), HF_CONFLICT);
    expect_value(&bob, "stock", "new");
}

TEST(a_cleaning_under_way_does_not_delete_a_cell_that_was_made_anew)
{
    PARTY_BEHIND(alice, proxy, "session_timeout=20s");
    PARTY(bob);
    int version;
    int replies;

    EXPECT_IS(delete_cell(&bob, "stock", 0), HF_OK);
    version = see_cell("stock").version;
    hold_changes(proxy);
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&alice, 300), 0);
    begin_anew_as(&bob, "stock", 0, "new");
    EXPECT_IS(see_cell("stock").version, version);
    replies = hf__proxy_counts(proxy).replies;
    hf__proxy_heal(proxy);
    UNTIL(hf__proxy_counts(proxy).replies > replies);
    expect_value(&bob, "stock", "new");
}

enum { MANY = 600 };

TEST_WITHIN(60, tombstones_beyond_one_look_are_cleaned_up_together)
{
    PARTY(alice);
    char name[16];

    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "%d", i);
        EXPECT_IS(i % 3 == 0 ? put(&alice, name, 0, "kept")
                             : delete_cell(&alice, name, 0),
                  HF_OK);
    }
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&alice, 10000), MANY - MANY / 3);
    EXPECT_IS(hf__zookeeper_count(server(), cells_folder()), MANY / 3);
    expect_value(&alice, "597", "kept");
}

/* A leader who was deposed and does not know it yet knows no newer one. */
TEST(that_a_version_is_older_than_expected_is_told_behind_a_write)
{
    PARTY_BEHIND(alice, proxy, "session_timeout=20s");

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    uint64_t first = told();
    hf__proxy_rule(proxy, &(struct hf__proxy_rule){.what = HF__STATEMENT,
                                                   .where = HF__BEFORE,
                                                   .action = HF__SILENCE,
                                                   .text = "setData /"});
    prepare_put("stock", first + 1, "early");
    EXPECT_IS(ask_cell(&alice, 300), HF_EUNAVAIL);
    hf__proxy_heal(proxy);
    EXPECT_IS(ask_cell_again(&alice), HF_CONFLICT);
    EXPECT_IS(told(), first);
}
