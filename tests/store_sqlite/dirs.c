/* SPDX-License-Identifier: MIT */
/*
 * Where a store may live, whose files it takes for its own, and which mode it
 * gives them. What can't be trusted is refused in one sentence, and never
 * written to.
 */
#include "src/backend/sqlite/dir.h"
#include "tests/store_sqlite/world.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    EXPECT(fd >= 0);
    EXPECT_IS(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static void expect_refused(const char *path, int status, const char *word)
{
    struct peer me = {0};

    EXPECT_IS(enter_path(&me, path), status);
    EXPECT_HAS(me.error.text, word);
}

TEST(network_file_systems_are_known_by_their_number)
{
    EXPECT_TEXT(hf__netfs_name(0x6969), "NFS");
    EXPECT_TEXT(hf__netfs_name(0xfe534d42), "SMB");
    EXPECT_TEXT(hf__netfs_name(0xff534d42), "CIFS");
    EXPECT_TEXT(hf__netfs_name(0xffffffffff534d42), "CIFS");
    EXPECT_TEXT(hf__netfs_name(0x65735546), "FUSE");
    EXPECT_TEXT(hf__netfs_name(0x01021997), "9p");
    EXPECT_TEXT(hf__netfs_name(0x00c36400), "Ceph");
    EXPECT_TEXT(hf__netfs_name(0x0bd00bd0), "Lustre");
    EXPECT(!hf__netfs_name(0xef53));     /* ext4 */
    EXPECT(!hf__netfs_name(0x01021994)); /* tmpfs */
    EXPECT(!hf__netfs_name(0x58465342)); /* xfs */
    EXPECT(!hf__netfs_name(0x9123683e)); /* btrfs */
    EXPECT(!hf__netfs_name(0x794c7630)); /* overlayfs */
}

TEST(a_store_needs_a_path)
{
    char folder[600];

    expect_refused("", HF_EINVAL, "path");
    (void)snprintf(folder, sizeof folder, "%s/", hf__test_folder());
    expect_refused(folder, HF_EINVAL, "folder");
}

TEST(a_missing_folder_is_named_with_its_remedy)
{
    char path[600];

    (void)snprintf(path, sizeof path, "%s/none/a.db", hf__test_folder());
    expect_refused(path, HF_EUNAVAIL, "mkdir -p");
}

TEST(new_files_are_private)
{
    static const char *const names[] = {"", "-wal", "-shm", "-holdfast"};
    mode_t mask = umask(0);
    PEER(me);

    for (size_t i = 0; i < 4; i++) {
        struct stat st;

        EXPECT_IS(stat(path_of(names[i]), &st), 0);
        EXPECT_IS(st.st_mode & 07777, 0600);
    }
    EXPECT_IS(hf__conn_server_info(&me.conn).reach, HF_REACH_USER);
    EXPECT_IS(hf__conn_server_info(&me.conn).grade, 'B');
    (void)umask(mask);
}

TEST(a_setgid_folder_shares_with_its_group)
{
    static const char *const names[] = {"", "-wal", "-shm", "-holdfast"};
    struct stat st;

    if (chown(hf__test_folder(), (uid_t)-1, 12) ||
        chmod(hf__test_folder(), 02770)) {
        SKIP("needs root, to give the folder to a group");
    }
    (void)umask(077);
    PEER(me);
    for (size_t i = 0; i < 4; i++) {
        EXPECT_IS(stat(path_of(names[i]), &st), 0);
        EXPECT_IS(st.st_mode & 07777, 0660);
        EXPECT_IS(st.st_gid, 12);
    }
    EXPECT_IS(hf__conn_server_info(&me.conn).reach, HF_REACH_HOST);
}

TEST(a_folder_open_to_everybody_is_refused)
{
    EXPECT_IS(chmod(hf__test_folder(), 0777), 0);
    expect_refused(path_of(""), HF_EUNSAFE, "chmod o-w");
    EXPECT_IS(access(path_of(""), F_OK), -1);
    /* Where only the owner of a file may remove it, that will do. */
    EXPECT_IS(chmod(hf__test_folder(), 01777), 0);
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

TEST(what_is_not_a_database_is_left_alone)
{
    char text[64] = "";
    int fd;

    write_file(path_of(""), "The quick brown fox jumps over the lazy dog.");
    expect_refused(path_of(""), HF_EPROTO, "not a database");
    fd = open(path_of(""), O_RDONLY | O_CLOEXEC);
    EXPECT_MORE(read(fd, text, sizeof text - 1), 0);
    (void)close(fd);
    EXPECT_TEXT(text, "The quick brown fox jumps over the lazy dog.");
}

TEST(another_programs_side_file_is_left_alone)
{
    write_file(path_of("-holdfast"), "something else entirely");
    expect_refused(path_of(""), HF_EPROTO, "another program");
}

TEST(another_format_is_named)
{
    {
        PEER(me);
    }
    sql(path_of(""), "PRAGMA user_version=7");
    expect_refused(path_of(""), HF_EPROTO, "format is 7, this program knows 3");
    sql(path_of(""), "PRAGMA user_version=2");
    expect_refused(path_of(""), HF_EPROTO, "format is 2, this program knows 3");
}

TEST(a_damaged_database_is_said_to_be)
{
    char zeros[4096];
    int fd;

    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 100), HF_OK);
    }
    sql(path_of(""), "PRAGMA wal_checkpoint(TRUNCATE)");
    memset(zeros, 0x5a, sizeof zeros);
    fd = open(path_of(""), O_WRONLY | O_CLOEXEC);
    EXPECT_IS(pwrite(fd, zeros, sizeof zeros, 4096), sizeof zeros);
    EXPECT_IS(pwrite(fd, zeros, sizeof zeros, 8192), sizeof zeros);
    (void)close(fd);
    struct peer me = {0};
    int r = enter(&me);
    if (r == HF_OK) {
        r = acquire(&me, "job", 1000);
    }
    EXPECT_IS(r, HF_EPROTO);
    EXPECT_HAS(me.error.text, "damaged");
    leave(&me);
}

