/* SPDX-License-Identifier: MIT */
/*
 * Cells as nodes: what they look like, what is not ours is told and left alone,
 * and who may not read or write is told why.
 */
#include "tests/store_zookeeper/recipe/cell.h"

#include <string.h>

#define LINE "cell 1 value 0123456789abcdef0123456789abcdef\n"

/* ---- in the tree */

TEST(a_cell_is_a_node_with_a_line_before_its_value)
{
    PARTY(alice);
    struct hf__zookeeper_node node;

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    node = see_cell("stock");
    EXPECT_IS(node.mzxid, (int64_t)told());
    EXPECT_IS(node.owner, 0);
    EXPECT_IS(node.length, (int)strlen(LINE "ten"));
    EXPECT_IS(strncmp(node.data, "cell 1 value ", 13), 0);
    EXPECT_TEXT(node.data + strlen(LINE) - 1, "\nten");
    EXPECT_IS(delete_cell(&alice, "stock", told()), HF_OK);
    EXPECT_IS(strncmp(see_cell("stock").data, "cell 1 gone ", 12), 0);
    EXPECT_IS(see_cell("stock").length, HF__ZK_TOMBSTONE);
}

static void expect_damaged(struct party *p, const char *data)
{
    struct hf__zookeeper_node before;

    hf__zookeeper_put(server(), cell_at("stock"), data);
    before = see_cell("stock");
    EXPECT_IS(get(p, "stock"), HF_EPROTO);
    EXPECT_HAS(last_cell.error.text, cell_at("stock"));
    EXPECT_IS(put(p, "stock", 0, "mine"), HF_EPROTO);
    EXPECT_IS(put(p, "stock", (uint64_t)before.mzxid, "mine"), HF_EPROTO);
    EXPECT_IS(delete_cell(p, "stock", (uint64_t)before.mzxid), HF_EPROTO);
    EXPECT_SAFE_IS(see_cell("stock").mzxid, before.mzxid);
}

TEST(a_node_that_is_no_cell_is_told_and_left_as_it_is)
{
    PARTY(alice);
    static char longer[HF__CELL_MAX + 256];
    static const char *const damaged[] = {
        "",
        "stranger",
        "cell 1 value 0123456789abcdef0123456789abcdef",
        "cell 1 value 0123456789abcdef0123456789abcde\n",
        "cell 1 value 0123456789ABCDEF0123456789abcdef\nten",
        "cell 1 value 00000000000000000000000000000000\nten",
        "cell 1 value 0123456789abcdef0123456789abcdef ten",
        "cell 1 gone 0123456789abcdef0123456789abcdef\nten",
        "cell 1 gone 0123456789abcdef0123456789abcde\n\n",
        "cell 2 value 0123456789abcdef0123456789abcdef\nten",
    };

    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        expect_damaged(&alice, damaged[i]);
    }
    memset(longer, 'x', sizeof longer - 1);
    memcpy(longer, LINE, strlen(LINE));
    longer[strlen(LINE) + HF__CELL_MAX + 1] = '\0';
    expect_damaged(&alice, longer);
    longer[strlen(LINE) + HF__CELL_MAX] = '\0';
    hf__zookeeper_put(server(), cell_at("stock"), longer);
    EXPECT_IS(get(&alice, "stock"), HF_OK);
    EXPECT_IS(last_cell.op.state.length, HF__CELL_MAX);
}

TEST(what_is_no_tombstone_of_ours_is_not_cleaned_up)
{
    PARTY(alice);

    EXPECT_IS(delete_cell(&alice, "gone", 0), HF_OK);
    hf__zookeeper_put(server(), cell_at("as long"),
                      "a stranger's text of 45 bytes, as a tombstone");
    EXPECT_IS(see_cell("as long").length, HF__ZK_TOMBSTONE);
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&alice, 10000), 1);
    EXPECT_SAFE(hf__zookeeper_look(server(), cell_at("as long"),
                                   &(struct hf__zookeeper_node){0}));
}

TEST(what_cannot_be_deleted_keeps_no_other_from_being_cleaned_up)
{
    PARTY(alice);
    char child[600];

    EXPECT_IS(delete_cell(&alice, "a", 0), HF_OK);
    EXPECT_IS(delete_cell(&alice, "b", 0), HF_OK);
    EXPECT_IS(delete_cell(&alice, "c", 0), HF_OK);
    snprintf(child, sizeof child, "%s/x", cell_at("a"));
    hf__zookeeper_put(server(), child, "a stranger's");
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&alice, 10000), 2);
}

