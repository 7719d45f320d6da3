/* SPDX-License-Identifier: MIT */
/*
 * cell(): each cell is a persistent node, CHROOT/PREFIX:cells/NAME. Its data is
 * a line that says who wrote it last, and behind that the value; a tombstone,
 * which a deleted cell leaves, has the line alone. The cell's version is the
 * zxid of its last change: zxids rise, whatever is deleted.
 *
 * A change reads the cell, decides here, and writes on condition that the node
 * still has the version it had (the server's own, a count of its writes). That
 * count starts again when a node is made again after a cleaning; so a cleaning
 * also writes to the folder (list.c), and a change is refused if that was done
 * since it read. Therefore the request of a try that was given up, which the
 * server may apply later, does no harm: if a later try or anybody else has
 * written, it is refused; if not, it is this very change, and the later try,
 * which is then refused, finds its token in the node and writes nothing.
 *
 * A client never sees an older state than it has seen before: a server does not
 * let a session in that has seen more than the server has, and a new session is
 * itself a change. Called by the backend session's thread.
 */
#include "src/backend/zookeeper/steps.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <limits.h>
#include <string.h>

/* A change that meets others' changes so often is left to the caller to try
 * again. */
#define TRIES_MAX 8

/* The requests of a look, in this order: if a cleaning comes between FOLDER and
 * NODE, the folder's version is older, and the change is refused. */
enum { FRESH, FOLDER, NODE, ACL, LOOKS };

struct asking {
    struct hf__zk *s;
    struct hf__cell_op *op;
    hf__time deadline;
    hf_error *err;
    int dead;     /* HF_OK, or the negative status of a session that is over */
    bool is_done; /* op->result is set */

    struct hf__zk_calls *calls; /* calls of the last round */
    bool is_proven; /* the next look sends a write before it reads */
    bool has_folder;
    struct hf__cell_state now;
    struct hf__zk_change change; /* to be made, with the versions read */
    char folder[HF__ZK_FOLDER_MAX];
    char path[HF__ZK_FOLDER_MAX];
};

static void finish(struct asking *a, int result)
{
    a->op->result = result;
    a->is_done = true;
}

/* Finish with the error of the i-th answer. */
static void fail(struct asking *a, int i, const char *path, bool changes)
{
    int r = hf__zk_fail(&a->s->ref, hf__zk_answer(a->calls, i), path, changes,
                        a->op->err);

    finish(a, r == HF_EINVAL ? (int)HF_EPROTO : r);
}

/* False: out of memory, and it has ended. */
static bool begin_calls(struct asking *a, int n)
{
    hf__zk_calls_drop(a->calls);
    a->calls = hf__zk_calls_new(&a->s->ref, n);
    if (a->calls == NULL) {
        finish(a, hf__fail(a->op->err, HF_ENOMEM, "out of memory for a cell"));
    }
    return a->calls != NULL;
}

/* An answer that did not come in time has an rc that says so. */
static void await(struct asking *a)
{
    int r = hf__zk_await(a->calls, a->deadline, a->err);

    a->dead = r < 0 ? r : (int)HF_OK;
}

/* ---- the data */

/* Of different lengths, so that gc() knows a tombstone by its stat's length. */
static const char *const words[] = {"cell 1 gone ", "cell 1 value "};

static size_t line_length(bool has_value)
{
    return strlen(words[has_value]) + HF__TOKEN_DIGITS + 1;
}

static void write_line(char *to, bool has_value, const struct hf__token *writer)
{
    size_t n = strlen(words[has_value]);

    memcpy(to, words[has_value], n);
    hf__token_write(writer, to + n);
    to[n + HF__TOKEN_DIGITS] = '\n';
}

static bool read_as(const struct hf__zk_answer *a, bool has_value,
                    struct hf__cell_state *state)
{
    size_t n = strlen(words[has_value]);
    size_t line = line_length(has_value);
    size_t length = (size_t)a->length;

    if (length < line || length - line > (has_value ? HF__CELL_MAX : 0) ||
        memcmp(a->text, words[has_value], n) != 0 ||
        a->text[line - 1] != '\n' ||
        !hf__token_read(a->text + n, &state->writer)) {
        return false;
    }
    state->version = (uint64_t)a->stat.mzxid;
    state->has_value = has_value;
    state->length = length - line;
    return !hf__token_is_zero(&state->writer) &&
           state->version < HF__FENCE_END - 1;
}

