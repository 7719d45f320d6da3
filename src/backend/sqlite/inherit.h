/* SPDX-License-Identifier: MIT */
/*
 * Connections that a forked child finds in its memory. SQLite keeps, for each
 * file, what the process has locked; in a child those notes are the parent's
 * and wrong ("How To Corrupt", section 2.6). A child that opens the same
 * database must end the inherited connections first, which touches no lock of
 * the parent: POSIX locks belong to a process. Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_INHERIT_H
#define HF_BACKEND_SQLITE_INHERIT_H

#include "src/backend/sqlite/sql.h"

/* Enter and leave the list of this process's connections. */
void hf__inherit_add(struct hf__connection *db);
void hf__inherit_remove(struct hf__connection *db);

/* End inherited connections to this database. HF_OK; HF_EUNSAFE: it can't be
 * done safely, the child must exec first. */
HF_MUST_CHECK int hf__inherit_clean(const struct hf__place *place,
                                    const struct hf__file_ids *ids,
                                    hf_error *err);

#endif
