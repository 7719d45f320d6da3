/* SPDX-License-Identifier: MIT */
/*
 * Records of any content in an SQLite store, of names, of grants beside others
 * and of tickets. What makes no sense is never granted and shows as HF_EPROTO;
 * a lease that runs is nobody else's, nor anybody's alone who has it beside
 * others; fences rise and stay below 2^53; whatever can be shown is valid
 * JSON. The record also changes under a holder.
 */
#include "include/holdfast.h"
#include "src/cli/holder.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/json.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <unistd.h>

enum { TEXT_MAX = 48 };

/* A table, and one row of it that alice wrote, in a table of the target's. */
struct table {
    const char *insert;
    const char *sane;
    int columns;
    int expires; /* which column that is; −1: there is none */
};

static const struct table names = {"INSERT OR REPLACE INTO holdfast_lock VALUES"
                                   "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                                   "SELECT * FROM temp.sane", 18, 3};
static const struct table beside = {
    "INSERT OR REPLACE INTO holdfast_beside VALUES"
    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "SELECT * FROM temp.sane_beside", 17, 6};
static const struct table tickets = {
    "INSERT OR REPLACE INTO holdfast_ticket VALUES"
    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "SELECT * FROM temp.sane_ticket", 14, -1};

/* What the record is after SQLite has converted it. */
struct record {
    int64_t fence;
    bool is_damaged;
    bool is_running; /* held for a minute or more by a holder who may live */
    bool is_shared;  /* the same, of a grant beside others */
};

static sqlite3 *db;
static hf_client *alice;
static char folder[256];
static char path[512];
static char url[600];

/* ---- bytes to values */

static void bind_sane(sqlite3_stmt *to, const struct table *table, int column)
{
    sqlite3_stmt *from = NULL;

    REQUIRE(sqlite3_prepare_v2(db, table->sane, -1, &from, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_step(from) == SQLITE_ROW);
    if (column == table->expires) {
        (void)sqlite3_bind_int64(to, column + 1, boot_us() + 100000000);
    } else {
        (void)sqlite3_bind_value(to, column + 1,
                                 sqlite3_column_value(from, column));
    }
    (void)sqlite3_finalize(from);
}

static void bind_any(sqlite3_stmt *to, const struct table *table, int column,
                     struct bytes *b)
{
    unsigned kind = take(b) % 8;
    size_t length = kind == 2 || kind == 3 ? take(b) % TEXT_MAX : 0;

    length = length < b->left ? length : b->left;
    switch (kind) {
    case 1:
        (void)sqlite3_bind_int64(to, column + 1, take_number(b));
        break;
    case 2:
        (void)sqlite3_bind_text(to, column + 1, (const char *)b->at,
                                (int)length, SQLITE_TRANSIENT);
        break;
    case 3:
        (void)sqlite3_bind_blob(to, column + 1, b->at, (int)length,
                                SQLITE_TRANSIENT);
        break;
    case 4:
        (void)sqlite3_bind_double(to, column + 1, (double)take_number(b) / 8.0);
        break;
    case 5:
        (void)sqlite3_bind_null(to, column + 1);
        break;
    default:
        bind_sane(to, table, column);
        break;
    }
    b->at += length;
    b->left -= length;
}

/* ---- the store */

static void run_sql(const char *text)
{
    REQUIRE(sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK);
}

enum { WAITS = 1, SHARES = 8, TAKES_A_SLOT = 16 };

static hf_lock *acquire(hf_client *client, const char *name, unsigned habits,
                        int *ret_r)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;

    opts.wait_ms = habits & WAITS ? 2 : 0;
    opts.fair = habits & WAITS ? 1 : 0;
    opts.shared = habits & SHARES ? 1 : 0;
    opts.slots = (habits & (SHARES | TAKES_A_SLOT)) == TAKES_A_SLOT ? 3 : 0;
    *ret_r = hf_acquire(client, name, &opts, &lock, NULL);
    REQUIRE((*ret_r == HF_OK) == (lock != NULL));
    return lock;
}

static void leave(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-holdfast"};

    hf_close(alice);
    (void)sqlite3_close(db);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char file[600];

        snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
        (void)unlink(file);
    }
    (void)rmdir(folder);
}

