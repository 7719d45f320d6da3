/* SPDX-License-Identifier: MIT */
/*
 * Values of all types, and the memory that they need.
 */
#include "src/base/alloc.h"
#include "tests/rows/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const columns[] = {"t", "b", "i", "m", "u", "d", "kept"};

/* MySQL's BYTES are texts to whom they suit, and have a byte 0 anywhere. */
static const struct {
    const char *create;
    const char *insert;
    const char *outputs[3]; /* statements of the session's */
    hf_row_value t;
    hf_row_value d;
    const char *select;
    const char *says;
} values[KINDS] = {
    {"CREATE TABLE account(id INT PRIMARY KEY,t VARCHAR(9) CHARACTER SET "
     "utf8mb4,b VARBINARY(9),i INT,m BIGINT,u BIGINT UNSIGNED,d DECIMAL(4,2),"
     "kept INT,version BIGINT UNSIGNED NOT NULL)",
     "INSERT INTO account VALUES(1,x'61275c60',x'0027ff',NULL,"
     "-9223372036854775808,18446744073709551615,1.50,42,7)",
     {"SET sql_mode='ANSI_QUOTES'", "SET sql_mode='NO_BACKSLASH_ESCAPES'"},
     {HF_ROW_TEXT, 0, "\"\0'", 3},
     {HF_ROW_TEXT, 0, "0.05", 4},
     "SELECT CONCAT_WS('|',HEX(t),HEX(b),i,IFNULL(m,'-'),u,d,kept,version) "
     "FROM account",
     "220027|61275C60|-5|-|18446744073709551615|0.05|42|8"},
    {"CREATE TABLE account(id INT PRIMARY KEY,t VARCHAR(9),b BYTEA,i SMALLINT,"
     "m BIGINT,u NUMERIC,d BOOLEAN,kept INT,version BIGINT NOT NULL)",
     "INSERT INTO account VALUES(1,'a''\\`','\\x0027ff',NULL,"
     "-9223372036854775808,18446744073709551615,true,42,7)",
     {"SET bytea_output=hex", "SET bytea_output=escape"},
     {HF_ROW_TEXT, 0, "\"\\'", 3},
     {HF_ROW_TEXT, 0, "false", 5},
     "SELECT concat_ws('|',t,encode(b,'hex'),i,coalesce(m,0),u,d,kept,version) "
     "FROM account",
     "\"\\'|0027|-5|0|18446744073709551615|f|42|8"}};

static int check_and_turn(void *arg, const hf_row_value *o, hf_row_value *n)
{
    (void)arg;
    EXPECT_IS(o[0].type, HF_ROW_TEXT);
    EXPECT_IS(o[0].length, 4);
    EXPECT(memcmp(o[0].bytes, "a'\\`", 4) == 0);
    EXPECT_IS(o[1].type, HF_ROW_BYTES);
    EXPECT_IS(o[1].length, 3);
    EXPECT(memcmp(o[1].bytes, "\0'\xff", 3) == 0);
    EXPECT_IS(o[2].type, HF_ROW_NULL);
    EXPECT_IS(o[3].type, HF_ROW_INT);
    EXPECT_IS(o[3].number, INT64_MIN);
    EXPECT_IS(o[4].type, HF_ROW_TEXT); /* beyond int64_t */
    EXPECT_IS(o[5].type, HF_ROW_TEXT);
    EXPECT_HAS((const char *)o[5].bytes, its.kind == ON_MYSQL ? "1.50" : "t");
    for (int i = 0; i < 7; i++) {
        EXPECT_IS(n[i].type, HF_ROW_UNSET);
    }
    n[0] = values[its.kind].t;
    n[1] = its.kind == ON_MYSQL
               ? o[0]
               : (hf_row_value){HF_ROW_BYTES, 0, o[1].bytes, 2};
    n[2] = (hf_row_value){HF_ROW_INT, -5, NULL, 0};
    n[3] = (hf_row_value){.type = HF_ROW_NULL};
    n[4] = o[4];
    n[5] = values[its.kind].d;
    return 0;
}

TEST(values_of_all_types_come_and_go_as_they_are)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter();
        hf_row_update u = HF_ROW_UPDATE_INIT;

        tell(db, "DROP TABLE IF EXISTS account");
        tell(db, "%s", values[its.kind].create);
        tell(db, "%s", values[its.kind].insert);
        tell(db, "%s", values[its.kind].outputs[i]);
        u.version = "version";
        u.columns = columns;
        u.n_columns = 7;
        u.change = check_and_turn;
        EXPECT_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(value(db, "%s", values[its.kind].select),
                    values[its.kind].says);
    }
}

/* ---- memory */

static int pieces; /* that are still to be had */

static void *resize_scarce(void *p, size_t size)
{
    return pieces-- > 0 ? realloc(p, size) : NULL;
}

TEST(memory_that_runs_out_at_any_point_writes_nothing)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
    char before[VALUE];
    int r = HF_ENOMEM;
    int n = 0;

    EXPECT_IS(hf__alloc_replace(resize_scarce, free), HF_OK);
    make_accounts(db);
    snprintf(before, sizeof before, "%s", session_of(db));
    while (r == HF_ENOMEM) {
        EXPECT_SAFE(strcmp(row_says(db, 1), "100 1") == 0);
        tell(db, "BEGIN");
        pieces = n++;
        r = change(db, 1, &u);
        EXPECT_IS(info.in_transaction, 1);
        tell(db, "COMMIT");
        EXPECT_TEXT(session_of(db), before);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT_MORE(n, its.kind == ON_MYSQL ? 2 : 4);
    pieces = 0;
    EXPECT_IS(guard_sql(before, sizeof before, "fence", 1), HF_ENOMEM);
    EXPECT_TEXT(before, "");
}
