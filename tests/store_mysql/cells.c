/* SPDX-License-Identifier: MIT */
/*
 * The table of cells: who uses locks alone needs none and no rights on it, who
 * uses cells makes it or is told what helps, and what others wrote there is
 * told of and stays as it is.
 */
#include "tests/store_mysql/site.h"
#include "tests/store_server/cell.h"

#include "src/backend/mysql/schema.h"

#include <string.h>

static const char *tables_of_cells(void)
{
    return hf__mariadb_value(server(),
                             "SELECT COUNT(*) FROM information_schema.tables "
                             "WHERE table_schema='%s' AND "
                             "table_name='holdfast_cell' AND engine='InnoDB'",
                             database());
}

/* ---- made when it is needed */

TEST(the_table_of_cells_is_made_by_the_first_who_uses_one)
{
    DOOR(d);
    DOOR(other);
    uint64_t version;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    use(&d, "job");
    EXPECT_IS(clean_cells(&d, 0), 0);
    EXPECT_TEXT(tables_of_cells(), "0");
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    version = told();
    EXPECT_TEXT(tables_of_cells(), "1");
    EXPECT_IS(get(&other, "stock"), HF_OK);
    EXPECT_IS(told(), version);
}

TEST(a_table_of_cells_that_is_dropped_is_made_anew)
{
    DOOR(d);
    uint64_t version;
    int session = HF_OK;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    version = told();
    hf__mariadb_sql(server(), "DROP TABLE %s.holdfast_cell", database());
    prepare_put("stock", 0, "new");
    EXPECT_IS(ask_again(&d, 10000, &session), HF_EUNAVAIL);
    EXPECT_IS(session, HF_EUNAVAIL);
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(ask_again(&d, 10000, NULL), HF_OK);
    EXPECT_SAFE_MORE(told(), version);
}

/* ---- rights */

/* A user of this test with the four privileges on these tables. */
static const char *url_of(const char *user, const char *const *tables)
{
    char login[96];

    hf__mariadb_sql(server(),
                    "CREATE USER '%s_%s'@'127.0.0.1' IDENTIFIED BY 'pw'", user,
                    database());
    for (int i = 0; tables[i] != NULL; i++) {
        hf__mariadb_sql(server(),
                        "GRANT SELECT,INSERT,UPDATE,DELETE ON %s.%s TO "
                        "'%s_%s'@'127.0.0.1'",
                        database(), tables[i], user, database());
    }
    snprintf(login, sizeof login, "%s_%s:pw@", user, database());
    return url_as(login);
}

static const char *const all[] = {"*", NULL};
static const char *const of_locks[] = {"holdfast_lock", "holdfast_beside",
                                       "holdfast_ticket", NULL};

/* As they are where nobody has used cells. */
static void make_old_tables(void)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
}

static void leave_tombstone(struct door *d, const char *name)
{
    EXPECT_IS(put(d, name, 0, "ten"), HF_OK);
    EXPECT_IS(delete_cell(d, name, told()), HF_OK);
    hf__test_pause_ms(5); /* the clock has passed it then */
}

/* As an administrator would who was told to. */
static void make_table(void)
{
    const char *made = strstr(hf__mysql_schema_ddl(false), "holdfast_cell");

    EXPECT(made != NULL);
    hf__mariadb_sql(server(), "CREATE TABLE %s.%.*s", database(),
                    (int)strcspn(made, ";"), made);
}

TEST(who_may_make_no_table_is_told_what_helps_and_has_his_locks)
{
    DOOR(d);

    make_old_tables();
    EXPECT_IS(enter(&d, url_of("four", all)), HF_OK);
    EXPECT_IS(claim(&d, "job", NULL), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_EAUTH);
    EXPECT_HAS(last.error.text, "\"holdfast check --ddl\"");
    EXPECT_IS(get(&d, "stock"), HF_EAUTH);
    EXPECT_IS(clean_cells(&d, 0), 0);
    EXPECT_IS(claim(&d, "job", NULL), HF_BUSY);
    make_table();
    leave_tombstone(&d, "stock");
    EXPECT_IS(clean_cells(&d, 0), 1);
}

TEST(who_has_rights_on_the_tables_of_locks_alone_has_locks)
{
    DOOR(d);
    DOOR(owner);

    EXPECT_IS(enter(&owner, url_with("")), HF_OK);
    EXPECT_IS(enter(&d, url_of("three", of_locks)), HF_OK);
    EXPECT_IS(clean_cells(&d, 0), 0);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_EAUTH);
    EXPECT_HAS(last.error.text, "grant SELECT, INSERT, UPDATE, DELETE");
    leave_tombstone(&owner, "gone");
    EXPECT_IS(clean_cells(&d, 0), 0);
    use(&d, "job");
    EXPECT_IS(clean_cells(&owner, 0), 1);
}

