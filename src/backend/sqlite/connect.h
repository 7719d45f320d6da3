/* SPDX-License-Identifier: MIT */
/*
 * Connections: opening one, together with the tables that it needs; closing it;
 * and ending those that a fork copied into a child. SQLite keeps notes, for
 * each file, of what the process has locked. In a child these notes describe
 * the parent's locks and are wrong ("How To Corrupt", section 2.6). So a child
 * that opens the same database must end the inherited connections first. That
 * touches no lock of the parent, for POSIX locks belong to a process. Thread:
 * the session's.
 */
#ifndef HF_BACKEND_SQLITE_CONNECT_H
#define HF_BACKEND_SQLITE_CONNECT_H

#include "src/backend/sqlite/sqlite.h"

/*
 * With the open lock held: open the database of s->sqlite_dir, which must
 * exist, refuse one that is not ours, create the tables if it is empty, and set
 * the pragmas. s->db is set early, and the caller must close it after a failure
 * too. Gives HF_OK, HF_EUNAVAIL, HF_EAUTH, HF_EPROTO, HF_EUNSAFE, HF_ENOMEM.
 */
HF_MUST_CHECK int hf__connect_open(struct hf__sqlite *s, hf_error *err);
/* Close s->db and set it to NULL; does nothing if it is NULL already. */
void hf__connect_close(struct hf__sqlite *s);

/* End the connections to this database that a fork copied. HF_OK, or HF_EUNSAFE
 * if that cannot be done safely: the child must exec first. */
HF_MUST_CHECK int hf__connect_clean(const struct hf__sqlite_dir *sqlite_dir,
                                    const struct hf__file_ids *ids,
                                    hf_error *err);

#endif