static void enter(void)
{
    const char *under = getenv("TMPDIR");
    hf_lock *lock;
    int r;

    snprintf(folder, sizeof folder, "%s/holdfast-rows-XXXXXX",
             under ? under : "/tmp");
    REQUIRE(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/locks.db", folder);
    /* So long a release is tried whose record was damaged. */
    snprintf(url, sizeof url, "sqlite:%s?io_timeout=20ms", path);
    REQUIRE(hf_open(url, NULL, &alice, NULL) == HF_OK);
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 5000);
    run_sql("PRAGMA synchronous=OFF");
    lock = acquire(alice, "sane", 0, &r);
    REQUIRE(lock);
    run_sql("CREATE TEMP TABLE sane AS SELECT * FROM holdfast_lock;"
            "UPDATE temp.sane SET beside=1,line=1;"
            "CREATE TEMP TABLE meta AS SELECT * FROM holdfast_meta");
    hf_free(lock);
    lock = acquire(alice, "sane", SHARES, &r);
    REQUIRE(lock);
    run_sql("CREATE TEMP TABLE sane_beside AS SELECT * FROM holdfast_beside;"
            "CREATE TEMP TABLE sane_ticket AS SELECT key,1 AS seq,"
            "randomblob(16),0,0,boot,side,acquired_at,granted,label,host,pid,"
            "thread,note FROM holdfast_beside");
    hf_free(lock);
    (void)atexit(leave);
}

/* False: SQLite itself refuses such a record. */
static bool write_row(const struct table *table, const char *name,
                      struct bytes *b)
{
    sqlite3_stmt *statement = NULL;
    char key[64];
    int rc;

    REQUIRE(sqlite3_prepare_v2(db, table->insert, -1, &statement, NULL) ==
            SQLITE_OK);
    snprintf(key, sizeof key, "holdfast:%s", name);
    (void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    for (int i = 1; i < table->columns; i++) {
        bind_any(statement, table, i, b);
    }
    rc = sqlite3_step(statement);
    (void)sqlite3_finalize(statement);
    REQUIRE(rc == SQLITE_DONE || rc == SQLITE_CONSTRAINT);
    return rc == SQLITE_DONE;
}

/* The name's own, and up to three of each other table. */
static bool write_record(const char *name, struct bytes *b)
{
    unsigned counts = take(b);

    for (unsigned i = 0; i < counts % 4; i++) {
        (void)write_row(&beside, name, b);
    }
    for (unsigned i = 0; i < counts / 4 % 4; i++) {
        (void)write_row(&tickets, name, b);
    }
    return write_row(&names, name, b);
}

static struct record read_record(const char *name)
{
    static const char text[] =
        "SELECT l.fence,typeof(l.fence)<>'integer' OR l.fence<=0 OR"
        " l.fence>=9007199254740992 OR"
        " (typeof(l.token)<>'null' AND (typeof(l.token)<>'blob' OR"
        " length(l.token)<>16 OR typeof(l.boot)<>'text')),"
        " typeof(l.token)='blob' AND typeof(l.boot)='text' AND"
        " l.boot=s.boot AND (l.side IS NULL OR l.side=s.side) AND"
        " typeof(l.expires)='integer' AND l.expires>?2,"
        " (typeof(l.beside)<>'integer' OR l.beside<>0) AND EXISTS(SELECT 1"
        " FROM holdfast_beside b WHERE b.key=l.key AND typeof(b.token)='blob'"
        " AND length(b.token)=16 AND b.boot=s.boot AND typeof(b.boot)='text'"
        " AND typeof(b.expires)='integer' AND b.expires>?2"
        " AND typeof(b.ended)='integer' AND b.ended=0 AND"
        " (b.side IS NULL OR b.side=(SELECT side FROM temp.sane_beside))) "
        "FROM holdfast_lock l,temp.sane s WHERE l.key='holdfast:'||?1";
    sqlite3_stmt *statement = NULL;
    struct record record;

