/* SPDX-License-Identifier: MIT */
/*
 * What a transaction does beside the database: grants that this process
 * remembers, sleepers to be woken, holders to be told of a break. Noted while
 * it runs; done once the commit is answered, or undone. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_DEEDS_H
#define HF_BACKEND_SQLITE_DEEDS_H

#include "src/backend/backend.h"

struct hf__sqlite;

enum hf__deed_kind {
    HF__DEED_HELD,   /* the grant was remembered; undone: it is forgotten */
    HF__DEED_LET_GO, /* it is to be forgotten */
    HF__DEED_EXTEND, /* its lease ends later */
    HF__DEED_BROKEN, /* its holder is to hear of it */
    HF__DEED_RING,   /* the claim of that ticket may enter */
    HF__DEED_FREED,  /* somebody who sleeps on the name may enter */
    HF__DEED_OPENED, /* all who sleep there may */
    HF__DEED_TAKEN   /* nobody may; in order to claim, or not */
};

struct hf__deed {
    enum hf__deed_kind kind;
    struct hf__token token;
    const struct hf__op *op; /* of FREED, OPENED, TAKEN */
    int64_t ends_us;         /* of EXTEND */
    uint64_t life;           /* of BROKEN: its process's; 0: unknown */
};

struct hf__deeds {
    struct hf__deed *list;
    int n;
    int room;
};

/* SQLITE_OK or SQLITE_NOMEM. */
HF_MUST_CHECK int hf__deeds_note(struct hf__sqlite *s, const struct hf__deed *);
/* All of them, and none is left. */
void hf__deeds_do(struct hf__sqlite *s);
void hf__deeds_undo(struct hf__sqlite *s);
/* At the end of the session. */
void hf__deeds_fini(struct hf__sqlite *s);

#endif
