/* SPDX-License-Identifier: MIT */
/*
 * check() and the grade: what is found is said, and what limits a promise is
 * warned of by the name of its setting.
 */
#include "tests/store_mysql/site.h"

#include <stdlib.h>
#include <string.h>

static hf_verdict verdict_on(struct door *d, const char *name)
{
    hf_verdict verdict = HF_UNFIT;

    EXPECT(*finding(d, name, &verdict) != '\0');
    return verdict;
}

TEST(a_sound_server_is_fine)
{
    static const char *const names[] = {
        "version",       "user",          "database",
        "privileges",    "read_only",     "innodb_doublewrite",
        "isolation",     "galera",        "replicas",
        "connections",   "connection",    "clock_ahead_of_ours",
        "waiting",       "row_lock_wait", "worst_takeover",
        "binlog_format", "tls",           "create"};
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT_IS(verdict_on(&d, names[i]), HF_FINE);
    }
    EXPECT_TEXT(finding(&d, "version", NULL),
                hf__mariadb_value(server(), "SELECT VERSION()"));
    EXPECT_TEXT(finding(&d, "isolation", NULL), "READ-COMMITTED");
    EXPECT_TEXT(finding(&d, "waiting", NULL), "woken by user locks");
    EXPECT_TEXT(finding(&d, "database", NULL), database());
    EXPECT_LESS(
        labs(strtol(finding(&d, "clock_ahead_of_ours", NULL), NULL, 10)), 1000);
    EXPECT_IS(hf__conn_server_info(&d.conn).reach, HF_REACH_HOSTS);
    use(&d, "job");
}

/* A server with these options: its grade, and the verdict on `name`. */
static void expect_grade(const char *const *extra, char grade, const char *name)
{
    struct hf__mariadb_opts opts = {.extra = extra};
    struct hf__mariadb *m = hf__mariadb_start(&opts);
    DOOR(d);
    char url[HF__MARIADB_URL];

    hf__mariadb_fresh_url(m, url, sizeof url);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, grade);
    EXPECT_IS(verdict_on(&d, name), HF_WARN);
    use(&d, "job");
    shut(&d);
    hf__mariadb_free(m);
}

TEST_WITHIN(90, a_server_that_forgets_when_it_crashes_is_volatile)
{
    static const char *const extra[] = {"--innodb-flush-log-at-trx-commit=0",
                                        NULL};

    expect_grade(extra, 'D', "innodb_flush_log_at_trx_commit");
}

TEST_WITHIN(90, a_server_that_forgets_when_the_power_fails_is_warned_of)
{
    static const char *const extra[] = {"--innodb-flush-log-at-trx-commit=2",
                                        "--skip-innodb-doublewrite", NULL};

    expect_grade(extra, 'B', "innodb_flush_log_at_trx_commit");
    expect_grade(extra, 'B', "innodb_doublewrite");
}

TEST_WITHIN(90, a_log_that_is_not_flushed_is_warned_of)
{
    static const char *const extra[] = {"--log-bin=log",
                                        "--server-id=7",
                                        "--binlog-format=STATEMENT",
                                        "--innodb-flush-log-at-trx-commit=1",
                                        "--sync-binlog=0",
                                        NULL};
    struct hf__mariadb_opts opts = {.extra = extra};
    struct hf__mariadb *m = hf__mariadb_start(&opts);
    DOOR(d);
    char url[HF__MARIADB_URL];

    hf__mariadb_fresh_url(m, url, sizeof url);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(verdict_on(&d, "sync_binlog"), HF_WARN);
    EXPECT_TEXT(finding(&d, "binlog_format", NULL), "STATEMENT");
    EXPECT_TEXT(finding(&d, "isolation", NULL), "REPEATABLE-READ");
    use(&d, "job");
    shut(&d);
    hf__mariadb_free(m);
}

TEST_WITHIN(90, few_connections_left_are_warned_of)
{
    static const char *const extra[] = {"--max-connections=10", NULL};
    struct hf__mariadb_opts opts = {.extra = extra};
    struct hf__mariadb *m = hf__mariadb_start(&opts);
    struct door doors[9] = {0};
    char url[HF__MARIADB_URL];

    hf__mariadb_fresh_url(m, url, sizeof url);
    for (int i = 0; i < 9; i++) {
        EXPECT_IS(enter(&doors[i], url), HF_OK);
    }
    EXPECT_IS(verdict_on(&doors[0], "connections"), HF_WARN);
    for (int i = 0; i < 9; i++) {
        shut(&doors[i]);
    }
    hf__mariadb_free(m);
}
