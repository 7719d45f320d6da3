/* SPDX-License-Identifier: MIT */
/*
 * What the server's errors mean for a session and for an operation. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_POSTGRES_ERRORS_H
#define HF_BACKEND_POSTGRES_ERRORS_H

#include "src/backend/postgres/postgres.h"

enum hf__pg_error_class {
    HF__PG_AGAIN, /* undone, and may succeed soon: 40P01, 55P03, 53200 … */
    HF__PG_STATEMENT, /* the statement's fault, or that of rows it met */
    HF__PG_SERVER,    /* user, database, disk: any statement fails so */
    HF__PG_SESSION, /* the session can't go on: 57P01, 25006, connection lost */
    HF__PG_UNKNOWN_PREPARED /* 26000 …: it must be prepared again */
};

enum hf__pg_error_class hf__pg_error_class_of(const char *sqlstate);
/* The class of the refusal in s->reply. HF__PG_UNKNOWN_PREPARED may be retried
 * like HF__PG_AGAIN: it was undone, and the next packet prepares and sets all
 * again. */
enum hf__pg_error_class hf__pg_error_class(const struct hf__pg *s);
/* The status of the refusal in s->reply. Unless err is NULL, it gets the
 * server's message and what helps: HF_EUNAVAIL, HF_EAUTH, HF_EINVAL,
 * HF_EPROTO. */
int hf__pg_refusal(const struct hf__pg *s, hf_error *err);
/* s->wire is dead: gives HF_EUNAVAIL, and says why in `err`. */
int hf__pg_dead(struct hf__pg *s, hf_error *err);
/* Copies the server's message, with tokens hidden. */
void hf__pg_words(const struct hf__pg *s, char *to, size_t size);

#endif
