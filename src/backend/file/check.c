/* SPDX-License-Identifier: MIT */
/*
 * check(): is this folder, its file system and this kernel fit for locks?
 * Each thing that a promise rests on is one item. Called by the session's
 * thread.
 */
#include "src/backend/file/file.h"
#include "src/backend/report.h"
#include "src/base/files.h"

#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>

#define TMPFS_TYPE   0x01021994
#define SPACE_MIN_MB 16

struct report {
    struct hf__report to;
    struct hf__file *s;
};

static void check_folder(struct report *report)
{
    const struct hf__file_place *place = &report->s->place;
    char value[512];
    struct stat st = {0};
    const char *remedy = NULL;

    if (stat(place->path, &st)) {
        remedy = "stop all programs that use it, then start them again";
    } else if (st.st_mode & S_IWOTH) {
        remedy = "everybody may make files there; use a folder of your own";
    }
    (void)snprintf(value, sizeof value, "%.400s (%04o, user %ld, group %ld)",
                   place->path, (unsigned)st.st_mode & 07777, (long)st.st_uid,
                   (long)st.st_gid);
    hf__report_say(&report->to, "folder", value, remedy);
}

static void check_side(struct report *report)
{
    const struct hf__file *s = report->s;
    struct stat st;
    bool is_ours = fstatat(s->place.fd, HF__SIDE_NAME, &st, 0) == 0 &&
                   (uint64_t)st.st_ino == s->side->ino &&
                   (uint64_t)st.st_dev == s->side->dev;

    hf__report_say(
        &report->to, "side_file",
        is_ours ? HF__SIDE_NAME : "deleted or replaced",
        is_ours ? NULL
                : "killed holders are noticed at the end of their leases "
                  "only; start all programs that use it again");
}

static void check_system(struct report *report)
{
    char value[64];
    struct statfs fs = {0};
    const char *network;
    uint64_t free_mb;

    if (fstatfs(report->s->place.fd, &fs)) {
        hf__report_say(&report->to, "file_system", "can't be looked at",
                       "see df");
        return;
    }
    network = hf__netfs_name((uint64_t)fs.f_type);
    (void)snprintf(value, sizeof value, "%s0x%lx",
                   network != NULL ? network : "local ",
                   (unsigned long)(uint32_t)fs.f_type);
    hf__report_say(
        &report->to, "file_system", value,
        network != NULL
            ? "file locks do not hold across machines; use a local folder"
        : (uint32_t)fs.f_type == TMPFS_TYPE
            ? "in memory: fences start from the wall clock after a restart, "
              "and what was kept closed is open"
            : NULL);
    free_mb = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >> 20;
    (void)snprintf(value, sizeof value, "%llu MB", (unsigned long long)free_mb);
    hf__report_say(&report->to, "free_space", value,
                   free_mb < SPACE_MIN_MB
                       ? "without space no new name can be locked"
                       : NULL);
}

int hf__file_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                   hf_error *err)
{
    struct hf__file *s = state;
    struct report report = {{fn, arg, false}, s};
    int r = hf__file_check_ground(s, err);

    s->deadline = deadline;
    if (r != HF_OK) {
        return r;
    }
    check_folder(&report);
    check_side(&report);
    check_system(&report);
    hf__report_say(&report.to, "boot_and_clock", s->boot, NULL);
    hf__report_say(&report.to, "durability",
                   "survives every process; a power failure frees all locks",
                   NULL);
    hf__report_say(
        &report.to, "takeover",
        "a killed holder's lock is free within 0.3 s, a stopped one's when "
        "its lease ends",
        NULL);
    return HF_OK;
}
