/* SPDX-License-Identifier: MIT */
/*
 * What the server's refusals mean for us. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_ERRORS_H
#define HF_BACKEND_POSTGRES_ERRORS_H

#include "src/backend/postgres/postgres.h"

enum hf__pg_error_class {
    HF__PG_AGAIN, /* undone, and may go well soon: 40P01, 55P03, 53200 … */
    HF__PG_STATEMENT, /* it, or what it met */
    HF__PG_SERVER,    /* user, database, disk: the same for any statement */
    HF__PG_SESSION,   /* it can't go on: 57P01, 25006, the connection */
    HF__PG_UNKNOWN_PREPARED /* 26000: forgotten, to be prepared anew */
};

enum hf__pg_error_class hf__pg_error_class_of(const char *sqlstate);
/* Of the refusal in s->reply. What blames the statement for what was prepared
 * is undone like what may go well soon: the next one is given all anew. */
enum hf__pg_error_class hf__pg_error_class(const struct hf__pg *s);
/* Its status, with its text, where err is not NULL, in the server's words and
 * with the remedy: HF_EUNAVAIL HF_EAUTH HF_EPROTO HF_EUNSAFE HF_ENOMEM. */
int hf__pg_refusal(const struct hf__pg *s, hf_error *err);
/* s->wire is dead: HF_EUNAVAIL, with its text in `err`. */
int hf__pg_dead(struct hf__pg *s, hf_error *err);
/* The server's words, tokens hidden. */
void hf__pg_words(const struct hf__pg *s, char *to, size_t size);

#endif