bool hf__zk_cell_read(const struct hf__zk_answer *a,
                      struct hf__cell_state *state)
{
    return read_as(a, true, state) || read_as(a, false, state);
}

/* ---- looking */

/* False: the i-th answer is an error, and it has ended. */
static bool is_told(struct asking *a, int i, const char *path)
{
    int rc = hf__zk_answer(a->calls, i)->rc;

    if (rc != ZOK && rc != ZNONODE && !(i == FRESH && hf__zk_shows_life(rc))) {
        fail(a, i, path, false);
    }
    return !a->is_done;
}

/* As with claims (grant.c): whoever may delete nodes there may put a value of
 * his own in place of ours. */
static bool is_safe(struct asking *a)
{
    if (hf__zk_has_user(&a->s->ref) && is_told(a, ACL, a->folder) &&
        hf__zk_answer(a->calls, ACL)->length > 0) {
        finish(a, hf__fail(a->op->err, HF_EUNSAFE,
                           "%s is open: anybody may change cells there, for "
                           "who made it gave no password (setAcl)",
                           a->folder));
    }
    return !a->is_done;
}

static void take_look(struct asking *a)
{
    const struct hf__zk_answer *folder = hf__zk_answer(a->calls, FOLDER);
    const struct hf__zk_answer *node = hf__zk_answer(a->calls, NODE);

    a->now = (struct hf__cell_state){0};
    a->has_folder = folder->rc == ZOK;
    a->change = (struct hf__zk_change){.folder = a->folder,
                                       .folder_version = folder->stat.version,
                                       .path = a->path,
                                       .is_new = node->rc == ZNONODE,
                                       .version = node->stat.version};
    if (node->rc == ZOK && !hf__zk_cell_read(node, &a->now)) {
        finish(a, hf__fail(a->op->err, HF_EPROTO,
                           "%s: what it has is no cell's, or another "
                           "version's; it is left as it is (delete the node, "
                           "if nobody needs it)",
                           a->path));
    }
}

/* A server may be behind the others. A sync makes it catch up with its leader,
 * which may have been deposed without knowing yet; a write, even one that
 * fails, is answered only by a leader that was not. */
static void look(struct asking *a)
{
    if (!begin_calls(a, LOOKS)) {
        return;
    }
    if (a->is_proven) {
        hf__zk_set(a->calls, FRESH, "/", "", 0, INT_MAX);
    } else {
        hf__zk_sync(a->calls, FRESH, a->path);
    }
    hf__zk_exists(a->calls, FOLDER, a->folder, NULL);
    hf__zk_get(a->calls, NODE, a->path, NULL);
    if (hf__zk_has_user(&a->s->ref)) {
        hf__zk_acl(a->calls, ACL, a->folder);
    }
    await(a);
    if (is_told(a, FRESH, a->path) && is_told(a, FOLDER, a->folder) &&
        is_told(a, NODE, a->path) && is_safe(a)) {
        take_look(a);
    }
}

/* ---- the folder */

static bool is_there(const struct asking *a, int i)
{
    int rc = hf__zk_answer(a->calls, i)->rc;

    return rc == ZOK || rc == ZNODEEXISTS;
}

/* We may have no right to make the folders above, and they exist: so the last
 * one's answer counts. Where one above is missing, the first that could not be
 * made counts. Whether we may make a folder is the ACL of the one above it. */
static void make_folders(struct asking *a)
{
    char path[HF__ZK_FOLDER_MAX];
    int n = hf__zk_count_folders(a->folder);
    int i = 0;

    if (!begin_calls(a, n)) {
        return;
    }
    for (; i < n; i++) {
        hf__zk_create(a->calls, i, hf__zk_folder_path(a->folder, i + 1, path),
                      "", 0, ZOO_PERSISTENT);
    }
    await(a);
    i = hf__zk_answer(a->calls, n - 1)->rc == ZNONODE ? 0 : n - 1;
    while (i < n - 1 && is_there(a, i)) {
        i++;
    }
    if (!is_there(a, i)) {
        n = hf__zk_answer(a->calls, i)->rc == ZNOAUTH ? i : i + 1;
        fail(a, i, hf__zk_folder_path(a->folder, n, path), false);
    }
}

