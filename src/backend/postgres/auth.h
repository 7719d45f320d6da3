/* SPDX-License-Identifier: MIT */
/*
 * What a server asks of a client before it lets it in, looked at before the
 * library answers. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_AUTH_H
#define HF_BACKEND_POSTGRES_AUTH_H

#include "src/backend/postgres/target.h"

/* What has come, and is not read yet. */
enum hf__pg_asked {
    HF__PG_ASKED_PART,    /* more must come to know it */
    HF__PG_ASKED_NOTHING, /* it refuses, and asks nothing any more */
    HF__PG_ASKED_FIT,
    HF__PG_ASKED_PROOF, /* … for which the password is needed */
    HF__PG_ASKED_CLEAR, /* … as it is */
    HF__PG_ASKED_OTHER, /* Kerberos and the like */
    HF__PG_ASKED_NONE   /* it is no PostgreSQL */
};

/* Before the library reads: the password is put in its place for as long as it
 * may be used. HF_OK; HF_EUNSAFE, HF_EAUTH, HF_EPROTO: it must not answer. */
HF_MUST_CHECK int hf__pg_auth_meet(struct hf__pg *s,
                                   const struct hf__pg_target *t,
                                   enum hf__pg_asked *ret_asked);
/* After it. */
void hf__pg_auth_hide(struct hf__pg *s);

#endif
