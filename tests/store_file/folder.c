/* SPDX-License-Identifier: MIT */
/*
 * Where a file store may live. What can't be trusted is refused in one
 * sentence that names the remedy.
 */
#include "tests/store_file/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_refused(const char *path, int status, const char *word)
{
    struct peer me = {0};

    EXPECT_IS(enter_path(&me, path), status);
    EXPECT_HAS(me.error.text, word);
}

TEST(a_store_needs_a_folder)
{
    char path[600];

    expect_refused("", HF_EINVAL, "file:/");
    expect_refused("//server/locks", HF_EINVAL, "no host");
    (void)snprintf(path, sizeof path, "%s/none/locks", hf__test_folder());
    expect_refused(path, HF_EUNAVAIL, "mkdir -p");
    write_bytes(path_of(""), "x", 1);
    expect_refused(path_of(""), HF_EUNAVAIL, "not a folder");
}

TEST(the_folder_is_made_for_its_owner_alone)
{
    mode_t mask = umask(0);
    PEER(me);
    struct stat st;

    EXPECT_IS(stat(path_of(""), &st), 0);
    EXPECT_IS(st.st_mode & 07777, 0700);
    EXPECT_IS(stat(file_of(".holdfast"), &st), 0);
    EXPECT_IS(st.st_mode & 07777, 0600);
    EXPECT_IS(hf__conn_server_info(&me.conn).reach, HF_REACH_USER);
    EXPECT_IS(hf__conn_server_info(&me.conn).grade, 'S');
    (void)umask(mask);
}

TEST(a_setgid_folder_shares_with_its_group)
{
    struct stat st;

    EXPECT_IS(mkdir(path_of(""), 0700), 0);
    if (chown(path_of(""), 1, 12) || chmod(path_of(""), 02770)) {
        SKIP("needs root, to give the folder to a group");
    }
    (void)umask(077);
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
    EXPECT_IS(stat(file_of(JOB), &st), 0);
    EXPECT_IS(st.st_mode & 07777, 0660);
    EXPECT_IS(st.st_gid, 12);
    EXPECT_IS(stat(file_of(".holdfast"), &st), 0);
    EXPECT_IS(st.st_mode & 07777, 0660);
    EXPECT_IS(hf__conn_server_info(&me.conn).reach, HF_REACH_HOST);
}

/* There a stranger's files have the folder's group, too. */
TEST(a_folder_open_to_everybody_is_no_groups)
{
    EXPECT_IS(mkdir(path_of(""), 0700), 0);
    if (chown(path_of(""), 0, 12) || chmod(path_of(""), 03777)) {
        SKIP("needs root, to give the folder to a group");
    }
    write_bytes(file_of(".holdfast"), "", 0);
    EXPECT_IS(chown(file_of(".holdfast"), 1, 12), 0);
    expect_refused(path_of(""), HF_EUNSAFE, "stranger");
    EXPECT_IS(unlink(file_of(".holdfast")), 0);
    PEER(me);
    EXPECT_IS(hf__conn_server_info(&me.conn).reach, HF_REACH_USER);
}

