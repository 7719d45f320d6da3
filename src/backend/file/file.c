/* SPDX-License-Identifier: MIT */
/*
 * file:DIR, one file for each lock and cell: no server, no library, only the
 * kernel. This file checks the folder, opens and closes sessions, begins their
 * calls, and its check() says whether the folder and the system are fit for
 * locks. read.c reads a lock's file, write.c changes it; see file.h for the
 * rest. Called as backend.h says.
 */
#include "src/backend/file/file.h"

#include "src/backend/cell.h"
#include "src/backend/registry.h"
#include "src/backend/report.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the folder */

static int set_path(struct hf__file_dir *file_dir, const char *path,
                    hf_error *err)
{
    /* This leaves room for the longest file name in the folder. */
    int r = hf__dir_name(&file_dir->dir, path, NAME_MAX + 2, err);
    char *whole = file_dir->dir.store;
    size_t used;

    if (r != HF_OK) {
        return r;
    }
    used = strlen(whole);
    while (used > 1 && whole[used - 1] == '/') {
        whole[--used] = '\0';
    }
    file_dir->prefix = hf__alloc(used + 2);
    if (file_dir->prefix == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    (void)snprintf(file_dir->prefix, used + 2, "%s/", whole);
    file_dir->dir.prefix = file_dir->prefix;
    return HF_OK;
}

/* A user who may rename the folder may put another one in its place. */
static int look_above(const char *path, hf_error *err)
{
    char above[PATH_MAX];
    struct stat st;
    char *slash;

    (void)snprintf(above, sizeof above, "%s", path);
    slash = strrchr(above, '/');
    slash[slash == above] = '\0';
    if (stat(above, &st)) {
        return hf__dir_fail_itself(path, "find", err);
    }
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
        return hf__fail(err, HF_EUNSAFE,
                        "everybody may replace folders in %s, and so break "
                        "every lock; use another place, or: chmod o-w '%s'",
                        above, above);
    }
    return HF_OK;
}

