/* SPDX-License-Identifier: MIT */
/*
 * The server has no room left for rows of ours: a clear error, no lock that two
 * hold, names that it has are locked as before, and all goes on when there is
 * room again. Its processes may write no file that is longer than the table is
 * by now, which is as full as a disk, and takes no right to mount one.
 */
#include "tests/store_postgres/world.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The server's log of changes is in files of so many bytes, which must go on.
 */
enum { LOG_FILE = 16 << 20, HALF_A_PAGE = 4096 };

static rlim_t size_of_table(void)
{
    return (rlim_t)strtoull(answer("SELECT pg_relation_size('holdfast_lock')"),
                            NULL, 10);
}

static void fill(void)
{
    while (size_of_table() <= LOG_FILE) {
        hf__postgres_sql(
            server(), database(),
            "INSERT INTO holdfast_lock(name_key,label) SELECT "
            "convert_to('other:'||gen_random_uuid(),'UTF8'),repeat('x',100) "
            "FROM generate_series(1,20000)");
    }
}

/* Only its own user may do that to the server. */
static int limit_as_its_user(const struct hf__postgres *s, rlim_t bytes)
{
    struct rlimit limit;
    struct stat st;

    if (stat(hf__postgres_socket(s), &st) < 0 ||
        setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 ||
        setresuid(st.st_uid, st.st_uid, st.st_uid) < 0 ||
        prlimit(hf__postgres_pid(s), RLIMIT_FSIZE, NULL, &limit) < 0) {
        return 1;
    }
    limit.rlim_cur = bytes;
    return prlimit(hf__postgres_pid(s), RLIMIT_FSIZE, &limit, NULL) < 0;
}

/* For the sessions that begin from now on. */
static void limit_files(const struct hf__postgres *s, rlim_t bytes)
{
    pid_t child = fork();

    if (child == 0) {
        _exit(limit_as_its_user(s, bytes));
    }
    EXPECT_IS(hf__test_exit_code(child), 0);
}

/* Acquires names that nobody had before until there is no room. */
static int acquire_new_names(hf_client *client, hf_error *err)
{
    static int next;
    int r = HF_OK;

    for (int i = 0; i < 200 && r == HF_OK; i++) {
        hf_acquire_opts opts = wanting(0, 30000);
        AUTO_LOCK *lock = NULL;
        char name[HF_NAME_MAX + 1];

        snprintf(name, sizeof name, "%0200d", next++);
        r = hf_acquire(client, name, &opts, &lock, err);
    }
    return r;
}

TEST_WITHIN(60, a_full_server_is_told_and_survived)
{
    AUTO_SERVER *s = own_server(NULL);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    AUTO_CLIENT *bob = NULL;
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(try_once(alice, "old"), HF_OK);
    fill();
    limit_files(s, size_of_table() + HALF_A_PAGE);
    bob = open_store();
    EXPECT_IS(acquire_new_names(bob, &err), HF_EUNAVAIL);
    EXPECT_TEXT(err.sqlstate, "53100");
    EXPECT_HAS(err.text, "the server's disk is full");
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(try_once(bob, "old"), HF_OK);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    limit_files(s, RLIM_INFINITY);
    close_client(&bob);
    bob = open_store();
    EXPECT_IS(acquire_new_names(bob, &err), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT(!hf__postgres_has_ended(s));
}
