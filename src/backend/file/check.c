/* SPDX-License-Identifier: MIT */
/*
 * check(): is this folder, its file system and this kernel fit for locks?
 * Each thing that a promise rests on is one item. Called by the session's
 * thread.
 */
#include "src/backend/file/file.h"
#include "src/backend/report.h"

static void check_folder(struct hf__report *report, const struct hf__file *s)
{
    struct stat st = {0};
    const char *path = s->place.ground.store;
    const char *remedy = NULL;

    if (stat(path, &st)) {
        remedy = "stop all programs that use it, then start them again";
    } else if (st.st_mode & S_IWOTH) {
        remedy = "everybody may make files there; use a folder of your own";
    }
    hf__local_tell_file(report, "folder", path, &st, remedy);
}

static void check_side(struct hf__report *report, const struct hf__file *s)
{
    bool is_ours = hf__id_equal(hf__ground_id(&s->place.ground, HF__SIDE_NAME),
                                s->local.side->id);

    hf__report_say(
        report, "side_file", is_ours ? HF__SIDE_NAME : "deleted or replaced",
        is_ours ? NULL
                : "killed holders are noticed at the end of their leases "
                  "only; start all programs that use it again");
}

static void check_system(struct hf__report *report, const struct hf__file *s)
{
    static const struct hf__remedies remedies = {
        "file locks do not hold across machines; use a local folder",
        "in memory: fences start from the wall clock after a restart, and what "
        "was kept closed is open",
        "without space no new name can be locked, and no cell be changed"};
    struct statfs fs = {0};

    if (fstatfs(s->place.ground.fd, &fs)) {
        hf__report_say(report, "file_system", "can't be looked at", "see df");
        return;
    }
    hf__local_tell_system(report, &fs, &remedies);
}

int hf__file_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                   hf_error *err)
{
    struct hf__file *s = state;
    struct hf__report report = {fn, arg, false};
    int r = hf__file_check_ground(s, err);

    (void)deadline;
    if (r != HF_OK) {
        return r;
    }
    check_folder(&report, s);
    check_side(&report, s);
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
