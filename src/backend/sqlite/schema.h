/* SPDX-License-Identifier: MIT */
/*
 * What is in the database: whose it is, in which version, and its tables.
 * Nothing is written to a file that is not ours. Thread: the session's,
 * behind the door.
 */
#ifndef HF_BACKEND_SQLITE_SCHEMA_H
#define HF_BACKEND_SQLITE_SCHEMA_H

#include "src/base/base.h"

struct hf__sqlite;

/* Is the opened file empty or ours? Reads only. HF_OK, HF_EPROTO, or as
 * hf__sql_status(). */
HF_MUST_CHECK int hf__schema_identify(struct hf__sqlite *s, hf_error *err);
/* WAL mode, and the tables if there are none. Same results. */
HF_MUST_CHECK int hf__schema_prepare(struct hf__sqlite *s, hf_error *err);

#endif