/* A child that is nobody: root may write anywhere. */
static void enter_as_nobody(struct stage *stage, int index)
{
    struct peer me = {0};

    (void)stage;
    if (setgid(65534) || setuid(65534)) {
        return;
    }
    EXPECT_IS(enter(&me), HF_EAUTH);
    EXPECT_HAS(me.error.text, index ? "locks.db" : "cannot");
}

TEST(who_may_not_write_is_told_so)
{
    struct stage *stage = stage_new();

    if (geteuid() != 0) {
        SKIP("needs root, to become nobody");
    }
    EXPECT_IS(chmod(hf__test_folder(), 0755), 0);
    EXPECT_IS(finish(start(enter_as_nobody, stage, 0)), 0);
    {
        PEER(me);
    }
    EXPECT_IS(finish(start(enter_as_nobody, stage, 1)), 0);
    EXPECT_IS(chmod(path_of("-holdfast"), 0666), 0);
    EXPECT_IS(chmod(path_of(""), 0644), 0);
    EXPECT_IS(finish(start(enter_as_nobody, stage, 1)), 0);
}

static int count_item(void *arg, const hf_check_item *item)
{
    int *count = arg;

    printf("%s: %s%s%s\n", item->name, item->value, item->remedy ? " -> " : "",
           item->remedy ? item->remedy : "");
    EXPECT_NOT(item->verdict, HF_UNFIT);
    (*count)++;
    return 0;
}

TEST(a_check_looks_at_all_that_matters)
{
    PEER(me);
    int count = 0;

    EXPECT_IS(hf__conn_check(&me.conn, count_item, &count,
                             hf__after_ms(hf__now(), 5000), &me.error),
              HF_OK);
    EXPECT_MORE(count, 10);
}

/* Under each name it would have a log of its own. */
TEST(a_database_with_two_names_is_refused)
{
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(link(path_of(""), path_of(".alias")), 0);
    expect_refused(path_of(".alias"), HF_EUNSAFE, "second name");
    EXPECT_IS(unlink(path_of(".alias")), 0);
    EXPECT_IS(renew(&me, "job", 60000), HF_OK);
}

