/* SPDX-License-Identifier: MIT */
/*
 * From a URL to a session on the right server. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_TARGET_H
#define HF_BACKEND_POSTGRES_TARGET_H

#include "src/backend/postgres/postgres.h"

extern const char *const hf__pg_options[];

/* Connect to the host that takes writes and whose timeline is the highest;
 * fills head.server_info and server. Results are those of open() in
 * backend.h. */
HF_MUST_CHECK int hf__pg_target_connect(struct hf__pg *s,
                                        const struct hf__url *url,
                                        const char *allow);

/* HF_OK; HF_EUNAVAIL: this process has met a server of a higher timeline since,
 * so this one is no longer the primary, whatever it answers. Nothing was sent,
 * and the connection is dead. */
HF_MUST_CHECK int hf__pg_target_check(struct hf__pg *s);

/* The highest timeline of that system that this process has met; 0: none. The
 * second call adds `timeline` first (timeline.c). */
uint32_t hf__pg_highest_of(uint64_t system);
uint32_t hf__pg_highest_with(uint64_t system, uint32_t timeline);

/* One server to connect to (connect.c). */
struct hf__pg_target {
    const char *host;    /* as in the URL, or the folder of a unix socket */
    const char *address; /* one of the host's; NULL: host is a folder */
    hf__time answer_by; /* if nothing came by then, the next address is tried */
    int port;
    const char *user;
    const char *password; /* "": none */
    const char *database;
    const char *tls; /* "verify", "require", "off"; NULL: TLS if it has it */
    const char *ca;
    const char *cert;
    const char *key;
    const char *schema; /* NULL: the user's current one */
    const char *shown;  /* where the server is, for messages */
};
/* Try until s->t.deadline. HF_OK, or the session is dead and s->t.err says
 * why. */
HF_MUST_CHECK int hf__pg_connect(struct hf__pg *s,
                                 const struct hf__pg_target *target);

/* Set the session up and look at its server: fills s->server and server_info.
 * HF_EUNAVAIL if it is a standby (settings.c). */
HF_MUST_CHECK int hf__pg_settle(struct hf__pg *s,
                                const struct hf__pg_target *target,
                                const char *allow);

#endif
