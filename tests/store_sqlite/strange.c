/* SPDX-License-Identifier: MIT */
/*
 * What is no file of ours under the names that are: it is refused or passed
 * over, what it leads to is not touched, and nothing is made beside it.
 */
#include "src/backend/sqlite/place.h"
#include "tests/store_sqlite/world.h"

#include <dirent.h>
#include <fcntl.h>
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
    struct hf__place place = {0};
    hf_error error = HF_ERROR_INIT;

    if (geteuid() != 0) {
        SKIP("needs root, to be two users");
    }
    open_to_all();
    EXPECT_IS(hf__place_init(&place, path_of(""), "", &error), HF_OK);
    EXPECT_IS(finish(start(make_here, NULL, STRANGER)), 0);
    EXPECT_IS(hf__place_create_db(&place, &error), HF_EUNSAFE);
    EXPECT_HAS(error.text, "belongs to user 65534");
    hf__place_fini(&place);
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
