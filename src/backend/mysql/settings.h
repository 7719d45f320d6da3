/* SPDX-License-Identifier: MIT */
/*
 * The settings that every session must have, whatever the server's defaults
 * are, and what the server can do, found by trying and never by a version
 * number. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_SETTINGS_H
#define HF_BACKEND_MYSQL_SETTINGS_H

#include "src/base/base.h"

struct hf__mysql;

/* Variables of the session; from REPLICAS on, statuses of the server; and at
 * the end the number of tables with that name. */
#define HF__VARIABLES(X)                                                       \
    X(VERSION, "version")                                                      \
    X(LOG_BIN, "log_bin")                                                      \
    X(SYNC_BINLOG, "sync_binlog")                                              \
    X(BINLOG_FORMAT, "binlog_format")                                          \
    X(WSREP_ON, "wsrep_on")                                                    \
    X(FLUSH, "innodb_flush_log_at_trx_commit")                                 \
    X(DOUBLEWRITE, "innodb_doublewrite")                                       \
    X(AUTOCOMMIT, "autocommit")                                                \
    X(SQL_MODE, "sql_mode")                                                    \
    X(ISOLATION, "transaction_isolation")                                      \
    X(ISOLATION_OLD, "tx_isolation")                                           \
    X(HOSTNAME, "hostname")                                                    \
    X(PORT, "port")                                                            \
    X(DATADIR, "datadir")                                                      \
    X(SERVER_UUID, "server_uuid")                                              \
    X(READ_ONLY, "read_only")                                                  \
    X(INNODB_READ_ONLY, "innodb_read_only")                                    \
    X(PACKET, "max_allowed_packet")                                            \
    X(MAX_CONNECTIONS, "max_connections")                                      \
    X(REPLICAS, "Slaves_connected")                                            \
    X(SEMI_SYNC, "Rpl_semi_sync_master_status")                                \
    X(SEMI_SYNC_NEW, "Rpl_semi_sync_source_status")                            \
    X(UPTIME, "Uptime")                                                        \
    X(CONNECTED, "Threads_connected")                                          \
    X(HAS_PAIR, "holdfast_server")

#define HF__AS_VARIABLE(variable, name) HF__##variable,
enum hf__variable { HF__VARIABLES(HF__AS_VARIABLE) HF__N_VARIABLES };

/* Their values; "" if the server does not have the variable. */
struct hf__mysql_variables {
    char of[HF__N_VARIABLES][64];
};
/* Read the current values. HF_OK, or a failure with s->t.err set. */
HF_MUST_CHECK int
hf__mysql_ask_variables(struct hf__mysql *s,
                        struct hf__mysql_variables *ret_variables);
bool hf__variable_is(const struct hf__mysql_variables *variables,
                     enum hf__variable variable, const char *value);
/* Does the server wait for a replica before it confirms a grant? */
bool hf__variables_have_semi_sync(const struct hf__mysql_variables *variables);

/* Call after connecting. HF_OK; HF_EUNAVAIL, HF_EPROTO, HF_EAUTH,
 * HF_EUNSAFE. */
HF_MUST_CHECK int hf__mysql_settings_apply(struct hf__mysql *s,
                                           const char *allow);

#endif
