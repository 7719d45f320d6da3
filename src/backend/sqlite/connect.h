/* SPDX-License-Identifier: MIT */
/*
 * Connections: opening one, with the tables that it needs, and closing it; and
 * those that a forked child finds in its memory. SQLite keeps, for each file,
 * what the process has locked; in a child those notes are the parent's and
 * wrong ("How To Corrupt", section 2.6). A child that opens the same database
 * must end the inherited connections first, which touches no lock of the
 * parent: POSIX locks belong to a process. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_CONNECT_H
#define HF_BACKEND_SQLITE_CONNECT_H

#include "src/backend/sqlite/sqlite.h"

/*
 * With the open lock held: open s->place's database, which must exist, refuse
 * what is not ours, make the tables if it is empty, set the pragmas. s->db is
 * set early and to be closed also after a failure. Gives HF_OK, HF_EUNAVAIL,
 * HF_EAUTH, HF_EPROTO, HF_EUNSAFE, HF_ENOMEM.
 */
HF_MUST_CHECK int hf__connect_open(struct hf__sqlite *s, hf_error *err);
/* s->db, unless it is NULL, which it is then. */
void hf__connect_close(struct hf__sqlite *s);

/* End inherited connections to this database. HF_OK; HF_EUNSAFE: it can't be
 * done safely, the child must exec first. */
HF_MUST_CHECK int hf__connect_clean(const struct hf__sqlite_dir *sqlite_dir,
                                    const struct hf__file_ids *ids,
                                    hf_error *err);

#endif
