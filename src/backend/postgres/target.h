/* SPDX-License-Identifier: MIT */
/*
 * From a URL to a session on the right server. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_TARGET_H
#define HF_BACKEND_POSTGRES_TARGET_H

#include "src/backend/postgres/postgres.h"

extern const char *const hf__pg_options[];

/* Of several hosts the one that takes writes and whose timeline is the highest;
 * head.facts and server are told. As open() of the contract. */
HF_MUST_CHECK int hf__pg_target_connect(struct hf__pg *s,
                                        const struct hf__url *url,
                                        const char *allow);

/* HF_OK; HF_EUNAVAIL: the process has met one of a higher timeline since, and
 * that server is the primary no more, whatever it answers. Nothing was sent,
 * and nothing can be. */
HF_MUST_CHECK int hf__pg_target_check(struct hf__pg *s);

/* The highest timeline of that system that was met, 0 if none was; the same
 * with this one (timeline.c). */
uint32_t hf__pg_highest_of(uint64_t system);
uint32_t hf__pg_highest_with(uint64_t system, uint32_t timeline);

/* One server to connect to (connect.c). */
struct hf__pg_target {
    const char *host;    /* as in the URL; or the folder of a unix socket */
    const char *address; /* of the host's; NULL: it is a folder */
    hf__time answer_by;  /* by then it has answered at all, or the next one is
                            tried */
    int port;
    const char *user;
    const char *password; /* "": none */
    const char *database;
    const char *tls; /* "verify", "require", "off"; NULL: if the server can */
    const char *ca;
    const char *cert;
    const char *key;
    const char *schema; /* NULL: the user's current one */
    const char *shown;  /* where it is, for people */
};
/* Until s->t.deadline. HF_OK, or the session is dead, s->t.err told. */
HF_MUST_CHECK int hf__pg_connect(struct hf__pg *s,
                                 const struct hf__pg_target *target);

/* Settings of the session, and what its server is: fills s->server, the grade
 * and the place. HF_EUNAVAIL: a standby (settings.c). */
HF_MUST_CHECK int hf__pg_settle(struct hf__pg *s,
                                const struct hf__pg_target *target,
                                const char *allow);

#endif