static int open_folder(struct hf__dir *dir, struct stat *ret_st, hf_error *err)
{
    if (lstat(dir->store, ret_st) && errno == ENOENT &&
        mkdir(dir->store, 0700) && errno != EEXIST) {
        return hf__dir_fail_itself(dir->store, "make", err);
    }
    dir->fd = open(dir->store, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (dir->fd < 0 || fstat(dir->fd, ret_st)) {
        return hf__dir_fail_itself(dir->store, "open", err);
    }
    if (hf__fd_register(dir->fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    return S_ISLNK(ret_st->st_mode)
               ? hf__fail(err, HF_EUNSAFE,
                          "%s is a symbolic link, which can be turned while "
                          "locks are held; name the folder itself",
                          dir->store)
               : HF_OK;
}

/* Does the folder share its files with its group? Where everybody may make
 * files, the group of a file says nothing of who made it. */
static bool is_of_group(const struct stat *st)
{
    return (st->st_mode & S_ISGID) != 0 && (st->st_mode & S_IWOTH) == 0;
}

static int look_at(const struct hf__dir *dir, const struct stat *st,
                   const char *allow, hf_error *err)
{
    bool is_shared = is_of_group(st) && (st->st_mode & S_IWGRP);
    struct statfs fs;
    int r = fstatfs(dir->fd, &fs)
                ? hf__dir_fail_itself(dir->store, "look at", err)
                : hf__dir_check(dir->store, st, &fs, allow, "file locks", err);

    /* Another user's folder is accepted only if it is meant to be shared. */
    return r == HF_OK && st->st_uid != geteuid() && st->st_uid != 0 &&
                   !is_shared
               ? hf__fail(err, HF_EUNSAFE,
                          "%s belongs to user %ld, who may remove every lock "
                          "in it; use a folder of your own, or one of a group: "
                          "chmod g+ws '%s'",
                          dir->store, (long)st->st_uid, dir->store)
               : r;
}

static int dir_init(struct hf__file_dir *file_dir, const char *path,
                    const char *allow, hf_error *err)
{
    struct hf__dir *dir = &file_dir->dir;
    struct stat st;
    int r;

    dir->fd = -1;
    if (path == NULL || path[0] == '\0') {
        return hf__fail(err, HF_EINVAL,
                        "a file store needs a folder: file:/some/folder");
    }
    r = set_path(file_dir, path, err);
    if (r == HF_OK) {
        r = look_above(dir->store, err);
    }
    if (r == HF_OK) {
        r = open_folder(dir, &st, err);
    }
    if (r == HF_OK) {
        r = look_at(dir, &st, allow, err);
    }
    if (r == HF_OK) {
        bool is_shared = is_of_group(&st);

        file_dir->id = hf__id_of(&st);
        dir->side = HF__SIDE_NAME;
        dir->kind = &hf__file_side_kind;
        dir->uid = st.st_uid;
        dir->gid = is_shared ? st.st_gid : getegid();
        dir->mode = is_shared ? 0660 : 0600;
        dir->reach = is_shared ? HF_REACH_HOST : HF_REACH_USER;
    }
    return r;
}

static int check_dir(void *state, hf_error *err)
{
    struct hf__file *s = state;
    const char *path = s->file_dir.dir.store;
    struct hf__side_hot seen;

    if (!hf__id_equal(hf__dir_id(&s->file_dir.dir, path), s->file_dir.id)) {
        return hf__fail(err, HF_EUNSAFE,
                        "the folder %s was removed or replaced while in use; "
                        "stop all programs that use it, then start them again",
                        path);
    }
    if (!hf__side_look(s->local.side, &seen)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s/%s was cut off or written over while in use; stop "
                        "all programs that use %s, then start them again",
                        path, HF__SIDE_NAME, path);
    }
    s->local.sleep_slot.summary = seen.summary;
    return HF_OK;
}

/* ---- what the engine asks */

#define LOOK_NS (200 * HF__MS)
/* A waiter is told of another holder at once if that one came before the wait,
 * and else not earlier than this: a claim that tries after each grant to others
 * would come for nothing. */
#define NEWS_NS HF__SECOND

static struct hf__rules rules(void *state)
{
    const struct hf__file *s = state;

    return (struct hf__rules){.life = s->local.side->life,
                              .foreign = HF__LOCAL_FOREIGN};
}

static void settled(void *state, const struct hf__op *op)
{
    if (op->result == HF_LOST) {
        hf__held_remove(&((struct hf__local *)state)->side->held, &op->key,
                        &op->token);
    }
}

static const struct hf__primitives primitives = {
    .rules = rules,
    .load = hf__file_load,
    .put_down = hf__file_put_down,
    .commit = hf__file_commit,
    .settled = settled,
    .show = hf__local_show,
    .looks_first = true,
    .scan = hf__file_scan,
    .forget = hf__file_forget,
    .look_around = check_dir,
    .let_in = hf__local_let_in,
    .seen = hf__local_seen,
    .park = hf__local_park,
    .news_ns = NEWS_NS,
    .look_ns = LOOK_NS,
};

/* ---- sessions */

/* How long closing may wait for locked files. */
#define CLOSE_MS 100

static int file_open(void *state, const struct hf__url *url, const char *allow,
                     hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    bool has_others;
    int r = hf__local_begin(&s->local, url, "a file store", "file:DIR", err);

    s->local.engine_session.primitives = &primitives;
    s->lockfile.fd = -1;
    s->name.grants.inline_one = &s->inline_one;
    if (r == HF_OK) {
        r = dir_init(&s->file_dir, url->path, allow, err);
    }
    if (r == HF_OK) {
        r = hf__side_get(&s->file_dir.dir, &s->local.engine_session.head,
                         deadline, &s->local.side, &has_others, err);
    }
    if (r == HF_OK) {
        r = check_dir(s, err);
    }
    if (r == HF_OK) {
        s->local.engine_session.head.server_info = (struct hf__server_info){
            .grade = 'S', .reach = s->file_dir.dir.reach};
    }
    return r;
}

static bool part_one(void *arg, const struct hf__key *key,
                     const struct hf__token *token)
{
    struct hf__file *s = arg;
    HF_AUTO(hf__lockfile_close) struct hf__lockfile lockfile;

    if (hf__lockfile_open(s, key, &lockfile, NULL) != HF_OK) {
        return false;
    }
    if (lockfile.fd < 0) {
        return true; /* no record depends on this process */
    }
    if (!hf__lockfile_lock(&lockfile, s->local.engine_session.deadline) ||
        hf__lockfile_read(&lockfile, key, NULL) != HF_OK) {
        return false;
    }
    if (!hf__token_equal(&lockfile.record.token, token)) {
        return true;
    }
    lockfile.record.life = 0;
    return hf__lockfile_write(&lockfile, NULL) == HF_OK;
}

static void file_close(void *state)
{
    struct hf__file *s = state;

    /* The process may still hold locks there, as when it is about to open the
     * store again. From now on only their leases count: otherwise the end of
     * this process's life in the side file would say that the holder is dead.
     * If that cannot be written, side.c keeps the life. */
    s->local.engine_session.deadline = hf__after_ms(hf__now(), CLOSE_MS);
    if (s->local.side != NULL && hf__side_leave(s->local.side) &&
        check_dir(s, NULL) == HF_OK) {
        hf__held_unbind(&s->local.side->held, part_one, s);
        hf__held_forget_parted(&s->local.side->held);
    }
    hf__side_put(s->local.side);
    s->local.side = NULL;
    if (s->file_dir.dir.store != NULL) {
        hf__fd_close(s->file_dir.dir.fd);
    }
    hf__free(s->file_dir.dir.store);
    hf__free(s->file_dir.prefix);
    s->file_dir = (struct hf__file_dir){.prefix = NULL};
}

/* ---- check() */

static void check_folder(struct hf__report *report, const struct hf__file *s)
{
    struct stat st = {0};
    const char *path = s->file_dir.dir.store;
    const char *remedy = NULL;

    if (stat(path, &st)) {
        remedy = "stop all programs that use it, then start them again";
    } else if (st.st_mode & S_IWOTH) {
        remedy = "everybody may make files there; use a folder of your own";
    }
    hf__local_tell_file(report, "folder", path, &st, remedy);
}

static void check_system(struct hf__report *report, const struct hf__file *s)
{
    static const struct hf__remedies remedies = {
        "file locks do not hold across machines; use a local folder",
        "in memory: fences start from the wall clock after a restart, and what "
        "was kept closed is open",
        "without space no new name can be locked, and no cell be changed"};
    struct statfs fs = {0};

    if (fstatfs(s->file_dir.dir.fd, &fs)) {
        hf__report_say(report, "file_system", "can't be looked at", "see df");
        return;
    }
    hf__local_tell_system(report, &fs, &remedies);
}

static int file_check(void *state, hf__check_fn fn, void *arg,
                      hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    struct hf__report report = {fn, arg, false};
    bool is_ours = false;
    int r = check_dir(s, err);

    (void)deadline;
    if (r != HF_OK) {
        return r;
    }
    check_folder(&report, s);
    is_ours = hf__id_equal(hf__dir_id(&s->file_dir.dir, HF__SIDE_NAME),
                           s->local.side->id);
    hf__report_say(
        &report, "side_file", is_ours ? HF__SIDE_NAME : "deleted or replaced",
        is_ours ? NULL
                : "killed holders are noticed at the end of their leases "
                  "only; start all programs that use it again");
    check_system(&report, s);
    hf__report_say(&report, "boot_and_clock", s->local.boot, NULL);
    hf__report_say(&report, "durability",
                   "survives every process; a power failure frees all locks",
                   NULL);
    hf__report_say(
        &report, "takeover",
        "a killed holder's lock is free within 0.3 s, a stopped one's when "
        "its lease ends",
        NULL);
    return HF_OK;
}

/* ---- calls */

static int file_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    hf_error why = HF_ERROR_INIT;
    int r = check_dir(s, &why);

    if (r != HF_OK) {
        for (int i = 0; i < n; i++) {
            hf__error_copy(ops[i]->err, &why);
            ops[i]->result = r;
        }
        hf__error_copy(err, &why);
        return r;
    }
    (void)hf__sleep_slot_hold_back(&s->local.sleep_slot,
                                   &s->local.engine_session.head,
                                   &s->local.side->wake_view, ops, n, deadline);
    return hf__engine_session_execute(s, ops, n, deadline, err);
}

static int file_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                     hf_error *err)
{
    struct hf__file *s = state;
    hf_error why = HF_ERROR_INIT;

    s->local.engine_session.deadline = deadline;
    op->result = check_dir(s, &why);
    if (op->result != HF_OK) {
        hf__error_copy(op->err, &why);
        hf__error_copy(err, &why);
        return op->result;
    }
    op->result = hf__file_cell(s, op);
    return HF_OK;
}

static int file_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                   hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    int r;

    if (!g->of_cells) {
        return hf__engine_session_gc(s, prefix, g, deadline, err);
    }
    s->local.engine_session.deadline = deadline;
    r = check_dir(s, err);
    return r == HF_OK ? hf__file_clean_cells(s, prefix, g, err) : r;
}

static const char *const no_options[] = {NULL};

const struct hf__backend hf__file_backend = {
    .scheme = "file",
    .caps = HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |
            HF_CAP_DEATH | HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_PUSH |
            HF_CAP_FAIR | HF_CAP_CELLS,
    .size = sizeof(struct hf__file),
    .options = no_options,
    .has_no_sigpipe = true,
    .open = file_open,
    .close = file_close,
    .execute = file_execute,
    .wait = hf__local_wait,
    .listen = hf__local_listen,
    .list = hf__engine_session_list,
    .gc = file_gc,
    .cell = file_cell,
    .check = file_check,
    .interrupt = hf__local_interrupt,
    .lock_fds = hf__local_lock_fds,
};
