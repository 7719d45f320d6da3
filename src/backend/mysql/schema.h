/* SPDX-License-Identifier: MIT */
/*
 * The tables: made at first use if the user may, and refused if they are not
 * ours. Thread: the session's, when it opens or first uses a cell.
 */
#ifndef HF_BACKEND_MYSQL_SCHEMA_H
#define HF_BACKEND_MYSQL_SCHEMA_H

#include "src/backend/mysql/shape.h"

struct hf__mysql;

struct hf__schema {
    const char *ddl;
    const struct hf__table *tables;
    int n;
};
/* The tables of scheme=table. */
extern const struct hf__schema hf__mysql_tables;
/* The same for several servers: see pair.h. */
extern const struct hf__schema hf__mysql_pair_tables;
/* The table of cells, needed only when one is used. */
extern const struct hf__schema hf__mysql_cell_tables;
/* The DDL of all tables that such a URL may need, for an administrator. */
const char *hf__mysql_schema_ddl(bool has_several_hosts);

/* Make or check the tables. HF_OK; HF_EAUTH: the user may not make them, and
 * err names the DDL; HF_EPROTO: err names the column that is wrong. */
HF_MUST_CHECK int hf__mysql_schema_ready(struct hf__mysql *s,
                                         const struct hf__schema *schema);

/*
 * A table's columns are one list, X(name, kind, size, is it in the key, SQL),
 * for both the statement that makes the table and the check of an existing one.
 */
#define HF__SQL_NUMBER " NOT NULL DEFAULT 0"
#define HF__SQL_WORDS(n)                                                       \
    "VARCHAR(" #n ") CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"                \
    " NOT NULL DEFAULT ''"
#define HF__OWNER_COLUMNS(X)                                                   \
    X(label, HF__KIND_TEXT, 255, false, HF__SQL_WORDS(255))                    \
    X(host, HF__KIND_TEXT, 64, false, HF__SQL_WORDS(64))                       \
    X(pid, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)                 \
    X(thread, HF__KIND_TEXT, 24, false, HF__SQL_WORDS(24))                     \
    X(note, HF__KIND_TEXT, 255, false, HF__SQL_WORDS(255))
#define HF__AS_SQL(name, kind, size, is_key, sql) "  " #name " " sql ",\n"
#define HF__AS_COLUMN(name, kind, size, is_key, sql)                           \
    {#name, kind, size, is_key, sql},
#define HF__SQL_CREATE(table, columns, key)                                    \
    "CREATE TABLE IF NOT EXISTS " table                                        \
    " (\n" columns(HF__AS_SQL) "  PRIMARY KEY (" key ")\n) ENGINE=InnoDB;\n"

#endif
