/* SPDX-License-Identifier: MIT */
/*
 * The tables: made at first use where that is allowed, refused if they are not
 * ours. Thread: the session's, when it opens.
 */
#ifndef HF_BACKEND_MYSQL_SCHEMA_H
#define HF_BACKEND_MYSQL_SCHEMA_H

#include "src/base/base.h"

struct hf__mysql;

/* HF_OK; HF_EAUTH with the DDL's name; HF_EPROTO naming the column. */
HF_MUST_CHECK int hf__mysql_schema_ready(struct hf__mysql *s);
/* What makes them, for people. */
const char *hf__mysql_schema_ddl(void);

#endif
