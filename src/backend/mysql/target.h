/* SPDX-License-Identifier: MIT */
/*
 * Connecting as a mysql: URL says: the server, the user, the options. Thread:
 * the session's.
 */
#ifndef HF_BACKEND_MYSQL_TARGET_H
#define HF_BACKEND_MYSQL_TARGET_H

#include "src/backend/mysql/wire.h"

extern const char *const hf__mysql_options[];

/* Try the URL's hosts one after the other, until one accepts us and our
 * settings, or the deadline has come. Returns the last host's status, from
 * hf__wire_connect() or hf__mysql_settings_apply(); for a faulty URL HF_EINVAL
 * or the status of hf__secret_read(). */
HF_MUST_CHECK int hf__mysql_target_connect(struct hf__mysql *s,
                                           const struct hf__url *url,
                                           const char *allow,
                                           hf__time deadline);

#endif
