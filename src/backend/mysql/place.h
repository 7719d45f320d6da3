/* SPDX-License-Identifier: MIT */
/*
 * Which server, as whom, how: what a mysql: URL says. Thread: any.
 */
#ifndef HF_BACKEND_MYSQL_PLACE_H
#define HF_BACKEND_MYSQL_PLACE_H

#include "src/backend/mysql/wire.h"

extern const char *const hf__mysql_options[];

/* To one of the URL's hosts after the other, until one lets us in or the
 * deadline has come. As hf__wire_connect(), and HF_EINVAL for what the URL
 * lacks. */
HF_MUST_CHECK int hf__mysql_place_connect(struct hf__mysql *s,
                                          const struct hf__url *url,
                                          hf__time deadline);

#endif
