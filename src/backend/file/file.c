/* SPDX-License-Identifier: MIT */
/*
 * file:DIR, one file for each lock and cell: no server, no library, nothing but
 * the kernel. Here a session is opened and closed; see file.h for where the
 * rest is. Called as backend.h says.
 */
#include "src/backend/file/store.h"
#include "src/backend/registry.h"
#include "src/base/error.h"

/* How long closing may wait for others. */
#define PARTING_MS 100

static int file_open(void *state, const struct hf__url *url, const char *allow,
                     hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    bool has_others;
    int r = hf__local_begin(&s->local, url, "a file store", "file:DIR", err);

    s->local.plain.primitives = &hf__file_primitives;
    s->lockfile.fd = -1;
    s->name.grants.few = &s->few;
    if (r == HF_OK) {
        r = hf__file_place_init(&s->place, url->path, allow, err);
    }
    if (r == HF_OK) {
        r = hf__side_get(&s->place.ground, &s->local.plain.head, deadline,
                         &s->local.side, &has_others, err);
    }
    if (r == HF_OK) {
        r = hf__file_check_ground(s, err);
    }
    if (r == HF_OK) {
        s->local.plain.head.facts =
            (struct hf__facts){.grade = 'S', .reach = s->place.ground.reach};
    }
    return r;
}

int hf__file_check_ground(void *state, hf_error *err)
{
    struct hf__file *s = state;
    const char *path = s->place.ground.store;
    struct hf__threshold seen;
    int r = hf__file_place_check(&s->place, err);

    if (r == HF_OK && !hf__side_look(s->local.side, &seen)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s/%s was cut off or written over while in use; stop "
                        "all programs that use %s, then start them again",
                        path, HF__SIDE_NAME, path);
    }
    if (r == HF_OK) {
        s->local.nap.lobby = seen.lobby;
    }
    return r;
}

static void close_lockfile(struct hf__lockfile *lockfile)
{
    hf__lockfile_close(lockfile);
}

static bool part_one(void *arg, const struct hf__key *key,
                     const struct hf__token *token)
{
    struct hf__file *s = arg;
    HF_AUTO(close_lockfile) struct hf__lockfile lockfile;

    if (hf__lockfile_open(s, key, &lockfile, NULL) != HF_OK) {
        return false;
    }
    if (lockfile.fd < 0) {
        return true; /* there is no record that could speak of us */
    }
    if (!hf__lockfile_lock(&lockfile, s->local.plain.deadline) ||
        hf__lockfile_read(&lockfile, key, NULL) != HF_OK) {
        return false;
    }
    if (!hf__token_equal(&lockfile.record.token, token)) {
        return true;
    }
    lockfile.record.life = 0;
    return hf__lockfile_write(&lockfile, NULL) == HF_OK;
}

/* The process closes the store and still holds locks there, as when it is
 * about to open it again. From now on their leases alone count: else the end
 * of its life would say that the holder is dead. Where that can't be written,
 * side.c keeps the life. */
static void part_with_grants(struct hf__file *s)
{
    s->local.plain.deadline = hf__after_ms(hf__now(), PARTING_MS);
    if (hf__file_check_ground(s, NULL) == HF_OK) {
        hf__held_part(&s->local.side->held, part_one, s);
        hf__held_forget_parted(&s->local.side->held);
    }
}

static void file_close(void *state)
{
    struct hf__file *s = state;

    if (s->local.side != NULL && hf__side_leave(s->local.side)) {
        part_with_grants(s);
    }
    hf__side_put(s->local.side);
    s->local.side = NULL;
    hf__file_place_fini(&s->place);
}

/* ---- calls */

static int file_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    int r = hf__file_check_ground(s, err);

    for (int i = 0; r != HF_OK && i < n; i++) {
        ops[i]->result = hf__file_check_ground(s, ops[i]->err);
        if (ops[i]->result == HF_OK) {
            ops[i]->result = HF_EUNAVAIL; /* it is back, just now */
        }
    }
    if (r != HF_OK) {
        return r;
    }
    (void)hf__nap_hold_back(&s->local.nap, &s->local.plain.head,
                            &s->local.side->bells, ops, n, deadline);
    return hf__plain_execute(s, ops, n, deadline, err);
}

static int file_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                   hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    int r;

    if (!g->of_cells) {
        return hf__plain_gc(s, prefix, g, deadline, err);
    }
    s->local.plain.deadline = deadline;
    r = hf__file_check_ground(s, err);
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
    .list = hf__plain_list,
    .gc = file_gc,
    .cell = hf__file_cell,
    .check = hf__file_check,
    .interrupt = hf__local_interrupt,
    .lock_fds = hf__local_lock_fds,
};
