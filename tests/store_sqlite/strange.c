/* SPDX-License-Identifier: MIT */
/*
 * What is no file of ours under the names that are: it is refused or passed
 * over, what it leads to is not touched, and nothing is made beside it. Who
 * only looks leaves no trace.
 */
#include "src/backend/sqlite/dir.h"
#include "src/backend/sqlite/vfs.h"
#include "tests/store_sqlite/world.h"

#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { A_FOLDER, A_FIFO, A_SYMLINK, A_HARD_LINK, KINDS };

static void put_there(int kind, const char *path)
{
    switch (kind) {
    case A_FOLDER:
        EXPECT_IS(mkdir(path, 0700), 0);
        break;
    case A_FIFO:
        EXPECT_IS(mkfifo(path, 0600), 0);
        break;
    case A_SYMLINK:
        EXPECT_IS(symlink(secret(), path), 0);
        break;
    default:
        EXPECT_IS(link(secret(), path), 0);
        break;
    }
}

static void expect_refused(int kind, const char *suffix)
{
    struct peer me = {0};
    int r;

    (void)unlink(path_of(suffix));
    put_there(kind, path_of(suffix));
    r = enter(&me);
    EXPECT_IS(r, kind <= A_FIFO ? HF_EPROTO : HF_EUNSAFE);
    EXPECT_HAS(me.error.text, suffix);
    EXPECT_HAS(me.error.text, kind == A_SYMLINK     ? "symbolic link"
                              : kind == A_HARD_LINK ? "hard link"
                                                    : "not a regular file");
    leave(&me);
    expect_the_secret_kept();
    EXPECT_IS(remove(path_of(suffix)), 0);
}

TEST(what_is_no_file_of_ours_is_refused_under_each_name)
{
    static const char *const names[] = {"", "-wal", "-shm", "-holdfast"};

    keep_a_secret();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            expect_refused(kind, names[i]);
            {
                PEER(me);
            }
            expect_refused(kind, names[i]);
        }
    }
}

TEST(whatever_is_called_a_journal_is_passed_over)
{
    keep_a_secret();
    for (int kind = 0; kind < KINDS; kind++) {
        put_there(kind, path_of("-journal"));
        {
            PEER(me);
            EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
            EXPECT_IS(release(&me, "job"), HF_OK);
        }
        expect_the_secret_kept();
        EXPECT_IS(remove(path_of("-journal")), 0);
    }
}

TEST(a_log_of_a_deleted_database_is_not_read)
{
    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 600000), HF_OK);
    }
    EXPECT_IS(unlink(path_of("")), 0);
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

static void make_here(struct stage *stage, int uid)
{
    (void)stage;
    become(uid);
    (void)close(open(path_of(""), O_CREAT | O_EXCL | O_CLOEXEC, 0666));
}

/* Between the look and the making. */
TEST(a_strangers_database_that_appears_meanwhile_is_refused)
{
    struct hf__sqlite_dir sqlite_dir = {0};
    hf_error error = HF_ERROR_INIT;

    if (geteuid() != 0) {
        SKIP("needs root, to be two users");
    }
    open_to_all();
    EXPECT_IS(hf__sqlite_dir_init(&sqlite_dir, path_of(""), "", &error), HF_OK);
    EXPECT_IS(finish(start(make_here, NULL, STRANGER)), 0);
    EXPECT_IS(hf__sqlite_dir_create_db(&sqlite_dir, &error), HF_EUNSAFE);
    EXPECT_HAS(error.text, "belongs to user 65534");
    hf__sqlite_dir_fini(&sqlite_dir);
}

/* Once the place was judged, what else has its name is not followed. */
TEST(a_link_that_appears_meanwhile_is_not_followed)
{
    struct hf__sqlite_dir sqlite_dir = {0};
    hf_error error = HF_ERROR_INIT;
    sqlite3 *db = NULL;
    struct stat st;

    {
        PEER(me);
    }
    EXPECT_IS(hf__sqlite_dir_init(&sqlite_dir, path_of(""), "", &error), HF_OK);
    EXPECT_IS(rename(path_of(""), path_of(".real")), 0);
    EXPECT_IS(symlink(path_of(".real"), path_of("")), 0);
    EXPECT_IS(hf__vfs_open(path_of(""), SQLITE_OPEN_READWRITE, &db),
              SQLITE_CANTOPEN);
    EXPECT_IS(sqlite3_close(db), SQLITE_OK);
    EXPECT_IS(truncate(path_of(".real"), 0), 0);
    EXPECT_IS(
        hf__header_prepare(&sqlite_dir, hf__after_ms(hf__now(), 5000), &error),
        HF_EUNAVAIL);
    EXPECT_IS(stat(path_of(".real"), &st), 0);
    EXPECT_IS(st.st_size, 0);
    hf__sqlite_dir_fini(&sqlite_dir);
}