/* ---- changing */

static void take_written(struct asking *a, bool has_value)
{
    const struct hf__zk_answer *written = hf__zk_answer(a->calls, 0);
    int rc = written->rc;

    if (rc == ZOK) {
        a->op->state =
            (struct hf__cell_state){.version = (uint64_t)written->stat.mzxid,
                                    .writer = a->op->writer,
                                    .has_value = has_value,
                                    .length = has_value ? a->op->length : 0};
        finish(a, HF_OK);
    } else if (rc != ZBADVERSION && rc != ZNODEEXISTS && rc != ZNONODE) {
        fail(a, 0, written->part <= a->change.is_new ? a->folder : a->path,
             true);
    }
}

/* If it has not finished then, something has changed since the look. */
static void write_cell(struct asking *a)
{
    bool has_value = a->op->what == HF__CELL_PUT;
    size_t line = line_length(has_value);
    size_t length = has_value ? a->op->length : 0;
    char *data = hf__alloc(line + length);

    if (data == NULL) {
        finish(a, hf__fail(a->op->err, HF_ENOMEM, "out of memory for a cell"));
    } else if (begin_calls(a, 1)) {
        write_line(data, has_value, &a->op->writer);
        if (length > 0) {
            memcpy(data + line, a->op->value, length);
        }
        a->change.data = data;
        a->change.length = (int)(line + length);
        a->op->result = HF_EUNKNOWN;
        hf__zk_guarded(a->calls, 0, &a->change);
        await(a);
        take_written(a, has_value);
    }
    hf__free(data);
}

static void change(struct asking *a)
{
    uint64_t version = a->now.version;

    a->op->state = a->now;
    if (version != 0 && hf__token_equal(&a->now.writer, &a->op->writer)) {
        finish(a, HF_OK); /* an earlier try of this change was applied */
    } else if (version < a->op->expected && !a->is_proven) {
        a->is_proven = true; /* this server may not know the later one yet */
    } else if (version != a->op->expected) {
        finish(a, HF_CONFLICT);
    } else if (!a->has_folder) {
        make_folders(a);
    } else if (!a->change.is_new && a->change.version == -1) {
        /* The server takes version −1 for any version. */
        finish(a, hf__fail(a->op->err, HF_EPROTO,
                           "%s: it was written to 2^32 times, and the server "
                           "can't count on (delete the node)",
                           a->path));
    } else {
        write_cell(a);
    }
}

static void tell(struct asking *a)
{
    a->op->state = a->now;
    if (a->now.length > 0) {
        memcpy(a->op->value,
               hf__zk_answer(a->calls, NODE)->text + line_length(true),
               a->now.length);
    }
    finish(a, HF_OK);
}

static void run(struct asking *a)
{
    for (int i = 0; i < TRIES_MAX && !a->is_done; i++) {
        look(a);
        if (!a->is_done && a->op->what == HF__CELL_GET) {
            tell(a);
        } else if (!a->is_done) {
            change(a);
        }
    }
    if (!a->is_done) {
        finish(a, hf__fail(a->op->err, HF__AGAIN,
                           "%s changes faster than it is read", a->path));
    }
    hf__zk_calls_drop(a->calls);
}

int hf__zk_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                hf_error *err)
{
    struct asking a = {.s = state, .op = op, .deadline = deadline, .err = err};
    int r = hf__zk_ready(&a.s->ref, deadline, err);

    if (r == HF_OK) {
        (void)hf__zk_prefix_path(a.s->url.chroot, &op->key, a.folder);
        (void)hf__zk_name_path(a.s->url.chroot, &op->key, a.path);
        run(&a);
        return a.dead;
    }
    if (r == HF_BUSY) {
        op->result = hf__zk_fail_away(&a.s->ref, op->err);
        return HF_OK;
    }
    op->result = r == HF_EUNAVAIL ? HF__AGAIN : r;
    return r;
}
