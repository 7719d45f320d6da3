/* SPDX-License-Identifier: MIT */
/*
 * The tables. holdfast_lock has one row for each name ever locked, kept for its
 * fence. holdfast_beside has the grants that share a name, and holdfast_ticket
 * the waiters in the queue. holdfast_server says which of several servers that
 * replicate each other may grant. holdfast_cell has a row for each cell; the
 * first client that uses cells makes it. Times are microseconds since 1970 by
 * the server's clock. There is no second index: the fewer indexes are locked,
 * the fewer deadlocks. Each column is written down once, for both the statement
 * that makes the table and the check of an existing one. Called by the
 * session's thread when it opens.
 */
#include "src/backend/mysql/schema.h"

#include "src/backend/cell.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/backend/mysql/shape.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <stdio.h>
#include <string.h>

#define LOCK_COLUMNS(X)                                                        \
    X(name_key, HF__KIND_BYTES, 329, true, "VARBINARY(329) NOT NULL")          \
    X(fence, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)    \
    X(token, HF__KIND_BYTES, 16, false, "VARBINARY(16) NOT NULL DEFAULT ''")   \
    X(freed, HF__KIND_BYTES, 16, false, "VARBINARY(16) NOT NULL DEFAULT ''")   \
    X(expires, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)             \
    X(keep_until, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)          \
    X(acquired_at, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)         \
    X(changed_at, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)          \
    X(broken, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)   \
    X(detached, HF__KIND_SIGNED, 1, false, "TINYINT" HF__SQL_NUMBER)           \
    X(crowd, HF__KIND_UNSIGNED, 1, false, "TINYINT UNSIGNED" HF__SQL_NUMBER)   \
    X(revision, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER) \
    HF__OWNER_COLUMNS(X)

#define BESIDE_COLUMNS(X)                                                      \
    X(name_key, HF__KIND_BYTES, 329, true, "VARBINARY(329) NOT NULL")          \
    X(token, HF__KIND_BYTES, 16, true, "VARBINARY(16) NOT NULL")               \
    X(fence, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)    \
    X(mode, HF__KIND_SIGNED, 1, false, "TINYINT" HF__SQL_NUMBER)               \
    X(slots, HF__KIND_SIGNED, 4, false, "INT" HF__SQL_NUMBER)                  \
    X(slot, HF__KIND_SIGNED, 4, false, "INT" HF__SQL_NUMBER)                   \
    X(expires, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)             \
    X(acquired_at, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)         \
    X(changed_at, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)          \
    X(detached, HF__KIND_SIGNED, 1, false, "TINYINT" HF__SQL_NUMBER)           \
    X(ended, HF__KIND_SIGNED, 1, false, "TINYINT" HF__SQL_NUMBER)              \
    HF__OWNER_COLUMNS(X)

#define TICKET_COLUMNS(X)                                                      \
    X(name_key, HF__KIND_BYTES, 329, true, "VARBINARY(329) NOT NULL")          \
    X(seq, HF__KIND_UNSIGNED, 8, true, "BIGINT UNSIGNED NOT NULL")             \
    X(token, HF__KIND_BYTES, 16, false, "VARBINARY(16) NOT NULL DEFAULT ''")   \
    X(mode, HF__KIND_SIGNED, 1, false, "TINYINT" HF__SQL_NUMBER)               \
    X(slots, HF__KIND_SIGNED, 4, false, "INT" HF__SQL_NUMBER)                  \
    X(since, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)               \
    X(asked, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)               \
    HF__OWNER_COLUMNS(X)

#define SERVER_COLUMNS(X)                                                      \
    X(server_id, HF__KIND_UNSIGNED, 4, true, "INT UNSIGNED NOT NULL")          \
    X(epoch, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)    \
    X(prior, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)    \
    X(shown_at, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)            \
    X(grants_from, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)         \
    X(longest, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)             \
    X(is_settled, HF__KIND_SIGNED, 1, false, "TINYINT" HF__SQL_NUMBER)         \
    X(is_proven, HF__KIND_SIGNED, 1, false, "TINYINT" HF__SQL_NUMBER)          \
    X(mark, HF__KIND_BYTES, 16, false, "VARBINARY(16) NOT NULL DEFAULT ''")

