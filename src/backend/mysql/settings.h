/* SPDX-License-Identifier: MIT */
/*
 * How a session must be, whatever the server's defaults are, and what the
 * server can do, found by trying and never by a version number. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_MYSQL_SETTINGS_H
#define HF_BACKEND_MYSQL_SETTINGS_H

#include "src/base/base.h"

struct hf__mysql;

/* After connecting. HF_OK; HF_EUNAVAIL, HF_EPROTO, HF_EAUTH, HF_EUNSAFE. */
HF_MUST_CHECK int hf__mysql_settings_apply(struct hf__mysql *s,
                                           const char *allow);

#endif