/* ---- look before making ------------------------------------------------- */

static int count_files(void)
{
    DIR *dir = opendir(hf__test_folder());
    int count = -2; /* . and .. */

    EXPECT(dir != NULL);
    while (readdir(dir) != NULL) {
        count++;
    }
    (void)closedir(dir);
    return count;
}

static void expect_left_alone(const char *word)
{
    struct peer me = {0};

    EXPECT_IS(count_files(), 1);
    EXPECT_IS(enter(&me), HF_EPROTO);
    EXPECT_HAS(me.error.text, word);
    leave(&me);
    EXPECT_IS(count_files(), 1);
    EXPECT_IS(unlink(path_of("")), 0);
}

TEST(nothing_is_made_beside_what_is_no_store)
{
    int fd = open(path_of(""), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    EXPECT_IS(write(fd, "127.0.0.1 localhost\n", 20), 20);
    (void)close(fd);
    expect_left_alone("not a database");
    sql(path_of(""), "CREATE TABLE t(a)");
    expect_left_alone("another program");
    sql(path_of(""), "PRAGMA journal_mode=WAL; CREATE TABLE t(a)");
    expect_left_alone("another program");
    sql(path_of(""), "PRAGMA application_id=7");
    expect_left_alone("another program");
}

TEST(nothing_is_made_where_the_path_is_too_long)
{
    char path[1024];
    size_t used = (size_t)snprintf(path, sizeof path, "%s", path_of(".deep"));
    struct peer me = {0};
    struct stat st;

    for (int i = 0; i < 3; i++) {
        EXPECT_IS(mkdir(path, 0700), 0);
        used += (size_t)snprintf(path + used, sizeof path - used, "/%0150d", i);
    }
    EXPECT_IS(mkdir(path, 0700), 0);
    (void)snprintf(path + used, sizeof path - used, "/%050d.db", 1);
    EXPECT_IS(enter_path(&me, path), HF_EINVAL);
    EXPECT_HAS(me.error.text, "too long");
    leave(&me);
    EXPECT_IS(stat(path, &st), -1);
    /* With what SQLite puts behind it is just short enough. */
    path[512 - sizeof "-journal" + 1] = '\0';
    EXPECT_IS(enter_path(&me, path), HF_OK);
    leave(&me);
}

/* POSIX locks are the process's: were the file opened and closed by the way,
 * a program that has a transaction on its own would lose its locks. */
static void write_meanwhile(struct stage *stage, int index)
{
    sqlite3 *db = NULL;

    (void)index;
    until(&stage->go, 1);
    EXPECT_IS(sqlite3_open(path_of(""), &db), SQLITE_OK);
    EXPECT_IS(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
              SQLITE_BUSY);
    EXPECT_IS(sqlite3_close(db), SQLITE_OK);
    atomic_fetch_add(&stage->served, 1);
}

TEST(who_looks_at_a_database_drops_no_lock_on_it)
{
    struct stage *stage = stage_new();
    pid_t other = start(write_meanwhile, stage, 0);
    sqlite3 *db = NULL;

    EXPECT_IS(sqlite3_open(path_of(""), &db), SQLITE_OK);
    EXPECT_IS(
        sqlite3_exec(db, "CREATE TABLE t(a);BEGIN IMMEDIATE", NULL, NULL, NULL),
        SQLITE_OK);
    struct peer me = {0};
    EXPECT_IS(enter(&me), HF_EPROTO);
    leave(&me);
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(other), 0);
    EXPECT_IS(atomic_load(&stage->served), 1);
    EXPECT_IS(sqlite3_close(db), SQLITE_OK);
}
