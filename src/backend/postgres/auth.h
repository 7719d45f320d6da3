/* SPDX-License-Identifier: MIT */
/*
 * Reads what a server asks of a client before it lets it in, before libpq reads
 * and answers it. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_AUTH_H
#define HF_BACKEND_POSTGRES_AUTH_H

#include "src/backend/postgres/target.h"

/* What the server's unread bytes ask for; a higher one is worse. */
enum hf__pg_asked {
    HF__PG_ASKED_PART,    /* not known yet: the message is incomplete */
    HF__PG_ASKED_NOTHING, /* the server refuses, and asks for nothing */
    HF__PG_ASKED_FIT,
    HF__PG_ASKED_PROOF, /* a proof, which takes the password */
    HF__PG_ASKED_CLEAR, /* the password in clear text */
    HF__PG_ASKED_OTHER, /* Kerberos and the like */
    HF__PG_ASKED_NONE   /* this is not how PostgreSQL answers */
};

/* Call this before libpq reads. It gives libpq the password if the server may
 * have it now. HF_OK; HF_EUNSAFE, HF_EAUTH, HF_EPROTO: libpq must not
 * answer. */
HF_MUST_CHECK int hf__pg_auth_meet(struct hf__pg *s,
                                   const struct hf__pg_target *t,
                                   enum hf__pg_asked *ret_asked);
/* Call this after libpq has read: takes the password away again. */
void hf__pg_auth_hide(struct hf__pg *s);

#endif