TEST(who_may_only_read_cells_cleans_none)
{
    DOOR(d);
    DOOR(owner);
    const char *url;

    EXPECT_IS(enter(&owner, url_with("")), HF_OK);
    url = url_of("read", of_locks);
    leave_tombstone(&owner, "gone");
    hf__mariadb_sql(server(),
                    "GRANT SELECT ON %s.holdfast_cell TO "
                    "'read_%s'@'127.0.0.1'",
                    database(), database());
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(clean_cells(&d, 0), 0);
    EXPECT_IS(get(&d, "gone"), HF_OK);
    EXPECT_IS(put(&d, "gone", told(), "new"), HF_EAUTH);
    use(&d, "job");
    EXPECT_IS(clean_cells(&owner, 0), 1);
}

/* ---- a table of another shape */

static void expect_named(const char *change, const char *words)
{
    DOOR(d);

    make_table();
    hf__mariadb_sql(server(), "ALTER TABLE %s.holdfast_cell %s", database(),
                    change);
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_EPROTO);
    EXPECT_HAS(last.error.text, "table holdfast_cell is not as Holdfast makes");
    EXPECT_HAS(last.error.text, words);
    EXPECT_IS(get(&d, "stock"), HF_EPROTO);
    use(&d, "job");
    hf__mariadb_sql(server(), "DROP TABLE %s.holdfast_cell", database());
}

TEST_WITHIN(60, a_table_of_cells_of_another_shape_is_named_and_locks_go_on)
{
    expect_named("MODIFY value BLOB NULL",
                 "value is BLOB(65535), and must be MEDIUMBLOB NULL");
    expect_named("MODIFY value MEDIUMTEXT CHARACTER SET latin1 NULL",
                 "value is TEXT(");
    expect_named("MODIFY value MEDIUMBLOB NOT NULL DEFAULT ''",
                 "value must be MEDIUMBLOB NULL");
    expect_named("MODIFY version BIGINT NOT NULL DEFAULT 0",
                 "version is BIGINT, and must be BIGINT UNSIGNED");
    expect_named("MODIFY writer VARBINARY(8) NOT NULL DEFAULT ''",
                 "writer is VARBINARY(8), and must be VARBINARY(16)");
    expect_named("DROP COLUMN writer", "writer is missing");
    expect_named("ENGINE=MyISAM", "its engine is MyISAM, and must be InnoDB");
    expect_named("ADD UNIQUE odd(version)",
                 "its index odd keeps out rows that differ");
}

TEST(a_longer_value_and_columns_that_do_no_harm_are_fine)
{
    DOOR(d);

    make_table();
    hf__mariadb_sql(server(),
                    "ALTER TABLE %s.holdfast_cell MODIFY value LONGBLOB NULL, "
                    "ADD mine INT, ADD INDEX(version)",
                    database());
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
}

/* ---- nonsense in a row */

/* Whoever reads it or wants to replace it is told, and it stays. */
static void expect_damaged(struct door *d, const char *assignments,
                           uint64_t version)
{
    char sum[64];

    EXPECT_IS(put(d, "stock", 0, "ten"), HF_OK);
    hf__mariadb_sql(server(), "UPDATE %s.holdfast_cell SET %s", database(),
                    assignments);
    snprintf(sum, sizeof sum, "%s",
             cell_says("stock", "MD5(CONCAT(version,'/',writer,'/',"
                                "COALESCE(value,'none')))"));
    EXPECT_IS(get(d, "stock"), HF_EPROTO);
    EXPECT_HAS(last.error.text, "holdfast_cell was changed by somebody else");
    EXPECT_IS(put(d, "stock", version, "new"), HF_EPROTO);
    EXPECT_IS(delete_cell(d, "stock", version), HF_EPROTO);
    EXPECT_IS(put(d, "stock", 0, "new"), HF_EPROTO);
    EXPECT_IS(clean_cells(d, 0), 0);
    EXPECT_TEXT(cell_says("stock", "MD5(CONCAT(version,'/',writer,'/',"
                                   "COALESCE(value,'none')))"),
                sum);
    EXPECT_IS(put(d, "other", 0, "ten"), HF_OK);
    hf__mariadb_sql(server(), "DELETE FROM %s.holdfast_cell", database());
}

