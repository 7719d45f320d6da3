/* SPDX-License-Identifier: MIT */
/*
 * Judging a table by SHOW CREATE TABLE, which sees temporary tables and takes
 * no snapshot on any server, and a lookup by EXPLAIN. A lookup by all columns
 * of a unique index is "const": the server's optimizer takes it before it
 * counts any cost, and reads the row while it does. Where no row is, its words
 * for that are all it says; the locking read that follows decides.
 */
#include "src/rows/mysql/table.h"

#include "src/base/error.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char create[] = "CREATE TABLE ";
static const char engine[] = "ENGINE=";

/* Behind the parenthesis that ends the columns; NULL if there is none. What is
 * in quotes does not count: a comment may say anything. */
static const char *behind_columns(const char *at)
{
    int depth = 0;
    char quote = '\0';

    for (; *at != '\0'; at++) {
        if (quote != '\0') {
            if (*at == '\\' && quote == '\'' && at[1] != '\0') {
                at++;
            } else if (*at == quote) {
                quote = '\0';
            }
        } else if (*at == '`' || *at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '(') {
            depth++;
        } else if (*at == ')' && --depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

static int judge_table(struct hf__rows *s, const char *text)
{
    const char *options;
    const char *name;
    int length = 0;

    if (strncmp(text, create, sizeof create - 1) != 0) {
        return hf__fail(s->call.err, HF_EUNSAFE,
                        "%s is a view or a temporary table: lock the row of a "
                        "table that others see, too",
                        s->call.row.table);
    }
    options = behind_columns(text);
    name = options == NULL ? NULL : strstr(options, engine);
    if (name == NULL) {
        return hf__fail(s->call.err, HF_EUNSAFE,
                        "the server does not say which engine the table %s "
                        "has: take NO_TABLE_OPTIONS out of sql_mode",
                        s->call.row.table);
    }
    name += sizeof engine - 1;
    length = (int)strcspn(name, " \n");
    if (length != 6 || strncasecmp(name, "InnoDB", 6) != 0) {
        return hf__fail(s->call.err, HF_EUNSAFE,
                        "the table %s has the engine %.*s, which can't lock "
                        "one row until a transaction ends: ALTER TABLE … "
                        "ENGINE=InnoDB",
                        s->call.row.table, length, name);
    }
    return HF_OK;
}

int hf__table_check(struct hf__rows *s)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    unsigned error;

    hf__sql_clear(&s->sql);
    hf__sql_addf(&s->sql, "SHOW CREATE TABLE ");
    hf__rows_add_table(s);
    error = hf__rows_send(s, &result);
    if (error != 0) {
        return hf__rows_fail(s, error);
    }
    row = result == NULL ? NULL : mysql_fetch_row(result);
    if (row == NULL || mysql_num_fields(result) < 2 || row[1] == NULL) {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server does not describe the table %s",
                        s->call.row.table);
    }
    return judge_table(s, row[1]);
}

/* The value of that column of the plan, "" if it is NULL or there is none. */
static const char *part(MYSQL_RES *plan, MYSQL_ROW row, const char *name)
{
    MYSQL_FIELD *fields = mysql_fetch_fields(plan);

    for (unsigned i = 0; i < mysql_num_fields(plan); i++) {
        if (strcasecmp(fields[i].name, name) == 0 && row[i] != NULL) {
            return row[i];
        }
    }
    return "";
}

/* In the words of MariaDB and MySQL: after a look into a unique index, or for
 * a value that the column can't have. */
static bool says_no_row(const char *extra)
{
    return strncmp(extra, "Impossible WHERE", 16) == 0 ||
           strcmp(extra, "no matching row in const table") == 0 ||
           strncmp(extra, "No matching rows after partition", 32) == 0;
}

static int judge_plan(struct hf__rows *s, MYSQL_RES *plan, MYSQL_ROW row)
{
    const char *type = part(plan, row, "type");
    const char *key = part(plan, row, "key");
    const char *extra = part(plan, row, "Extra");

    if (*type == '\0' && says_no_row(extra)) {
        return HF_OK;
    }
    if (strcmp(type, "const") == 0 && *key != '\0' &&
        strlen(key) < sizeof s->index) {
        (void)snprintf(s->index, sizeof s->index, "%s", key);
        return HF_OK;
    }
    return hf__fail(
        s->call.err, HF_EUNSAFE,
        "the server would not find the row of %s by a unique index, and would "
        "lock what it reads: give all columns of one, with values of their "
        "types; the plan: type=%s key=%s rows=%s Extra=%s",
        s->call.row.table, *type == '\0' ? "NULL" : type,
        *key == '\0' ? "NULL" : key, part(plan, row, "rows"), extra);
}

int hf__table_explain(struct hf__rows *s, const char *suffix,
                      unsigned *ret_error)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *plan = NULL;
    MYSQL_ROW row;

    s->index[0] = '\0';
    hf__sql_clear(&s->sql);
    hf__sql_addf(&s->sql, "EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM ");
    hf__rows_add_table(s);
    hf__rows_add_key(s);
    hf__sql_addf(&s->sql, "%s", suffix);
    *ret_error = hf__rows_send(s, &plan);
    if (*ret_error != 0) {
        return HF_OK;
    }
    row = plan == NULL ? NULL : mysql_fetch_row(plan);
    if (row == NULL || mysql_num_rows(plan) != 1) {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server does not explain the lookup in %s",
                        s->call.row.table);
    }
    return judge_plan(s, plan, row);
}
