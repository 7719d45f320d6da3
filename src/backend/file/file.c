/* SPDX-License-Identifier: MIT */
/*
 * file:DIR, one file for each lock: no server, no library, nothing but the
 * kernel. Here a session is opened and closed; see file.h for where the rest
 * is. Called as backend.h says.
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
    int r = hf__boot_read(s->boot, err);

    s->place.fd = -1;
    s->cell.fd = -1;
    s->name.grants.few = &s->few;
    s->deadline = deadline;
    if (r == HF_OK && url->n_hosts > 0) {
        r = hf__fail(err, HF_EINVAL,
                     "a file store has no host; write file:DIR");
    }
    if (r == HF_OK) {
        r = hf__file_place_init(&s->place, url->path, allow, err);
    }
    if (r == HF_OK) {
        r = hf__file_side_get(&s->place, &s->head, deadline, &s->side, err);
    }
    if (r == HF_OK) {
        s->head.facts =
            (struct hf__facts){.grade = 'S', .reach = s->place.reach};
    }
    return r;
}

int hf__file_check_ground(struct hf__file *s, hf_error *err)
{
    int r = hf__file_place_check(&s->place, err);

    return r == HF_OK
               ? hf__file_side_check(s->side, &s->place, &s->nap.lobby, err)
               : r;
}

static void close_cell(struct hf__cell *cell)
{
    hf__cell_close(cell);
}

static bool part_one(void *arg, const struct hf__key *key,
                     const struct hf__token *token)
{
    struct hf__file *s = arg;
    HF_AUTO(close_cell) struct hf__cell cell;

    if (hf__cell_open(s, key, &cell, NULL) != HF_OK) {
        return false;
    }
    if (cell.fd < 0) {
        return true; /* there is no record that could speak of us */
    }
    if (!hf__cell_lock(&cell, s->deadline) ||
        hf__cell_read(&cell, key, NULL) != HF_OK) {
        return false;
    }
    if (!hf__token_equal(&cell.record.token, token)) {
        return true;
    }
    cell.record.life = 0;
    return hf__cell_write(&cell, NULL) == HF_OK;
}

/* The process closes the store and still holds locks there, as when it is
 * about to open it again. From now on their leases alone count: else the end
 * of its life would say that the holder is dead. Where that can't be written,
 * side.c keeps the life. */
static void part_with_grants(struct hf__file *s)
{
    s->deadline = hf__after_ms(hf__now(), PARTING_MS);
    if (hf__file_check_ground(s, NULL) == HF_OK) {
        hf__file_held_part(&s->side->held, part_one, s);
    }
}

static void file_close(void *state)
{
    struct hf__file *s = state;

    if (s->side != NULL && hf__file_side_is_parting(s->side)) {
        part_with_grants(s);
    }
    hf__file_side_put(s->side);
    s->side = NULL;
    hf__file_place_fini(&s->place);
}

/* ---- calls */

static int file_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    int r = hf__file_check_ground(s, err);

    s->deadline = deadline;
    for (int i = 0; r != HF_OK && i < n; i++) {
        ops[i]->result = hf__file_check_ground(s, ops[i]->err);
        if (ops[i]->result == HF_OK) {
            ops[i]->result = HF_EUNAVAIL; /* it is back, just now */
        }
    }
    if (r != HF_OK) {
        return r;
    }
    (void)hf__nap_hold_back(&s->nap, &s->head, &s->side->bells, ops, n,
                            deadline);
    return hf__engine_execute(&hf__file_primitives, s, ops, n, deadline);
}

static int file_wait(void *state, struct hf__watch *w[], int n,
                     hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    struct hf__bells *bells = &s->side->bells;
    struct hf__chime name = hf__chime_of_watch(w[0]);
    int r;

    s->deadline = deadline;
    hf__bells_arm(bells, name, n == 1);
    r = hf__engine_wait(&hf__file_primitives, s, w, n, deadline, err);
    hf__bells_disarm(bells, name, n == 1);
    return r;
}

static int file_listen(void *state, hf__broken_fn fn, void *arg,
                       hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    struct hf__listening l = {&s->side->words, HF__ON_FILE_BOARD(breaks),
                              s->side->life,   &s->nap,
                              &s->head,        &s->heard};
    int r = hf__file_check_ground(s, err);

    if (r == HF_OK) {
        hf__breaks_listen(&l, fn, arg, deadline);
    }
    return r;
}

static int file_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                     void *arg, hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    int r = hf__file_check_ground(s, err);

    s->deadline = deadline;
    return r == HF_OK
               ? hf__engine_list(&hf__file_primitives, s, prefix, fn, arg, err)
               : r;
}

static int file_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                   hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    int r = hf__file_check_ground(s, err);

    s->deadline = deadline;
    return r == HF_OK ? hf__engine_gc(&hf__file_primitives, s, prefix, g, err)
                      : r;
}

static void file_interrupt(void *state)
{
    hf__nap_end(&((struct hf__file *)state)->nap);
}

static int file_lock_fds(void *state, int *fds, int max)
{
    struct hf__file *s = state;

    if (max > 0) {
        fds[0] = s->side->fd;
    }
    return 1;
}

static const char *const no_options[] = {NULL};

const struct hf__backend hf__file_backend = {
    .scheme = "file",
    .caps = HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |
            HF_CAP_DEATH | HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_PUSH |
            HF_CAP_FAIR,
    .size = sizeof(struct hf__file),
    .options = no_options,
    .has_no_sigpipe = true,
    .open = file_open,
    .close = file_close,
    .execute = file_execute,
    .wait = file_wait,
    .listen = file_listen,
    .list = file_list,
    .gc = file_gc,
    .check = hf__file_check,
    .interrupt = file_interrupt,
    .lock_fds = file_lock_fds,
};
