/* SPDX-License-Identifier: MIT */
/*
 * Which server, as whom, how: what a mysql: URL says. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_TARGET_H
#define HF_BACKEND_MYSQL_TARGET_H

#include "src/backend/mysql/wire.h"

extern const char *const hf__mysql_options[];

/* To one of the URL's hosts after the other, until one lets us in and takes
 * our settings, or the deadline has come. Gives what the last one gave:
 * hf__wire_connect(), hf__mysql_settings_apply(); or HF_EINVAL and what
 * hf__secret_read() gives for what is wrong with the URL. */
HF_MUST_CHECK int hf__mysql_target_connect(struct hf__mysql *s,
                                           const struct hf__url *url,
                                           const char *allow,
                                           hf__time deadline);

#endif
