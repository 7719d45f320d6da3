/* SPDX-License-Identifier: MIT */
/*
 * What is given as a name or a value to MySQL stays one.
 */
#include "tests/rows/mysql/world.h"

#include <string.h>

TEST(a_name_with_a_backquote_is_one_name)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE `a``b`(`i``d` INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO `a``b` VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "a`b", "i`d", "1", 1), HF_OK);
    EXPECT_IS(lock_text(db, "a`b", "i`d", "2", 1), HF_ROW_GONE);
    EXPECT_IS(lock_text(db, "a", "i`d", "1", 1), HF_EINVAL);
    EXPECT_IS(lock_text(db, "a`b` WHERE 1=1 -- ", "i`d", "1", 1), HF_EINVAL);
}

TEST(a_dot_in_a_name_does_not_name_a_database)
{
    AUTO_DB *db = enter();
    hf_row row = *row_of("a.b", 1);

    tell(db, "CREATE TABLE `a.b`(id INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO `a.b` VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_OK);
    row.database = database();
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_OK);
    row.database = "hf_nobody_made_this";
    EXPECT_NOT(lock_row(db, &row, NULL, &info, &err), HF_OK);
}

TEST(a_value_with_quotes_and_nul_is_one_value)
{
    static const char evil[] = "x' OR '1'='1\\\0\" -- ";
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    tell(db, "CREATE TABLE named(name VARCHAR(60) CHARACTER SET utf8mb4 "
             "COLLATE utf8mb4_bin PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO named VALUES('x'),(x'"
             "7827204f52202731273d27315c0022202d2d20')");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "named", "name", evil, sizeof evil - 1), HF_OK);
    EXPECT_IS(lock_text(db, "named", "name", evil, strlen(evil)), HF_ROW_GONE);
    tell(other, "SELECT 1 FROM named WHERE name='x' FOR UPDATE NOWAIT");
}

TEST(a_value_may_be_long)
{
    static char name[3000];
    AUTO_DB *db = enter();

    memset(name, 'n', sizeof name);
    tell(db, "CREATE TABLE named(name VARCHAR(3000) CHARACTER SET latin1 "
             "PRIMARY KEY)ENGINE=InnoDB ROW_FORMAT=DYNAMIC");
    tell(db, "INSERT INTO named VALUES(REPEAT('n',3000))");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "named", "name", name, sizeof name), HF_OK);
    EXPECT_IS(lock_text(db, "named", "name", name, sizeof name - 1),
              HF_ROW_GONE);
}

TEST(text_is_in_the_connections_character_set)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE named(name VARCHAR(20) CHARACTER SET utf8mb4 "
             "PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO named VALUES('\xc3\xa9')");
    EXPECT_IS(mysql_set_character_set(mysql_of(db), "latin1"), 0);
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "named", "name", "\xe9", 1), HF_OK);
    EXPECT_IS(lock_text(db, "named", "name", "\xc3\xa9", 2), HF_ROW_GONE);
    /* Names beyond ASCII could hide a quote in some of them. */
    EXPECT_IS(lock_text(db, "caf\xe9", "name", "x", 1), HF_EINVAL);
    EXPECT_HAS(err.text, "utf8mb4");
}

TEST(names_beyond_ascii_are_utf8)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE `caf\xc3\xa9`(id INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO `caf\xc3\xa9` VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_row(db, row_of("caf\xc3\xa9", 1), NULL, NULL, NULL), HF_OK);
    EXPECT_IS(lock_row(db, row_of("caf\xe9", 1), NULL, NULL, &err), HF_EINVAL);
}

TEST(a_result_that_is_still_to_be_read_is_told)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "BEGIN");
    EXPECT_IS(mysql_query(mysql_of(db), "SELECT 1"), 0);
    EXPECT_IS(lock_for(db, 1, 0), HF_EINVAL);
    EXPECT_HAS(err.text, "still to be read");
}

TEST(what_may_not_be_seen_is_told)
{
    AUTO_DB *db = enter();
    hf_row row = *row_of("user", 1);

    row.database = "mysql";
    tell(db, "BEGIN");
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EAUTH);
    EXPECT_IS(info.in_transaction, 1);
}