/* Between the first look and the making somebody else may make one. */
TEST(a_database_that_appears_meanwhile_is_looked_at)
{
    struct hf__sqlite_dir sqlite_dir = {0};
    hf_error error = HF_ERROR_INIT;

    EXPECT_IS(hf__sqlite_dir_init(&sqlite_dir, path_of(""), "", &error), HF_OK);
    EXPECT_IS(symlink("/nowhere", path_of("")), 0);
    EXPECT_IS(hf__sqlite_dir_create_db(&sqlite_dir, &error), HF_EUNSAFE);
    EXPECT_HAS(error.text, "symbolic link");
    hf__sqlite_dir_fini(&sqlite_dir);
}

/* Where the file system keeps times in whole seconds. */
TEST(a_replaced_file_is_seen_though_times_are_coarse)
{
    struct hf__sqlite_dir sqlite_dir = {0};
    struct hf__sqlite_dir_watch watch = {0};
    hf_error error = HF_ERROR_INIT;
    struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    struct stat st;

    write_file(path_of(""), "old");
    EXPECT_IS(hf__sqlite_dir_init(&sqlite_dir, path_of(""), "", &error), HF_OK);
    hf__sqlite_dir_ids(&sqlite_dir, &watch.expected);
    EXPECT_IS(utimensat(AT_FDCWD, hf__test_folder(), now, 0), 0);
    EXPECT_IS(stat(hf__test_folder(), &st), 0);
    hf__test_pause_ms(300);
    EXPECT_IS(hf__sqlite_dir_changed(&sqlite_dir, &watch), -1);
    write_file(path_of(".new"), "new");
    EXPECT_IS(rename(path_of(".new"), path_of("")), 0);
    now[0] = st.st_atim;
    now[1] = st.st_mtim;
    EXPECT_IS(utimensat(AT_FDCWD, hf__test_folder(), now, 0), 0);
    hf__test_pause_ms(5);
    EXPECT_IS(hf__sqlite_dir_changed(&sqlite_dir, &watch), HF__FILE_DB);
    hf__sqlite_dir_fini(&sqlite_dir);
}

static void expect_stranger(const char *suffix)
{
    char why[64];

    write_file(path_of(suffix), "");
    if (chown(path_of(suffix), 65534, 65534)) {
        SKIP("only root can give a file away");
    }
    (void)snprintf(why, sizeof why, "%s belongs to a stranger", suffix);
    expect_refused(path_of(""), HF_EUNSAFE, why);
    EXPECT_IS(unlink(path_of(suffix)), 0);
}

/* Whoever can write the log or its index writes the records. */
TEST(a_strangers_log_is_refused)
{
    EXPECT_IS(chmod(hf__test_folder(), 01777), 0);
    expect_stranger("-wal");
    expect_stranger("-shm");
    expect_stranger("-holdfast");
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

static void make_a_log(struct stage *stage, int index)
{
    (void)stage;
    (void)index;
    become(STRANGER);
    write_file(path_of("-wal"), "");
}

/* There a stranger's files have the folder's group, too. */
TEST(a_group_that_a_folder_gives_to_all_proves_nothing)
{
    struct stat st;

    if (chown(hf__test_folder(), (uid_t)-1, GROUP) ||
        chmod(hf__test_folder(), 03777)) {
        SKIP("needs root, to give the folder to a group");
    }
    EXPECT_IS(finish(start(make_a_log, NULL, 0)), 0);
    EXPECT_IS(stat(path_of("-wal"), &st), 0);
    EXPECT_IS(st.st_gid, GROUP);
    expect_refused(path_of(""), HF_EUNSAFE, "-wal belongs to a stranger");
}

/* As when a container is given the file without its folder: the log would be
 * another one inside. */
TEST(a_database_mounted_without_its_folder_is_refused)
{
    PEER(me);

    write_file(path_of(".inside"), "");
    if (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, "") ||
        mount(path_of(""), path_of(".inside"), NULL, MS_BIND, NULL)) {
        SKIP("needs root, to mount");
    }
    expect_refused(path_of(".inside"), HF_EUNSAFE, "mounted");
    EXPECT_IS(umount(path_of(".inside")), 0);
}
