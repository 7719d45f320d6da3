/* SPDX-License-Identifier: MIT */
/*
 * Cells as rows: what was edited by hand is refused and left as it is, a
 * cleaning goes on where it was, and versions rise over what the database
 * forgets.
 */
#include "tests/store_sqlite/cell.h"
#include "tests/store_sqlite/disk.h"

#include <stdio.h>
#include <string.h>

TEST(a_row_of_a_cell_that_makes_no_sense_is_refused_and_left_alone)
{
    static const char *const edits[] = {
        "version=0",
        "version=-5",
        "version=9007199254740992",
        "version='new'",
        "version=1.5",
        "version=x'00'",
        "writer=x''",
        "writer=x'00112233445566778899aabbccddeeff00'",
        "writer='0123456789abcdef'",
        "writer=7",
        "value='a text'",
        "value=12",
        "value=zeroblob(65537)",
        "value=zeroblob(3000000)"};
    char text[200];
    PEER(me);

    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        EXPECT_IS(put_cell(&me, "stock", 0, "ten", 3), HF_OK);
        (void)snprintf(text, sizeof text, "UPDATE holdfast_cell SET %s",
                       edits[i]);
        sql(path_of(""), text);
        expect_damaged_cell(&me, "stock", "holdfast_cell");
        EXPECT_IS(clean_cells(&me, 0), 0);
        sql(path_of(""), "UPDATE holdfast_cell SET value=NULL");
        EXPECT_IS(clean_cells(&me, 0), strstr(edits[i], "value") ? 1 : 0);
        sql(path_of(""), "DELETE FROM holdfast_cell");
    }
    EXPECT_IS(put_cell(&me, "stock", 0, "ten", 3), HF_OK);
    expect_cell(&me, "stock", "ten");
}

/* Several transactions long. */
TEST(a_cleaning_of_cells_goes_on_where_it_was)
{
    PEER(me);

    sql(path_of(""),
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n "
        "WHERE i<5999) INSERT INTO holdfast_cell "
        "SELECT 'test='||i,i+1,randomblob(16),iif(i%3,NULL,x'') FROM n");
    sql(path_of(""), "INSERT INTO holdfast_cell VALUES"
                     "('other=1',1,randomblob(16),NULL),"
                     "('tesu',1,randomblob(16),NULL)");
    EXPECT_IS(clean_cells(&me, 0), 4000);
    EXPECT_IS(clean_cells(&me, 0), 0);
    EXPECT_IS(get_cell(&me, "5997"), HF_OK);
    EXPECT_IS(told.version, 5998);
    EXPECT_IS(get_cell(&me, "5999"), HF_OK);
    EXPECT_IS(told.version, 0);
}

/* As if the clock had been set back an hour since. */
TEST(versions_of_cells_that_were_cleaned_away_rise_though_the_clock_does_not)
{
    PEER(me);
    uint64_t hour_us = UINT64_C(3600000000);
    uint64_t gone;
    char text[200];

    EXPECT_IS(delete_cell(&me, "stock", 0), HF_OK);
    gone = told.version;
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&me, 0), 1);
    (void)snprintf(text, sizeof text,
                   "UPDATE holdfast_meta SET fence_base=fence_base+%llu "
                   "WHERE fence_base=%llu", /* as far as needed, no further */
                   (unsigned long long)hour_us, (unsigned long long)gone + 1);
    sql(path_of(""), text);
    EXPECT_IS(put_cell(&me, "stock", 0, "ten", 3), HF_OK);
    EXPECT_SAFE_MORE(told.version, gone + hour_us);
}

TEST(a_full_disk_takes_no_cell_and_no_lock)
{
    static unsigned char big[HF__CELL_MAX];
    uint64_t version;
    int r = HF_OK;

    mount_small();
    PEER(me);
    EXPECT_IS(acquire(&me, "held", 60000), HF_OK);
    EXPECT_IS(put_cell(&me, "stock", 0, "ten", 3), HF_OK);
    version = told.version;
    fill();
    for (int i = 0; i < 100 && r == HF_OK; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "c%d", i);
        r = put_cell(&me, name, 0, big, sizeof big);
    }
    EXPECT_IS(r, HF_EUNAVAIL);
    EXPECT_HAS(me.error.text, "disk full");
    EXPECT(!me.conn.is_dead);
    EXPECT_IS(renew(&me, "held", 60000), HF_OK);
    expect_cell(&me, "stock", "ten");
    EXPECT_IS(told.version, version);
    remove_filler();
    EXPECT_IS(put_cell(&me, "stock", version, big, sizeof big), HF_OK);
}
