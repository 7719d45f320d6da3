/* SPDX-License-Identifier: MIT */
/*
 * A session of a store that is kept in files of one machine, as far as those
 * stores have it alike: whose side file it is on, how it sleeps and hears of
 * breaks, and where those stand whose records it reads. Thread: the session's,
 * except hf__local_interrupt().
 */
#ifndef HF_BACKEND_LOCAL_LOCAL_H
#define HF_BACKEND_LOCAL_LOCAL_H

#include "src/backend/local/side.h"
#include "src/backend/name/engine.h"
#include "src/base/boot.h"

/* What a session begins with. */
struct hf__local {
    struct hf__engine_session engine_session;
    struct hf__side *side;
    struct hf__sleep_slot sleep_slot;
    struct hf__breaks_seen heard;
    char boot[HF__BOOT_SIZE]; /* boot id ':' inode of the time namespace */
};

/* HF_EUNSAFE for the engine's rules. */
#define HF__LOCAL_FOREIGN                                                      \
    "the holder runs in another time namespace, or in a container with a "     \
    "boot id of its own, so its lease can't be judged by this one's clock; "   \
    "use the lock in one of the two only"

/* Find out which clock this is, before anything else: HF_OK, HF_EUNSAFE,
 * HF_EUNAVAIL; HF_EINVAL: the URL has a host, which "a SQLite store" has not,
 * but looks as `form`. */
HF_MUST_CHECK int hf__local_begin(struct hf__local *, const struct hf__url *,
                                  const char *whose, const char *form,
                                  hf_error *);

/* Must the running call end? */
static inline bool hf__local_is_over(struct hf__local *s)
{
    return hf__is_interrupted(&s->engine_session.head) ||
           !hf__before(hf__now(), s->engine_session.deadline);
}

/* ---- calls of backend.h; see also hf__engine_session_list() */

int hf__local_wait(void *s, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *);
int hf__local_listen(void *s, hf__broken_fn, void *arg, hf__time deadline,
                     hf_error *);
void hf__local_interrupt(void *s);
int hf__local_lock_fds(void *s, int *fds, int max);

/* ---- primitives of the engine */

void hf__local_show(void *s, const struct hf__participant *);
void hf__local_let_in(void *s, const struct hf__watch *);
unsigned hf__local_seen(void *s, struct hf__watch *w[], int n);
void hf__local_park(void *s, struct hf__watch *w[], int n, unsigned seen,
                    hf__time until);

/* ---- judging */

/* What a record says of its last grant's time. */
struct hf__terms {
    const char *boot; /* as in hf__local; perhaps without a NUL */
    int64_t expires_us;
    int64_t keep_until_us;
    int64_t keep_us;
    int64_t since_us; /* wall clock */
};

/* That boot's clock is ours. */
bool hf__local_is_same_clock(const struct hf__local *, const char *boot);
/* Until when the name is kept closed; 0: it is not. */
int64_t hf__local_kept_until(const struct hf__local *, const struct hf__terms *,
                             const struct hf__name *);
/* Where the grant stands, whose life is set and is_detached, and when it
 * ends. */
void hf__local_lease_state(const struct hf__local *, const struct hf__terms *,
                           const struct hf__name *, struct hf__participant *);
/* Where the ticket stands, whose life and seen_us are set. */
void hf__local_ticket_state(const struct hf__local *, int64_t now_us,
                            struct hf__participant *);
/* A text of a record that may have been edited by hand: what is not UTF-8 is
 * dropped. At most from_size bytes, less than size, are looked at. */
void hf__local_copy_text(char *to, size_t size, const char *from,
                         size_t from_size);
void hf__local_read_owner(const struct hf__owner *from, struct hf__owner *to);

/* ---- what check() says */

struct hf__report;

/* "PATH (0600, user 0, group 0)"; st NULL: it is not there. */
void hf__local_tell_file(struct hf__report *, const char *name,
                         const char *path, const struct stat *,
                         const char *remedy);
/* Of a folder's: its kind and how much room there is. */
struct hf__remedies {
    const char *network;
    const char *memory;
    const char *space;
};
void hf__local_tell_system(struct hf__report *, const struct statfs *,
                           const struct hf__remedies *);

#endif
