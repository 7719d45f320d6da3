/* SPDX-License-Identifier: MIT */
/*
 * All that the tables have of one name, read by one statement and so of one
 * moment: its record, the grants that stand beside others, the tickets. Here
 * is also who of them counts, and what is told of them; what an operation
 * makes of it is decided elsewhere. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_NAME_H
#define HF_BACKEND_MYSQL_NAME_H

#include "src/backend/crowd.h"
#include "src/backend/mysql/row.h"

/* A row of holdfast_beside. */
struct hf__mysql_grant {
    struct hf__token token;
    uint64_t fence;
    struct hf__manner manner;
    int slot; /* −1: none */
    int64_t expires_in;
    int64_t acquired_at;
    bool is_ended; /* by an operator; its holder is yet to hear */
    bool is_damaged;
    struct hf__owner owner;
};

enum hf__presence {
    HF__IN_LINE,  /* its claim waits */
    HF__PASSED,   /* it did not show itself lately; its place stays */
    HF__LEFT_LINE /* it was gone for long, or is nothing that we wrote: may be
                     deleted */
};

/* A row of holdfast_ticket. */
struct hf__mysql_ticket {
    struct hf__token token;
    uint64_t seq;
    struct hf__manner manner;
    int64_t since;
    int64_t idle_us; /* since its claim last asked */
    enum hf__presence presence;
    struct hf__owner owner;
};

struct hf__mysql_name {
    struct hf__mysql_row row;       /* without its key */
    int64_t now_us;                 /* the server's clock at that moment */
    struct hf__mysql_grant *grants; /* the first to end first */
    int n_grants;
    struct hf__mysql_ticket *tickets; /* in order of arrival */
    int n_tickets;
    struct hf__stand *stands; /* room for all of them */
};

/* Read it. HF_OK, also if the server refused (s->reply.error); HF_ENOMEM; or
 * the session is dead. ret_name is to be ended in any case. */
HF_MUST_CHECK int hf__mysql_name_read(struct hf__mysql *s,
                                      const struct hf__key *key,
                                      struct hf__mysql_name *ret_name);
/* The same of a name that has no record: make that before. */
HF_MUST_CHECK int hf__mysql_name_make(struct hf__mysql *s,
                                      const struct hf__key *key,
                                      struct hf__mysql_name *ret_name);
void hf__mysql_name_fini(struct hf__mysql_name *name);

/* The grant, or the ticket, of that token; NULL: there is none. */
const struct hf__mysql_grant *
hf__mysql_grant_of(const struct hf__mysql_name *name,
                   const struct hf__token *token);
const struct hf__mysql_ticket *
hf__mysql_ticket_of(const struct hf__mysql_name *name,
                    const struct hf__token *token);
/* Its lease runs, and nobody has ended it. */
bool hf__mysql_grant_runs(const struct hf__mysql_grant *grant);
/* As hf__mysql_row_is_held(), of that token. */
bool hf__mysql_name_is_of(const struct hf__mysql_name *name,
                          const struct hf__token *token);

/* All who count, as the token's claim sees them: its own ticket does, however
 * long it was silent. In `name`. */
struct hf__stands hf__mysql_name_stands(const struct hf__mysql_name *name,
                                        const struct hf__token *token);
/* Anything of it that nobody can judge but a person? What the token itself has
 * beside others is not asked. */
bool hf__mysql_name_is_damaged(const struct hf__mysql_name *name,
                               const struct hf__token *token);

/* What is to be said of it; record may be NULL. */
void hf__mysql_name_tell(const struct hf__mysql_name *name,
                         struct hf__record *record);
void hf__mysql_grant_tell(const struct hf__mysql_grant *grant,
                          struct hf__record *record);
/* All who hold it or wait: HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__mysql_name_tell_all(const struct hf__mysql_name *name,
                                          struct hf__crowd *crowd);

#endif
