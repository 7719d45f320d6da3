/* SPDX-License-Identifier: MIT */
/*
 * check(): is this database, its folder and this kernel fit for locks? Each
 * thing that a promise rests on is one item. Called by the session's thread.
 */
#include "src/backend/report.h"
#include "src/backend/sqlite/pool.h"
#include "src/backend/sqlite/sqlite.h"

#include <stdio.h>
#include <string.h>

struct report {
    struct hf__report to;
    struct hf__sqlite *s;
};

/* The first column of the first row, or what went wrong. */
static void query(struct report *report, const char *sql, char *to, size_t size)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *handle = report->s->db->handle;
    int rc = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
    const unsigned char *text = NULL;

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW) {
        text = sqlite3_column_text(statement, 0);
    }
    (void)snprintf(to, size, "%s",
                   text != NULL ? (const char *)text : sqlite3_errstr(rc));
    (void)sqlite3_finalize(statement);
}

static void check_pragmas(struct report *report)
{
    static const char *const remedy =
        "stop its users and move it away; the next one makes a new one";
    char value[160];

    hf__report_say(&report->to, "sqlite_version", sqlite3_libversion(), NULL);
    query(report, "PRAGMA user_version", value, sizeof value);
    hf__report_say(&report->to, "format", value, NULL);
    query(report, "PRAGMA journal_mode", value, sizeof value);
    hf__report_say(&report->to, "journal_mode", value,
                   strcmp(value, "wal") == 0
                       ? NULL
                       : "stop its users, then open it again");
    query(report, "PRAGMA synchronous", value, sizeof value);
    hf__report_say(&report->to, "synchronous",
                   strcmp(value, "1") == 0 ? "normal" : value, NULL);
    query(report, "PRAGMA quick_check(1)", value, sizeof value);
    /* Interrupted at the deadline: a big database, not a bad one. */
    if (strcmp(value, sqlite3_errstr(SQLITE_INTERRUPT)) == 0) {
        hf__report_say(&report->to, "integrity", "not checked in time", NULL);
    } else {
        hf__report_say(&report->to, "integrity", value,
                       strcmp(value, "ok") == 0 ? NULL : remedy);
    }
}

static void check_files(struct report *report)
{
    static const char *const names[HF__FILE_COUNT] = {"database", "log",
                                                      "index", "side_file"};
    const struct hf__place *place = &report->s->place;

    for (int i = 0; i < HF__FILE_COUNT; i++) {
        struct stat st = {0};
        const char *remedy = NULL;

        if (stat(place->path[i], &st)) {
            remedy = "stop all programs that use it, then start them again";
        } else if (i == HF__FILE_DB && st.st_nlink > 1) {
            remedy = "it has a second name, under which it would be another "
                     "store; remove that";
        }
        hf__local_tell_file(&report->to, names[i], place->path[i], &st, remedy);
    }
}

/* Others can put one there; see vfs.h. */
static void check_journal(struct report *report)
{
    const char *path = report->s->place.journal;
    struct stat st;

    if (lstat(path, &st)) {
        hf__report_say(&report->to, "journal", "none", NULL);
        return;
    }
    hf__local_tell_file(&report->to, "journal", path, &st,
                        "it is none of the database's, and ignored here; "
                        "remove it, for sqlite3 and other programs would play "
                        "it back");
}

static void check_folder(struct report *report)
{
    static const struct hf__remedies remedies = {
        "SQLite's locks do not hold across machines; use a local folder",
        "in memory: fences start from the wall clock after a restart",
        "without space no lock can be renewed"};
    const char *folder = report->s->place.folder;
    struct statfs fs = {0};
    struct stat st = {0};

    if (stat(folder, &st) || statfs(folder, &fs)) {
        hf__report_say(&report->to, "folder", "can't be looked at",
                       "see ls -ld");
        return;
    }
    hf__local_tell_file(&report->to, "folder", folder, &st,
                        (st.st_mode & S_IWOTH)
                            ? "everybody may make files there; use a folder "
                              "of your own"
                            : NULL);
    hf__local_tell_system(&report->to, &fs, &remedies);
}

static void check_clock(struct report *report)
{
    struct hf__sqlite *s = report->s;
    char value[160];

    hf__report_say(&report->to, "boot_and_clock", s->local.boot, NULL);
    (void)snprintf(value, sizeof value, "base %llu, ceiling %llu",
                   (unsigned long long)s->fence_base,
                   (unsigned long long)s->fence_ceiling);
    hf__report_say(&report->to, "fences", value, NULL);
    hf__report_say(
        &report->to, "takeover",
        "a killed holder's lock is free within 0.3 s, a stopped one's when "
        "its lease ends; who is stopped in line is passed over after 1 s",
        NULL);
}

/* For sqlite3_progress_handler(): nonzero stops. */
static int is_late(void *arg)
{
    return hf__local_is_over(arg);
}

int hf__sqlite_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                     hf_error *err)
{
    struct hf__sqlite *s = state;
    struct report report = {{fn, arg, false}, s};

    hf__sqlite_begin(s, deadline, err);
    if (hf__sqlite_has_moved(s)) {
        return hf__sqlite_fail_moved(s, s->moved_file, err);
    }
    hf__pool_take(s);
    sqlite3_progress_handler(s->db->handle, 1000, is_late, s);
    check_pragmas(&report);
    sqlite3_progress_handler(s->db->handle, 0, NULL, NULL);
    hf__pool_give(s);
    check_files(&report);
    check_journal(&report);
    check_folder(&report);
    check_clock(&report);
    return HF_OK;
}
