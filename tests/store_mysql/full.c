/* SPDX-License-Identifier: MIT */
/*
 * The server has no room left for what we write: a clear error, no lock that
 * two hold, and all goes on when there is room again. The tablespace has a
 * limit, which is as full as a disk, and takes no right to mount one.
 */
#include "tests/store_mysql/world.h"

#include <mysqld_error.h>
#include <string.h>

static void fill(struct hf__mariadb *m)
{
    unsigned r = 0;

    hf__mariadb_sql(m,
                    "CREATE TABLE %s.filler (id INT AUTO_INCREMENT PRIMARY "
                    "KEY, bytes LONGBLOB) ENGINE=InnoDB",
                    database());
    for (int size = 1 << 20; size > 100; size /= 4) {
        do {
            r = hf__mariadb_try(m,
                                "INSERT INTO %s.filler (bytes) VALUES "
                                "(REPEAT('x', %d))",
                                database(), size);
        } while (r == 0);
        EXPECT_IS(r, ER_RECORD_FILE_FULL);
    }
}

/* Acquires names that nobody had before until there is no room. */
static int acquire_new_names(hf_client *client, hf_error *err)
{
    int r = HF_OK;

    for (int i = 0; i < 2000 && r == HF_OK; i++) {
        hf_acquire_opts opts = wanting(0, 30000);
        AUTO_LOCK *lock = NULL;
        char name[HF_NAME_MAX + 1];

        snprintf(name, sizeof name, "%0200d", i);
        r = hf_acquire(client, name, &opts, &lock, err);
    }
    return r;
}

TEST_WITHIN(60, a_full_server_is_told_and_survived)
{
    static const char *const extra[] = {
        "--innodb-file-per-table=0",
        "--innodb-data-file-path=ibdata1:12M:autoextend:max:24M", NULL};
    static const char *const roomy[] = {
        "--innodb-file-per-table=0",
        "--innodb-data-file-path=ibdata1:12M:autoextend", NULL};
    AUTO_SERVER *m = own_server(extra);
    CLIENTS(alice, bob);
    int64_t lease_ms = patience(10000);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    hf_error err = HF_ERROR_INIT;
    int64_t start;
    int r;

    fill(m);
    r = acquire_new_names(alice, &err);
    printf("%s: %s\n", hf_strstatus(r), err.text);
    EXPECT_IS(r, HF_EUNAVAIL);
    EXPECT_HAS(err.text, "full");
    start = hf__test_now_ms();
    for (int i = 0; i < 20; i++) {
        r = try_once(bob, "job");
        EXPECT(r == HF_BUSY || r == HF_EUNAVAIL);
    }
    hf__mariadb_stop(m);
    hf__mariadb_restart(m, roomy);
    EXPECT_IS(acquire_new_names(alice, &err), HF_OK);
    while (hf_renew(job, NULL) != HF_OK) { /* while it finds it full */
        EXPECT_SOON(since(start), lease_ms);
        hf__test_pause_ms(5);
    }
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}