    REQUIRE(sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK);
    (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 2, boot_us() + 60000000);
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    record = (struct record){sqlite3_column_int64(statement, 0),
                             sqlite3_column_int(statement, 1) != 0,
                             sqlite3_column_int(statement, 2) != 0,
                             sqlite3_column_int(statement, 3) != 0};
    (void)sqlite3_finalize(statement);
    return record;
}

/* ---- the calls */

static void require_clean(int r)
{
    REQUIRE(r == HF_OK || r == HF_BUSY || r == HF_TIMEDOUT || r == HF_LOST ||
            r == HF_CONFLICT || r == HF_EPROTO || r == HF_EUNSAFE ||
            r == HF_EUNKNOWN || r == HF_EUNAVAIL || r == HF_EINVAL);
}

static int show(void *arg, const hf_info *info)
{
    struct cli_text text = {0};

    (void)arg;
    cli_text_add(&text, "{");
    cli_holder_json(&text, info);
    cli_text_add(&text, "}");
    REQUIRE(json_is_valid(text.data, text.length));
    cli_text_cut(&text, 0);
    cli_holder_line(&text, info);
    cli_text_fini(&text);
    return 0;
}

/* A call has so little time that on a busy machine it may not get there. */
static int inspect(hf_client *client, const char *name, hf_info **ret_info)
{
    int r = HF_EUNAVAIL;

    for (int tries = 0; tries < 100 && r == HF_EUNAVAIL; tries++) {
        r = hf_inspect(client, name, ret_info, NULL);
    }
    return r;
}

static int look(hf_client *client, const char *name)
{
    hf_info *info = NULL;
    int r = inspect(client, name, &info);

    require_clean(r);
    if (r == HF_OK) {
        REQUIRE(hf_info_fence(info) < (uint64_t)FENCE_END);
        show(NULL, info);
        for (int i = 0; i < hf_info_holders(info); i++) {
            show(NULL, hf_info_holder_at(info, i));
        }
        for (int i = 0; i < hf_info_waiters(info); i++) {
            show(NULL, hf_info_waiter_at(info, i));
        }
    }
    hf_info_free(info);
    require_clean(hf_list(client, "", show, NULL, NULL));
    return r;
}

static hf_lock *claim(hf_client *client, const char *name,
                      const struct record *was, unsigned habits)
{
    int r;
    hf_lock *lock = acquire(client, name, habits, &r);

    require_clean(r);
    REQUIRE(!was->is_damaged || !lock);
    REQUIRE(!was->is_running || !lock);
    REQUIRE(!was->is_shared || habits & (SHARES | TAKES_A_SLOT) || !lock);
    if (lock) {
        REQUIRE(hf_fence(lock) > (uint64_t)was->fence);
        REQUIRE(hf_fence(lock) < (uint64_t)FENCE_END);
    }
    return lock;
}

static void use(hf_client *client, const char *name, struct bytes *b)
{
    unsigned habits = take(b);
    struct record was;
    hf_lock *lock;

    if (!write_record(name, b)) {
        return;
    }
    was = read_record(name);
    REQUIRE(look(client, name) == HF_EPROTO || !was.is_damaged);
    lock = claim(client, name, &was, habits);
    if (lock && habits & 2) {
        (void)write_record(name, b);
    }
    if (lock) {
        require_clean(hf_renew(lock, NULL));
        (void)look(client, name);
        require_clean(hf_release(lock, NULL));
    }
    if (habits & 4) {
        require_clean(hf_break(client, name, 0, NULL));
    }
    hf_free(lock);
}

/* The row that bounds the fences, as a session finds it that opens. */
static void use_with_meta(const char *name, struct bytes *b)
{
    sqlite3_stmt *statement = NULL;
    hf_client *bob = NULL;
    int64_t base = take_number(b);
    int64_t ceiling = take_number(b);
    int r;

    REQUIRE(sqlite3_prepare_v2(
                db, "UPDATE holdfast_meta SET fence_base=?,fence_ceiling=?", -1,
                &statement, NULL) == SQLITE_OK);
    (void)sqlite3_bind_int64(statement, 1, base);
    (void)sqlite3_bind_int64(statement, 2, ceiling);
    REQUIRE(sqlite3_step(statement) == SQLITE_DONE);
    (void)sqlite3_finalize(statement);
    r = hf_open(url, NULL, &bob, NULL);
    require_clean(r);
    if (r == HF_OK) {
        use(bob, name, b);
    }
    hf_close(bob);
    run_sql("INSERT OR REPLACE INTO holdfast_meta SELECT * FROM temp.meta");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned count;
    struct bytes b = {data, size};
    char name[32];

    if (!db) {
        enter();
    }
    /* A client remembers the fences of a name. */
    snprintf(name, sizeof name, "n%u", ++count);
    if (take(&b) % 8 == 7) {
        use_with_meta(name, &b);
    } else {
        use(alice, name, &b);
    }
    run_sql("DELETE FROM holdfast_lock WHERE key<>'holdfast:sane';"
            "DELETE FROM holdfast_beside;DELETE FROM holdfast_ticket");
    return 0;
}