/* ---- rights */

TEST(another_users_cells_are_not_cleaned_up)
{
    PARTY(alice);

    EXPECT_IS(delete_cell(&alice, "gone", 0), HF_OK);
    hf__zookeeper_set_acl(server(), cells_folder(), "world:anyone:a");
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&alice, 10000), 0);
    hf__zookeeper_set_acl(server(), cells_folder(), "world:anyone:rwcda");
    EXPECT_IS(clean_cells(&alice, 10000), 1);
}

TEST(what_one_may_not_do_is_told_with_its_path)
{
    PARTY(alice);

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    hf__zookeeper_set_acl(server(), cell_at("stock"), "world:anyone:r");
    expect_value(&alice, "stock", "ten");
    EXPECT_IS(put(&alice, "stock", told(), "nine"), HF_EAUTH);
    EXPECT_HAS(last_cell.error.text, cell_at("stock"));
    hf__zookeeper_set_acl(server(), cell_at("stock"), "world:anyone:d");
    EXPECT_IS(get(&alice, "stock"), HF_EAUTH);
    EXPECT_HAS(last_cell.error.text, cell_at("stock"));
    hf__zookeeper_set_acl(server(), cells_folder(), "world:anyone:r");
    EXPECT_IS(put(&alice, "other", 0, "ten"), HF_EAUTH);
    EXPECT_HAS(last_cell.error.text, "test:cells:");
    EXPECT_IS(hf__zookeeper_count(server(), cells_folder()), 1);
}

TEST(a_folder_of_cells_that_may_not_be_made_is_told)
{
    PARTY(alice);
    char words[300];

    hf__zookeeper_set_acl(server(), hf__zookeeper_test_chroot(),
                          "world:anyone:r");
    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_EAUTH);
    snprintf(words, sizeof words, " %s: ", hf__zookeeper_test_chroot());
    EXPECT_HAS(last_cell.error.text, words);
    hf__zookeeper_set_acl(server(), hf__zookeeper_test_chroot(),
                          "world:anyone:c");
    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    hf__zookeeper_set_acl(server(), hf__zookeeper_test_chroot(),
                          "world:anyone:rwcda");
}

static int join_at_chroot(struct party *p, const char *who, const char *more)
{
    char url[512];

    snprintf(url, sizeof url, "zookeeper://%s127.0.0.1:%d%s%s", who,
             hf__zookeeper_port(server()), hf__zookeeper_test_chroot(), more);
    return join_url(p, "ann", url);
}

TEST(a_chroot_that_is_not_there_is_made_for_a_cell)
{
    HF_AUTO(leave) struct party ann = {0};

    EXPECT_IS(join_at_chroot(&ann, "", "/a/b"), HF_OK);
    EXPECT_IS(get(&ann, "stock"), HF_OK);
    EXPECT_IS(hf__zookeeper_count(server(), hf__zookeeper_test_chroot()), 0);
    EXPECT_IS(put(&ann, "stock", 0, "ten"), HF_OK);
    expect_value(&ann, "stock", "ten");
}

TEST(a_user_has_no_cells_where_anybody_may_put_others_in_their_place)
{
    HF_AUTO(leave) struct party ann = {0};
    PARTY(alice);

    EXPECT_IS(join_at_chroot(&ann, "ann:pw@", ""), HF_OK);
    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    uint64_t first = told();
    EXPECT_IS(get(&ann, "stock"), HF_EUNSAFE);
    EXPECT_HAS(last_cell.error.text, cells_folder());
    EXPECT_HAS(last_cell.error.text, "setAcl");
    EXPECT_IS(put(&ann, "stock", first, "hers"), HF_EUNSAFE);
    EXPECT_IS(put(&ann, "other", 0, "hers"), HF_EUNSAFE);
    EXPECT_IS(hf__zookeeper_count(server(), cells_folder()), 1);
    EXPECT(hf__zookeeper_remove(server(), cells_folder()));
    EXPECT_IS(put(&ann, "stock", 0, "hers"), HF_OK);
    expect_value(&ann, "stock", "hers");
    EXPECT_IS(get(&alice, "stock"), HF_EAUTH);
}
