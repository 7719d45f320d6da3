/* SPDX-License-Identifier: MIT */
/*
 * What the statements of a call stand between. A statement that fails ends the
 * transaction for all that comes later, so in the caller's there is a savepoint
 * before; outside of one, a transaction of our own. No lock is waited for
 * longer than is said. Thread: the caller's.
 */
#ifndef HF_ROWS_POSTGRES_BRACKET_H
#define HF_ROWS_POSTGRES_BRACKET_H

#include "src/rows/postgres/ask.h"

/* wait_ms: 0 is the shortest time that there is; HF_FOREVER, in the caller's
 * alone: as the session says. To be closed whatever it gives. */
HF_MUST_CHECK int hf__bracket_open(struct hf__pg *, int64_t wait_ms);
/* Keeps what was done if r is HF_OK or HF_ROW_DECLINED, else takes it back, and
 * says what became of the transaction: info.in_transaction. After HF_DEADLOCK
 * it stays as it is, failed: what it had locked before is what others wait for.
 * Gives r, or the failure to keep. */
HF_MUST_CHECK int hf__bracket_close(struct hf__pg *, int r);

#endif