TEST_WITHIN(60, a_row_of_a_cell_that_makes_no_sense_is_never_replaced)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    expect_damaged(&d, "version=0", 0);
    expect_damaged(&d, "version=0,value=NULL", 0);
    expect_damaged(&d, "version=9007199254740991", HF__FENCE_END - 1);
    expect_damaged(&d, "version=9007199254740992", 7);
    expect_damaged(&d, "version=18446744073709551615", 7);
    expect_damaged(&d, "version=7,writer=''", 7);
    expect_damaged(&d, "version=7,writer='mine'", 7);
    expect_damaged(&d, "version=7,writer='mine',value=NULL", 7);
    expect_damaged(&d, "version=7,value=REPEAT('x',65537)", 7);
    expect_damaged(&d, "version=7,value=REPEAT('x',10000000)", 7);
}

TEST(a_row_that_makes_no_sense_keeps_no_other_from_being_cleaned_up)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(delete_cell(&d, "a", 0), HF_OK);
    EXPECT_IS(delete_cell(&d, "stock", 0), HF_OK);
    EXPECT_IS(delete_cell(&d, "unsigned", 0), HF_OK);
    EXPECT_IS(delete_cell(&d, "z", 0), HF_OK);
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_cell SET version=9223372036854775808 "
                    "WHERE name_key LIKE '%%stock'",
                    database());
    hf__mariadb_sql(server(),
                    "ALTER TABLE %s.holdfast_cell MODIFY writer VARBINARY(16) "
                    "NULL",
                    database());
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_cell SET writer=NULL "
                    "WHERE name_key LIKE '%%unsigned'",
                    database());
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&d, 0), 2);
}

TEST(what_somebody_wrote_that_makes_sense_is_a_value)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_cell SET version=7,value='by hand'",
                    database());
    EXPECT_IS(get(&d, "stock"), HF_OK);
    EXPECT_IS(told(), 7);
    EXPECT_IS(memcmp(last.value, "by hand", 7), 0);
    EXPECT_IS(put(&d, "stock", 7, "new"), HF_OK);
    EXPECT_MORE(told(), 7);
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_cell SET version=9007199254740000",
                    database()); /* as if the clock had been ahead */
    EXPECT_IS(put(&d, "stock", 9007199254740000, "next"), HF_OK);
    EXPECT_SAFE_IS(told(), 9007199254740001);
    EXPECT_IS(delete_cell(&d, "stock", told()), HF_OK);
    EXPECT_IS(clean_cells(&d, 0), 0);
}

/* ---- a server that takes short packets */

TEST_WITHIN(60,
            a_value_that_the_server_does_not_take_is_refused_with_the_remedy)
{
    static const char *const extra[] = {"--max-allowed-packet=1M", NULL};
    const struct hf__mariadb_opts opts = {.extra = extra};
    struct hf__mariadb *m = hf__mariadb_start(&opts);
    char url[HF__MARIADB_URL];
    DOOR(d);
    uint64_t version;

    hf__mariadb_fresh_url(m, url, sizeof url);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(put_bytes(&d, "stock", 0, 'x', HF__CELL_MAX), HF_OK);
    version = told();
    hf__mariadb_sql(m, "SET GLOBAL max_allowed_packet=16384");
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(put_bytes(&d, "stock", version, 'y', HF__CELL_MAX), HF_EUNSAFE);
    EXPECT_HAS(last.error.text, "raise max_allowed_packet to 1");
    EXPECT_IS(get(&d, "stock"), HF_OK);
    EXPECT_IS(told(), version);
    EXPECT_IS(last.op.state.length, HF__CELL_MAX);
    EXPECT_IS(last.value[HF__CELL_MAX - 1], 'x');
    EXPECT_IS(put_bytes(&d, "stock", version, 'y', 5000), HF_OK);
    EXPECT_IS(get(&d, "stock"), HF_OK);
    EXPECT_IS(last.op.state.length, 5000);
    shut(&d);
    hf__mariadb_free(m);
}

/* ---- what has none */

TEST(a_scheme_without_tables_has_no_cells)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("scheme=session")), HF_OK);
    EXPECT_IS(d.conn.caps & HF_CAP_CELLS, 0);
    EXPECT_IS(get(&d, "stock"), HF_ENOTSUP);
    EXPECT_HAS(last.error.text, "scheme=table");
    EXPECT_IS(enter(&d, url_with("scheme=row")), HF_OK);
    EXPECT_IS(d.conn.caps & HF_CAP_CELLS, 0);
    EXPECT_IS(get(&d, "stock"), HF_ENOTSUP);
    EXPECT_HAS(last.error.text, "scheme=table");
}