#define CELL_COLUMNS(X)                                                        \
    X(name_key, HF__KIND_BYTES, 329, true, "VARBINARY(329) NOT NULL")          \
    X(version, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)  \
    X(writer, HF__KIND_BYTES, 16, false, "VARBINARY(16) NOT NULL DEFAULT ''")  \
    X(value, HF__KIND_VALUE, HF__CELL_MAX, false, "MEDIUMBLOB NULL")

#define DDL                                                                    \
    HF__SQL_CREATE("holdfast_lock", LOCK_COLUMNS, "name_key")                  \
    HF__SQL_CREATE("holdfast_beside", BESIDE_COLUMNS, "name_key, token")       \
    HF__SQL_CREATE("holdfast_ticket", TICKET_COLUMNS, "name_key, seq")
static const char ddl[] = DDL;
#define PAIR_DDL                                                               \
    DDL HF__SQL_CREATE("holdfast_server", SERVER_COLUMNS, "server_id")
static const char pair_ddl[] = PAIR_DDL;
#define CELL_DDL HF__SQL_CREATE("holdfast_cell", CELL_COLUMNS, "name_key")
static const char cell_ddl[] = CELL_DDL;

static const struct hf__column lock_columns[] = {LOCK_COLUMNS(HF__AS_COLUMN)};
static const struct hf__column beside_columns[] = {
    BESIDE_COLUMNS(HF__AS_COLUMN)};
static const struct hf__column ticket_columns[] = {
    TICKET_COLUMNS(HF__AS_COLUMN)};
static const struct hf__column server_columns[] = {
    SERVER_COLUMNS(HF__AS_COLUMN)};
static const struct hf__column cell_columns[] = {CELL_COLUMNS(HF__AS_COLUMN)};

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static const struct hf__table tables[] = {
    {"holdfast_lock", lock_columns, COUNT(lock_columns), "name_key"},
    {"holdfast_beside", beside_columns, COUNT(beside_columns),
     "name_key, token"},
    {"holdfast_ticket", ticket_columns, COUNT(ticket_columns), "name_key, seq"},
    {"holdfast_server", server_columns, COUNT(server_columns), "server_id"},
};

const struct hf__schema hf__mysql_tables = {ddl, tables, COUNT(tables) - 1};
const struct hf__schema hf__mysql_pair_tables = {pair_ddl, tables,
                                                 COUNT(tables)};

static const struct hf__table cell_table = {"holdfast_cell", cell_columns,
                                            COUNT(cell_columns), "name_key"};
const struct hf__schema hf__mysql_cell_tables = {cell_ddl, &cell_table, 1};

const char *hf__mysql_schema_ddl(bool has_several_hosts)
{
    return has_several_hosts ? PAIR_DDL CELL_DDL : DDL CELL_DDL;
}

/* ---- checking and making */

#define LOCK_TIMEOUT 1205

/* Has the table labels? They are its last columns. */
static bool has_labels(const struct hf__table *t)
{
    return strcmp(t->columns[t->n - 1].name,
                  hf__mysql_labels[HF__MYSQL_LABELS - 1]) == 0;
}

static void add_look(struct hf__mysql *s, const struct hf__schema *schema)
{
    hf__text_clear(&s->sql);
    /* If somebody alters or locks a table, we wait in steps of a second, up to
     * our deadline, so that no statement of ours outlives us there. */
    hf__text_add(&s->sql, "SET SESSION lock_wait_timeout=1");
    for (int i = 0; i < schema->n; i++) {
        hf__text_addf(&s->sql, ";SELECT * FROM %s LIMIT 0",
                      schema->tables[i].name);
        for (int j = 0; j < HF__MYSQL_LABELS; j++) {
            hf__text_addf(&s->sql,
                          has_labels(&schema->tables[i]) ? "%sCHARSET(t.%s)"
                                                         : "%sNULL",
                          j == 0 ? ";SELECT " : ",", hf__mysql_labels[j]);
        }
        /* Join by the key, for which no row exists: with ON 0 it would read all
         * rows. */
        hf__text_addf(&s->sql, " FROM (SELECT 1) d LEFT JOIN %s t ON t.%s=''",
                      schema->tables[i].name,
                      schema->tables[i].columns[0].name);
    }
    for (int i = 0; i < schema->n; i++) {
        hf__text_addf(&s->sql,
                      "%sSELECT TABLE_NAME,ENGINE,(SELECT MIN(INDEX_NAME) "
                      "FROM information_schema.STATISTICS WHERE "
                      "TABLE_SCHEMA=DATABASE() AND TABLE_NAME='%s' AND "
                      "(SUB_PART IS NOT NULL OR "
                      "(NON_UNIQUE=0 AND INDEX_NAME<>'PRIMARY'))) "
                      "FROM information_schema.TABLES WHERE "
                      "TABLE_SCHEMA=DATABASE() AND TABLE_NAME='%s'",
                      i == 0 ? ";" : " UNION ALL ", schema->tables[i].name,
                      schema->tables[i].name);
    }
}

