/* SPDX-License-Identifier: MIT */
/*
 * The tables. holdfast_lock has one row for each name ever locked, kept for
 * its fence; holdfast_beside has the grants that stand beside others, and
 * holdfast_ticket those who wait in line. Times are microseconds since 1970 by
 * the server's clock. There is no second index: the fewer are locked, the
 * fewer deadlocks. Called by the session's thread when it opens.
 */
#include "src/backend/mysql/schema.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"

/* Whose it is, for people. */
#define OWNER                                                                  \
    " label VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"   \
    "  DEFAULT '',\n"                                                          \
    " host VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"     \
    "  DEFAULT '',\n"                                                          \
    " pid BIGINT NOT NULL DEFAULT 0,\n"                                        \
    " thread VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"   \
    "  DEFAULT '',\n"                                                          \
    " note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"    \
    "  DEFAULT '',\n"

static const char ddl[] =
    "CREATE TABLE IF NOT EXISTS holdfast_lock(\n"
    " name_key VARBINARY(320) NOT NULL,\n"
    " fence BIGINT UNSIGNED NOT NULL DEFAULT 0,\n"
    " token VARBINARY(16) NOT NULL DEFAULT '',\n"
    " freed VARBINARY(16) NOT NULL DEFAULT '',\n"
    " expires BIGINT NOT NULL DEFAULT 0,\n"
    " keep_until BIGINT NOT NULL DEFAULT 0,\n"
    " acquired_at BIGINT NOT NULL DEFAULT 0,\n"
    " changed_at BIGINT NOT NULL DEFAULT 0,\n"
    " broken BIGINT UNSIGNED NOT NULL DEFAULT 0,\n"
    " detached TINYINT NOT NULL DEFAULT 0,\n"
    " crowd TINYINT UNSIGNED NOT NULL DEFAULT 0,\n"
    " revision BIGINT UNSIGNED NOT NULL DEFAULT 0,\n" OWNER
    " PRIMARY KEY(name_key)\n) ENGINE=InnoDB;\n"
    "CREATE TABLE IF NOT EXISTS holdfast_beside(\n"
    " name_key VARBINARY(320) NOT NULL,\n"
    " token VARBINARY(16) NOT NULL,\n"
    " fence BIGINT UNSIGNED NOT NULL,\n"
    " mode TINYINT NOT NULL,\n"
    " slots INT NOT NULL,\n"
    " slot INT NOT NULL,\n"
    " expires BIGINT NOT NULL,\n"
    " acquired_at BIGINT NOT NULL,\n"
    " changed_at BIGINT NOT NULL,\n"
    " detached TINYINT NOT NULL,\n"
    " ended TINYINT NOT NULL DEFAULT 0,\n" OWNER
    " PRIMARY KEY(name_key,token)\n) ENGINE=InnoDB;\n"
    "CREATE TABLE IF NOT EXISTS holdfast_ticket(\n"
    " name_key VARBINARY(320) NOT NULL,\n"
    " seq BIGINT UNSIGNED NOT NULL,\n"
    " token VARBINARY(16) NOT NULL,\n"
    " mode TINYINT NOT NULL,\n"
    " slots INT NOT NULL,\n"
    " since BIGINT NOT NULL,\n"
    " asked BIGINT NOT NULL,\n" OWNER
    " PRIMARY KEY(name_key,seq)\n) ENGINE=InnoDB";

const char *hf__mysql_schema_ddl(void)
{
    return ddl;
}

int hf__mysql_schema_ready(struct hf__mysql *s)
{
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, ddl);
    r = hf__wire_run(s);
    return r == HF_OK && s->reply.error != 0 ? hf__mysql_fail(s, s->err) : r;
}