TEST(a_folder_open_to_everybody_is_refused)
{
    EXPECT_IS(mkdir(path_of(""), 0700), 0);
    EXPECT_IS(chmod(path_of(""), 0777), 0);
    expect_refused(path_of(""), HF_EUNSAFE, "chmod o-w");
    EXPECT_IS(access(file_of(".holdfast"), F_OK), -1);
    /* Where only the owner of a file may remove it, that will do. */
    EXPECT_IS(chmod(path_of(""), 01777), 0);
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

TEST(a_folder_that_everybody_may_rename_is_refused)
{
    EXPECT_IS(chmod(hf__test_folder(), 0777), 0);
    expect_refused(path_of(""), HF_EUNSAFE, "replace folders");
    EXPECT_IS(access(path_of(""), F_OK), -1);
}

TEST(a_strangers_folder_is_refused)
{
    EXPECT_IS(mkdir(path_of(""), 0755), 0);
    if (chown(path_of(""), 1, 1)) {
        SKIP("needs root, to give the folder away");
    }
    expect_refused(path_of(""), HF_EUNSAFE, "belongs to user 1");
}

TEST(a_strangers_file_is_refused)
{
    struct peer me = {0};

    EXPECT_IS(mkdir(path_of(""), 0700), 0);
    EXPECT_IS(chmod(path_of(""), 01777), 0);
    write_bytes(file_of(JOB), "", 0);
    if (chown(file_of(JOB), 1, 1)) {
        SKIP("needs root, to give the file away");
    }
    EXPECT_IS(enter(&me), HF_OK);
    EXPECT_IS(acquire(&me, "job", 1000), HF_EUNSAFE);
    EXPECT_HAS(me.error.text, "stranger");
    EXPECT_IS(acquire(&me, "other", 1000), HF_OK);
    leave(&me);
    EXPECT_IS(unlink(file_of(".holdfast")), 0);
    write_bytes(file_of(".holdfast"), "", 0);
    EXPECT_IS(chown(file_of(".holdfast"), 1, 1), 0);
    expect_refused(path_of(""), HF_EUNSAFE, "stranger");
}

TEST(symbolic_links_are_refused)
{
    char target[600];
    struct peer me = {0};

    (void)snprintf(target, sizeof target, "%s/else", hf__test_folder());
    EXPECT_IS(mkdir(target, 0700), 0);
    EXPECT_IS(symlink(target, path_of("")), 0);
    expect_refused(path_of(""), HF_EUNSAFE, "symbolic link");
    expect_refused(path_of("/"), HF_EUNSAFE, "symbolic link");
    EXPECT_IS(unlink(path_of("")), 0);
    EXPECT_IS(enter(&me), HF_OK);
    (void)snprintf(target, sizeof target, "%s/victim", hf__test_folder());
    EXPECT_IS(symlink(target, file_of(JOB)), 0);
    EXPECT_IS(acquire(&me, "job", 1000), HF_EUNSAFE);
    EXPECT_HAS(me.error.text, "symbolic link");
    leave(&me);
    EXPECT_IS(unlink(file_of(".holdfast")), 0);
    EXPECT_IS(symlink(target, file_of(".holdfast")), 0);
    expect_refused(path_of(""), HF_EUNSAFE, "symbolic link");
    EXPECT_IS(access(target, F_OK), -1);
}

TEST(what_is_no_file_is_refused)
{
    struct peer me = {0};

    EXPECT_IS(enter(&me), HF_OK);
    EXPECT_IS(mkfifo(file_of(JOB), 0600), 0);
    EXPECT_IS(acquire(&me, "job", 1000), HF_EPROTO);
    EXPECT_HAS(me.error.text, "regular file");
    leave(&me);
    write_bytes(file_of(".holdfast"), "something else", 14);
    expect_refused(path_of(""), HF_EPROTO, "another program");
}

/* Who goes on in the old folder is told; the new one has locks of its own. */
TEST(a_replaced_folder_is_noticed)
{
    PEER(me);
    PEER(other);
    char away[600];

    (void)snprintf(away, sizeof away, "%s/away", hf__test_folder());
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
    EXPECT_IS(rename(path_of(""), away), 0);
    EXPECT_IS(renew(&me, "job", 60000), HF_EUNSAFE);
    EXPECT_HAS(me.error.text, "removed or replaced");
    EXPECT(me.conn.is_dead);
    EXPECT_IS(mkdir(path_of(""), 0700), 0);
    EXPECT_IS(acquire(&other, "job", 60000), HF_EUNSAFE);
    leave(&me);
    EXPECT_IS(enter(&me), HF_OK);
    EXPECT_IS(renew(&me, "job", 60000), HF_LOST);
    EXPECT_IS(me.record.fence, 0);
    /* The old folder's side file is kept open as long as the lease runs. */
    hf__test_pause_ms(1100);
}

static void fill(const char *path)
{
    static char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    EXPECT(fd >= 0);
    while (write(fd, block, sizeof block) > 0) {
        /* Until there is no room for another one. */
    }
    (void)close(fd);
}

TEST(a_full_disk_takes_no_lock_from_anybody)
{
    char path[600];

    if (geteuid() != 0 || mount("tmpfs", hf__test_folder(), "tmpfs", 0,
                                "size=1m,mode=700") != 0) {
        SKIP("needs root, to mount a small file system");
    }
    {
        PEER(holder);
        PEER(me);

        EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
        EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
        (void)snprintf(path, sizeof path, "%s/filler", hf__test_folder());
        fill(path);
        EXPECT_IS(acquire(&me, "new", 60000), HF_EUNAVAIL);
        EXPECT_HAS(me.error.text, "disk full");
        EXPECT(!me.conn.is_dead);
        for (int i = 0; i < 5; i++) {
            EXPECT_IS(renew(&holder, "held", 60000), HF_OK);
            EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
            EXPECT_IS(release(&me, "job"), HF_OK);
        }
        EXPECT_IS(break_it(&me, "held", 0), HF_OK);
        EXPECT_IS(renew(&holder, "held", 60000), HF_LOST);
        EXPECT_IS(unlink(path), 0);
        EXPECT_IS(acquire(&me, "new", 60000), HF_OK);
    }
    EXPECT_IS(umount2(hf__test_folder(), MNT_DETACH), 0);
}
