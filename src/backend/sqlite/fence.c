/* SPDX-License-Identifier: MIT */
/*
 * The ceiling and the base of fences, in the one row of holdfast_meta.
 * Called by the session's thread.
 */
#include "src/backend/sqlite/fence.h"

#include <string.h>

/* A minute's worth of microseconds: so long one synced commit lasts. */
#define ROOM UINT64_C(60000000)

struct meta {
    uint64_t base;
    uint64_t ceiling;
    bool is_of_this_boot;
};

static uint64_t unsigned_of(int64_t number)
{
    return number > 0 ? (uint64_t)number : 0;
}

static int get_meta(struct hf__sqlite *s, struct meta *ret_meta)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_GET_META);
    int rc;

    *ret_meta = (struct meta){0, 0, false};
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        const unsigned char *boot = sqlite3_column_text(statement, 0);

        ret_meta->is_of_this_boot =
            boot != NULL &&
            strncmp((const char *)boot, s->local.boot, HF__BOOT_ID_LENGTH) == 0;
        ret_meta->base = unsigned_of(sqlite3_column_int64(statement, 1));
        ret_meta->ceiling = unsigned_of(sqlite3_column_int64(statement, 2));
    }
    (void)sqlite3_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int put_meta(struct hf__sqlite *s, const struct meta *meta)
{
    const struct hf__value boot = {SQLITE_TEXT, 0, s->local.boot,
                                   HF__BOOT_ID_LENGTH};

    return HF__SQL_RUN(s, HF__SQL_PUT_META, boot,
                       hf__value_of((int64_t)meta->base),
                       hf__value_of((int64_t)meta->ceiling));
}

/* Inside the synced transaction. Another session may have done it by now:
 * what can be read was synced before it could be. */
static int raise_locked(struct hf__sqlite *s, uint64_t wanted)
{
    struct meta meta;
    int rc = get_meta(s, &meta);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!meta.is_of_this_boot) {
        meta.base = meta.ceiling + 1;
    }
    if (!meta.is_of_this_boot || meta.ceiling < wanted) {
        uint64_t least = wanted > meta.base ? wanted : meta.base;

        meta.ceiling = hf__fence_after(least, hf__wall_us()) + ROOM;
        rc = put_meta(s, &meta);
    }
    if (rc == SQLITE_OK) {
        rc = hf__sql_run(s, HF__SQL_COMMIT);
    }
    if (rc == SQLITE_OK) {
        s->fence_base = meta.base;
        s->fence_ceiling = meta.ceiling;
    }
    return rc;
}

int hf__fence_raise(struct hf__sqlite *s)
{
    uint64_t wanted = s->fence_wanted;
    int rc;

    s->fence_wanted = 0;
    /* Not a kept statement: this pragma acts when it is compiled. */
    rc = sqlite3_exec(s->db->handle, "PRAGMA synchronous=FULL", NULL, NULL,
                      NULL);
    if (rc == SQLITE_OK) {
        rc = hf__sql_run(s, HF__SQL_BEGIN_WRITE);
    }
    if (rc == SQLITE_OK) {
        rc = raise_locked(s, wanted);
    }
    hf__sql_undo(s);
    (void)sqlite3_exec(s->db->handle, "PRAGMA synchronous=NORMAL", NULL, NULL,
                       NULL);
    return rc;
}

int hf__fence_open(struct hf__sqlite *s)
{
    struct meta meta;
    int rc = get_meta(s, &meta);

    if (rc != SQLITE_OK) {
        return rc;
    }
    s->fence_base = meta.base;
    s->fence_ceiling = meta.ceiling;
    return meta.is_of_this_boot ? SQLITE_OK : hf__fence_raise(s);
}

bool hf__fence_may_be(struct hf__sqlite *s, uint64_t fence)
{
    if (fence <= s->fence_ceiling) {
        return true;
    }
    s->fence_wanted = fence;
    return false;
}

int hf__fence_forget(struct hf__sqlite *s, uint64_t highest)
{
    return HF__SQL_RUN(s, HF__SQL_RAISE_BASE,
                       hf__value_of((int64_t)highest + 1));
}

/* Its record may have been deleted since this session read the base. */
static void refresh_base(struct hf__sqlite *s)
{
    struct meta meta;

    if (get_meta(s, &meta) == SQLITE_OK && meta.base > s->fence_base) {
        s->fence_base = meta.base;
    }
}

int64_t hf__fence_floor(struct hf__sqlite *s, bool has_record)
{
    if (!has_record) {
        refresh_base(s);
    }
    return s->wall_us > (int64_t)s->fence_base ? s->wall_us
                                               : (int64_t)s->fence_base;
}
