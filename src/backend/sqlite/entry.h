/* SPDX-License-Identifier: MIT */
/*
 * Who is at a name that several hold or wait for, read no further than it
 * matters to one claim, and shown to the rule of crowd.h: may the claim enter;
 * if not, who is in its way; and who may, now that something has changed.
 * Only for names whose record says that there is more of them: all others
 * cost nothing here. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_ENTRY_H
#define HF_BACKEND_SQLITE_ENTRY_H

#include "src/backend/sqlite/line.h"

/* As many that do not count any more are cleaned away at once. */
#define HF__GONE_MAX 64

struct hf__gone {
    struct hf__token token[HF__GONE_MAX];
    int n;
};

/* What one claim finds. */
struct hf__entry_view {
    enum hf__entry entry;
    int slot; /* OPEN: its own, or −1 · MISFIT: how many there are */
    bool is_damaged;
    /* In the way: the grant whose lease ends first, or (fence 0) a ticket. */
    struct hf__row holder;
    struct hf__ticket ticket;
    struct hf__stands stands; /* in the session; until the next view */
    struct hf__gone grants;
    struct hf__gone tickets;
};

/* A claim on the name of a record that was just read. */
struct hf__entrant {
    const struct hf__key *key;
    const struct hf__token *token; /* all zero: of somebody without a ticket */
    struct hf__manner manner;
    bool is_whole; /* read all of the line */
};

/* Look from the claim at those who stand beside and in line. What the name's
 * own record says is the caller's: here it counts as free. SQLITE_OK, or why
 * it could not be read. */
HF_MUST_CHECK int hf__entry_view(struct hf__sqlite *s,
                                 const struct hf__row *name,
                                 const struct hf__entrant *claim,
                                 struct hf__entry_view *ret_view);
/* Delete those who are gone. Tickets only, or grants too: those are kept until
 * a later grant, so that their holders can learn what became of them. */
HF_MUST_CHECK int hf__entry_clean(struct hf__sqlite *s,
                                  const struct hf__key *key,
                                  const struct hf__entry_view *view,
                                  bool with_grants);
/* After all changes of the name: the first in line who may enter now are to
 * be woken after the commit; if none is in line, out says that others are. */
HF_MUST_CHECK int hf__entry_ring(struct hf__sqlite *s,
                                 const struct hf__key *key,
                                 struct hf__outcome *out);

/* What is to be said of a name, whose own record says `record` by now. */
HF_MUST_CHECK int hf__entry_tell(struct hf__sqlite *s,
                                 const struct hf__key *key,
                                 const struct hf__row *name,
                                 struct hf__record *record);
/* All who hold it or wait; crowd begins empty. */
HF_MUST_CHECK int hf__entry_tell_all(struct hf__sqlite *s,
                                     const struct hf__key *key,
                                     const struct hf__row *name,
                                     struct hf__crowd *crowd);

/* At the end of the session. */
void hf__entry_fini(struct hf__sqlite *s);

#endif
