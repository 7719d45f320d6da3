/* SPDX-License-Identifier: MIT */
/*
 * The tables: made at first use where that is allowed, refused if they are not
 * ours. Thread: the session's, when it opens, or first has to do with a cell.
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
/* Of scheme=table. */
extern const struct hf__schema hf__mysql_tables;
/* The same, of several servers: see pair.h. */
extern const struct hf__schema hf__mysql_pair_tables;
/* Of cells: asked for when there is something to do with one. */
extern const struct hf__schema hf__mysql_cell_tables;
/* All tables that such a URL may need, for who is to make them. */
const char *hf__mysql_schema_ddl(bool has_several_hosts);

/* HF_OK; HF_EAUTH with the DDL's name; HF_EPROTO naming the column. */
HF_MUST_CHECK int hf__mysql_schema_ready(struct hf__mysql *s,
                                         const struct hf__schema *schema);

/*
 * A table's columns are one list, X(name, kind, size, is it of the key, SQL),
 * from which both the statement that makes it and the look at one that is
 * there follow.
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