/* Take the next reply. *ret_error: the server refused that statement. */
static int next(struct hf__mysql *s, unsigned *ret_error)
{
    int r = hf__wire_next(s);

    *ret_error = r == HF_OK ? s->reply.error : 0;
    return r;
}

/* HF_OK with *ret_error set: the server refused with that error. */
static int look(struct hf__mysql *s, const struct hf__schema *schema,
                unsigned *ret_error)
{
    int r;

    add_look(s, schema);
    r = hf__wire_send(s);
    *ret_error = r == HF_OK ? s->reply.error : 0;
    for (int i = 0; i < schema->n && r == HF_OK && *ret_error == 0; i++) {
        r = next(s, ret_error);
        if (r == HF_OK && *ret_error == 0) {
            r = hf__mysql_shape_columns(s, &schema->tables[i]);
        }
        if (r == HF_OK && *ret_error == 0) {
            r = next(s, ret_error);
        }
        if (r == HF_OK && *ret_error == 0) {
            r = hf__mysql_shape_letters(s, &schema->tables[i]);
        }
    }
    if (r == HF_OK && *ret_error == 0) {
        r = next(s, ret_error);
    }
    return r == HF_OK && *ret_error == 0
               ? hf__mysql_shape_engines(s, schema->tables, schema->n)
               : r;
}

static int make(struct hf__mysql *s, const struct hf__schema *schema,
                unsigned *ret_error)
{
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, schema->ddl);
    /* Remove the last ';', after which the server would expect a statement. */
    while (!s->sql.is_broken && s->sql.length > 0 &&
           strchr(";\n", s->sql.bytes[s->sql.length - 1]) != NULL) {
        s->sql.bytes[--s->sql.length] = '\0';
    }
    r = hf__wire_run(s);
    *ret_error = r == HF_OK ? s->reply.error : 0;
    return r;
}

static int fail_to_make(struct hf__mysql *s)
{
    char why[256];
    int r = hf__mysql_fail(s, s->t.err);

    if (r != HF_EAUTH) {
        return r;
    }
    hf__mysql_words(s, why, sizeof why);
    return hf__fail_native(s->t.err, r, (int)mysql_errno(s->wire.handle),
                           "the tables are not there and this user may not "
                           "make them (%s): have an administrator run what "
                           "\"holdfast check --ddl\" prints",
                           why);
}

static int fail_to_look(struct hf__mysql *s, unsigned error)
{
    return error != LOCK_TIMEOUT
               ? hf__mysql_fail(s, s->t.err)
               : hf__fail_native(s->t.err, HF_EUNAVAIL, (int)error,
                                 "the tables are locked by somebody else: "
                                 "LOCK TABLES, ALTER TABLE, a backup or a "
                                 "transaction that has used them");
}

int hf__mysql_schema_ready(struct hf__mysql *s, const struct hf__schema *schema)
{
    for (;;) {
        unsigned error = 0;
        bool is_making = false;
        int r = look(s, schema, &error);

        if (r == HF_OK && error == HF__NO_TABLE) {
            is_making = true;
            r = make(s, schema, &error);
        }
        if (r != HF_OK || (error == 0 && !is_making)) {
            return r;
        }
        if (error != 0 && error != LOCK_TIMEOUT &&
            hf__mysql_error_class(error) != HF__ERROR_AGAIN) {
            return is_making ? fail_to_make(s) : fail_to_look(s, error);
        }
        if (!hf__before(hf__now(), s->t.deadline) ||
            hf__is_interrupted(&s->t.head)) {
            return fail_to_look(s, error);
        }
        if (error != 0) {
            hf__table_rest(
                &s->t, hf__after_ns(hf__now(),
                                    hf__random_between(HF__MS, 20 * HF__MS)));
        }
    }
}
