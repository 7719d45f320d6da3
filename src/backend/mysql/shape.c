/* SPDX-License-Identifier: MIT */
/*
 * Checking that an existing table is one of ours, by the metadata of a query
 * that returns no row. A harmful difference is refused, with its name. Called
 * by the session's thread when it opens.
 */
#include "src/backend/mysql/shape.h"

#include "src/backend/mysql/mysql.h"
#include "src/base/error.h"

#include <stdio.h>
#include <string.h>

const char *const hf__mysql_labels[HF__MYSQL_LABELS] = {"label", "host",
                                                        "thread", "note"};

/* The server's number of the character set "binary". */
#define CHARSET_BINARY 63
/* Bytes of a character in the lengths that the server reports: utf8mb4. */
#define LETTER_BYTES 4

#define REMEDY "\"holdfast check --ddl\" prints what it must be"

static int refuse(struct hf__mysql *s, const struct hf__table *t,
                  const char *column, const char *why)
{
    return hf__fail(s->t.err, HF_EPROTO,
                    "table %s is not as Holdfast makes it: %s %s; " REMEDY,
                    t->name, column, why);
}

static const char *type_of(const MYSQL_FIELD *f)
{
    bool is_binary = f->charsetnr == CHARSET_BINARY;

    switch ((int)f->type) {
    case MYSQL_TYPE_TINY:
        return "TINYINT";
    case MYSQL_TYPE_SHORT:
        return "SMALLINT";
    case MYSQL_TYPE_INT24:
        return "MEDIUMINT";
    case MYSQL_TYPE_LONG:
        return "INT";
    case MYSQL_TYPE_LONGLONG:
        return "BIGINT";
    case MYSQL_TYPE_TIMESTAMP:
        return "TIMESTAMP";
    case MYSQL_TYPE_DATETIME:
        return "DATETIME";
    case MYSQL_TYPE_VAR_STRING:
        return is_binary ? "VARBINARY" : "VARCHAR";
    case MYSQL_TYPE_STRING:
        return is_binary ? "BINARY" : "CHAR";
    case MYSQL_TYPE_BLOB:
        return is_binary ? "BLOB" : "TEXT";
    default:
        return "of another type";
    }
}

/* 0: the type is no whole number. */
static unsigned bytes_of_number(const MYSQL_FIELD *f)
{
    switch ((int)f->type) {
    case MYSQL_TYPE_TINY:
        return 1;
    case MYSQL_TYPE_SHORT:
        return 2;
    case MYSQL_TYPE_INT24:
        return 3;
    case MYSQL_TYPE_LONG:
        return 4;
    case MYSQL_TYPE_LONGLONG:
        return 8;
    default:
        return 0;
    }
}

static bool is_unsigned(const MYSQL_FIELD *f)
{
    return (f->flags & UNSIGNED_FLAG) != 0;
}

/* A larger type than needed does no harm. */
static bool has_type(const MYSQL_FIELD *f, const struct hf__column *c)
{
    bool is_binary = f->charsetnr == CHARSET_BINARY;

    switch (c->kind) {
    case HF__KIND_BYTES:
        return f->type == MYSQL_TYPE_VAR_STRING && is_binary &&
               f->length >= c->size;
    case HF__KIND_TEXT:
        return f->type == MYSQL_TYPE_VAR_STRING && !is_binary &&
               f->length >= LETTER_BYTES * (unsigned long)c->size;
    case HF__KIND_SIGNED:
        return bytes_of_number(f) >= c->size && !is_unsigned(f);
    case HF__KIND_UNSIGNED:
        return bytes_of_number(f) >= c->size && is_unsigned(f);
    case HF__KIND_VALUE:
        return f->type == MYSQL_TYPE_BLOB && is_binary && f->length >= c->size;
    }
    return false;
}

/* Describe the column's type for people. */
static void describe(const struct hf__column *c, const MYSQL_FIELD *f, char *to,
                     size_t size)
{
    if (f->type == MYSQL_TYPE_VAR_STRING || f->type == MYSQL_TYPE_STRING ||
        f->type == MYSQL_TYPE_BLOB) {
        (void)snprintf(to, size, "%s(%lu)", type_of(f),
                       c->kind == HF__KIND_TEXT ? f->length / LETTER_BYTES
                                                : f->length);
    } else {
        (void)snprintf(to, size, "%s%s", type_of(f),
                       bytes_of_number(f) != 0 && is_unsigned(f) ? " UNSIGNED"
                                                                 : "");
    }
}

