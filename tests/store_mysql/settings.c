/* SPDX-License-Identifier: MIT */
/*
 * Servers with odd defaults: a session sets what it needs, so that none of
 * them changes what a lock does, or says clearly why it can't.
 */
#include "tests/store_mysql/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Names and labels that a mode or a character set could mistake. */
static const char *const names[] = {
    "plain",
    "it's",
    "a\\b",
    "100%",
    "\"q\"",
    "tab\t",
    "gr\303\266\303\237er",
    "job",
    "Job",
    "job ",
    "\xf0\x9f\x94\x92",
    "a;b",
    "--",
    "/*x*/",
    "?",
    "@@x",
};
enum { NAMES = sizeof names / sizeof names[0] };

static hf_lock *acquire_as(hf_client *client, const char *name)
{
    hf_acquire_opts opts = wanting(5000, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    /* In a label a percent sign begins a field. */
    opts.owner = strchr(name, '%') ? "100%%" : name;
    opts.note = "\\'\"\xc3\xa9\xf0\x9f\x94\x92";
    if (hf_acquire(client, name, &opts, &lock, &err) != HF_OK) {
        printf("%s: %s\n", name, err.text);
    }
    EXPECT(lock);
    return lock;
}

static void see(hf_client *client, const char *name, int64_t lease_ms)
{
    AUTO_INFO *info = look_at(client, name);

    EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
    EXPECT_TEXT(hf_info_label(info), name);
    EXPECT_TEXT(hf_info_note(info), "\\'\"\xc3\xa9\xf0\x9f\x94\x92");
    EXPECT_MORE(hf_info_remaining_ms(info), lease_ms - patience(5000));
    EXPECT_LESS(hf_info_remaining_ms(info), lease_ms + 1);
}

/* The whole life of some locks, seen by a second client. */
static void live(void)
{
    CLIENTS(alice, bob);
    hf_lock *locks[NAMES];
    AUTO_LOCK *brief = NULL;

    for (int i = 0; i < NAMES; i++) {
        locks[i] = acquire_as(alice, names[i]);
    }
    for (int i = 0; i < NAMES; i++) {
        see(bob, names[i], 30000);
        EXPECT_IS(try_once(bob, names[i]), HF_BUSY);
        EXPECT_IS(hf_renew(locks[i], NULL), HF_OK);
    }
    for (int i = 0; i < NAMES; i++) {
        uint64_t fence = hf_fence(locks[i]);
        AUTO_LOCK *next = NULL;

        EXPECT_IS(hf_release(locks[i], NULL), HF_OK);
        next = acquire_as(bob, names[i]);
        EXPECT_SAFE_MORE(hf_fence(next), fence);
        hf_free(locks[i]);
    }
    brief = acquire_fixed(alice, "brief", 300);
    EXPECT_IS(attempt(bob, "brief", patience(3000)), HF_OK);
    EXPECT_IS(hf_release(brief, NULL), HF_LOST);
}

static void live_with(const char *const *extra)
{
    AUTO_SERVER *m = own_server(extra);

    live();
    EXPECT(!hf__mariadb_has_ended(m));
}

#define WITH(...) live_with((const char *const[]){__VA_ARGS__, NULL})

CASE_WITHIN(60, sql_modes_change_nothing, WITH("--sql-mode="));
CASE_WITHIN(
    60, the_sql_of_others_changes_nothing,
    WITH("--sql-mode=ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,ANSI,"
         "SIMULTANEOUS_ASSIGNMENT,EMPTY_STRING_IS_NULL,NO_ZERO_DATE,"
         "PAD_CHAR_TO_FULL_LENGTH,NO_UNSIGNED_SUBTRACTION,"
         "TIME_ROUND_FRACTIONAL"));
CASE_WITHIN(60, the_sql_of_oracle_changes_nothing,
            WITH("--sql-mode=ORACLE", "--transaction-isolation=SERIALIZABLE"));
CASE_WITHIN(60, a_server_that_does_not_commit_changes_nothing,
            WITH("--autocommit=0", "--transaction-isolation=SERIALIZABLE",
                 "--innodb-rollback-on-timeout=ON",
                 "--innodb-lock-wait-timeout=1", "--completion-type=CHAIN"));
CASE_WITHIN(
    60, what_a_server_says_to_each_session_changes_nothing,
    WITH("--init-connect=SET autocommit=0, sql_mode='ANSI', "
         "names latin1, time_zone='-03:00', tx_isolation='READ-UNCOMMITTED'",
         "--default-time-zone=+05:30"));
CASE_WITHIN(60, a_character_set_of_one_byte_changes_nothing,
            WITH("--character-set-server=latin1",
                 "--collation-server=latin1_general_ci",
                 "--skip-character-set-client-handshake"));
CASE_WITHIN(60, a_character_set_of_two_bytes_changes_nothing,
            WITH("--character-set-server=utf16",
                 "--collation-server=utf16_general_ci",
                 "--lower-case-table-names=1", "--default-time-zone=-08:00"));
CASE_WITHIN(60, a_log_of_statements_changes_nothing,
            WITH("--log-bin", "--binlog-format=STATEMENT",
                 "--transaction-isolation=READ-COMMITTED"));
CASE_WITHIN(60, a_log_of_rows_changes_nothing,
            WITH("--log-bin", "--binlog-format=ROW",
                 "--binlog-row-image=MINIMAL", "--sync-binlog=1"));
CASE_WITHIN(60, a_mixed_log_changes_nothing,
            WITH("--log-bin", "--binlog-format=MIXED", "--slow-query-log=1",
                 "--long-query-time=0"));
CASE_WITHIN(60, another_engine_by_default_changes_nothing,
            WITH("--default-storage-engine=MyISAM",
                 "--explicit-defaults-for-timestamp",
                 "--old-mode=NO_PROGRESS_INFO", "--query-cache-type=1",
                 "--query-cache-size=1M"));

/* As two requests meet in one microsecond: who is refused then is nobody in the
 * holder's row. */
TEST_WITHIN(60, who_is_refused_at_the_very_moment_of_a_grant_leaves_no_mark)
{
    AUTO_SERVER *m = own_server((const char *const[]){
        "--init-connect=SET timestamp=UNIX_TIMESTAMP('2030-01-01')", NULL});
    CLIENTS(alice, bob);
    hf_stats_info stats = HF_STATS_INFO_INIT;
    AUTO_LOCK *job = acquire(alice, "job");

    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_TEXT(hf__mariadb_value(m, "SELECT detached FROM %s.holdfast_lock",
                                  database()),
                "0");
    EXPECT_IS(hf_stats(alice, &stats), HF_OK);
    EXPECT_IS(stats.taken_over, 0);
    EXPECT_IS(hf_held(job), 1);
}

static int many_names(hf_client *client, int n, hf_error *err)
{
    static char texts[HF_MANY_MAX][HF_NAME_MAX + 1];
    static const char *list[HF_MANY_MAX];
    hf_acquire_opts opts = wanting(0, 30000);
    AUTO_LOCK *lock = NULL;
    int r;

    for (int i = 0; i < n; i++) {
        snprintf(texts[i], sizeof texts[i], "%0*d", HF_NAME_MAX, i);
        list[i] = texts[i];
    }
    r = hf_acquire_many(client, list, n, &opts, &lock, err);
    if (r == HF_OK) {
        EXPECT_IS(hf_renew(lock, err), HF_OK);
        EXPECT_IS(hf_release(lock, err), HF_OK);
    }
    return r;
}

/* The least that a server allows is 1 K; who sets it so low is told. */
TEST_WITHIN(60, short_packets_suffice)
{
    static const char *const extra[] = {"--max-allowed-packet=16K",
                                        "--net-buffer-length=1K", NULL};
    AUTO_SERVER *m = own_server(extra);
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;
    int r;

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    r = many_names(alice, HF_MANY_MAX, &err);
    printf("%d names: %s: %s\n", HF_MANY_MAX, hf_strstatus(r), err.text);
    EXPECT_IS(r, HF_OK);
    EXPECT(!hf__mariadb_has_ended(m));
}

TEST_WITHIN(60, packets_that_are_too_short_are_refused)
{
    static const char *const extra[] = {"--max-allowed-packet=8K",
                                        "--net-buffer-length=1K", NULL};
    AUTO_SERVER *m = own_server(extra);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(open_status(store_url(NULL), &err), HF_EUNSAFE);
    EXPECT_HAS(err.text, "max_allowed_packet");
    EXPECT(!hf__mariadb_has_ended(m));
}