static int check_column(struct hf__mysql *s, const struct hf__table *t,
                        const struct hf__column *c, const MYSQL_FIELD *f)
{
    char found[64];
    char why[256];

    if (!has_type(f, c)) {
        describe(c, f, found, sizeof found);
        (void)snprintf(why, sizeof why, "is %s, and must be %s", found, c->sql);
        return refuse(s, t, c->name, why);
    }
    if (((f->flags & NOT_NULL_FLAG) == 0) != (c->kind == HF__KIND_VALUE) ||
        (!c->is_key && (f->flags & NO_DEFAULT_VALUE_FLAG) != 0)) {
        (void)snprintf(why, sizeof why, "must be %s", c->sql);
        return refuse(s, t, c->name, why);
    }
    if (((f->flags & PRI_KEY_FLAG) != 0) != c->is_key) {
        (void)snprintf(why, sizeof why,
                       "is %s the primary key, which must be (%s)",
                       c->is_key ? "not part of" : "part of", t->key);
        return refuse(s, t, c->name, why);
    }
    return HF_OK;
}

static const MYSQL_FIELD *find(struct hf__mysql *s, const char *name)
{
    const MYSQL_FIELD *fields = mysql_fetch_fields(s->reply.rows);
    unsigned n = mysql_num_fields(s->reply.rows);

    for (unsigned i = 0; i < n; i++) {
        if (strcasecmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

/* Additional columns are allowed if an INSERT need not set them. */
static int check_stranger(struct hf__mysql *s, const struct hf__table *t,
                          const MYSQL_FIELD *f)
{
    for (int i = 0; i < t->n; i++) {
        if (strcasecmp(t->columns[i].name, f->name) == 0) {
            return HF_OK;
        }
    }
    if ((f->flags & (PRI_KEY_FLAG | NO_DEFAULT_VALUE_FLAG)) != 0) {
        return refuse(s, t, f->name,
                      "is not ours, and must have a default and no place in "
                      "the primary key");
    }
    return HF_OK;
}

int hf__mysql_shape_columns(struct hf__mysql *s, const struct hf__table *t)
{
    int r = HF_OK;

    if (s->reply.rows == NULL) {
        return refuse(s, t, "it", "can't be read");
    }
    for (int i = 0; i < t->n && r == HF_OK; i++) {
        const MYSQL_FIELD *f = find(s, t->columns[i].name);

        r = f == NULL ? refuse(s, t, t->columns[i].name, "is missing")
                      : check_column(s, t, &t->columns[i], f);
    }
    for (unsigned i = 0; r == HF_OK && i < mysql_num_fields(s->reply.rows);
         i++) {
        r = check_stranger(s, t, &mysql_fetch_fields(s->reply.rows)[i]);
    }
    return r;
}

/* Check the character set of each label. */
int hf__mysql_shape_letters(struct hf__mysql *s, const struct hf__table *t)
{
    MYSQL_ROW row = hf__wire_row(s);

    for (int i = 0; row != NULL && i < HF__MYSQL_LABELS; i++) {
        char why[96];

        if (row[i] != NULL && strcmp(row[i], "utf8mb4") != 0) {
            (void)snprintf(why, sizeof why,
                           "is of character set %s, and must be of utf8mb4",
                           row[i]);
            return refuse(s, t, hf__mysql_labels[i], why);
        }
    }
    return HF_OK;
}

static int check_engine(struct hf__mysql *s, const struct hf__table *t,
                        char *const *row)
{
    char why[160];

    if (row[1] == NULL || strcasecmp(row[1], "InnoDB") != 0) {
        (void)snprintf(why, sizeof why, "is %s, and must be InnoDB",
                       row[1] == NULL ? "none (a view?)" : row[1]);
        return refuse(s, t, "its engine", why);
    }
    if (row[2] != NULL) {
        (void)snprintf(why, sizeof why,
                       "%s keeps out rows that differ: the primary key must "
                       "be (%s), whole, and no other index unique",
                       row[2], t->key);
        return refuse(s, t, "its index", why);
    }
    return HF_OK;
}

/* Each row: a table's name, its engine, and an index that could mix up the rows
 * of different names. */
int hf__mysql_shape_engines(struct hf__mysql *s, const struct hf__table *tables,
                            int n)
{
    MYSQL_ROW row;
    int r = HF_OK;

    while (r == HF_OK && (row = hf__wire_row(s)) != NULL) {
        for (int i = 0; i < n && r == HF_OK; i++) {
            if (strcmp(row[0], tables[i].name) == 0) {
                r = check_engine(s, &tables[i], row);
            }
        }
    }
    return r;
}
