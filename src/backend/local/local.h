/* SPDX-License-Identifier: MIT */
/*
 * A session of a store in files of one machine, as far as these stores have it
 * in common: its side file, how it sleeps and hears of breaks, and how it
 * judges the state of grants and tickets. Thread: the session's, except
 * hf__local_interrupt().
 */
#ifndef HF_BACKEND_LOCAL_LOCAL_H
#define HF_BACKEND_LOCAL_LOCAL_H

#include "src/backend/local/side.h"
#include "src/backend/name/engine.h"
#include "src/base/boot.h"

/* The first member of a store's session. */
struct hf__local {
    struct hf__engine_session engine_session;
    struct hf__side *side;
    struct hf__sleep_slot sleep_slot;
    struct hf__breaks_seen heard;
    char boot[HF__BOOT_SIZE]; /* boot id ':' inode of the time namespace */
};

/* The text of HF_EUNSAFE in the engine's rules. */
#define HF__LOCAL_FOREIGN                                                      \
    "the holder runs in another time namespace, or in a container with a "     \
    "boot id of its own, so its lease can't be judged by this one's clock; "   \
    "use the lock in one of the two only"

/* Called first: find out which boot and clock this is. HF_OK, HF_EUNSAFE,
 * HF_EUNAVAIL; HF_EINVAL: the URL has a host, which `whose` ("a SQLite store")
 * does not take, and should look like `form`. */
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

/* ---- state of grants and tickets */

/* What a record says of the times of its last grant. */
struct hf__terms {
    const char *boot; /* as in hf__local; may lack a NUL */
    int64_t expires_us;
    int64_t keep_until_us;
    int64_t keep_us;
    int64_t since_us; /* wall clock */
};

/* Does that boot use the same clock as this one? */
bool hf__local_is_same_clock(const struct hf__local *, const char *boot);
/* Until when the name is kept closed; 0: it is not kept. */
int64_t hf__local_kept_until(const struct hf__local *, const struct hf__terms *,
                             const struct hf__name *);
/* Set the grant's state and the end of its lease; its life and is_detached are
 * set already. */
void hf__local_lease_state(const struct hf__local *, const struct hf__terms *,
                           const struct hf__name *, struct hf__participant *);
/* Set the ticket's state; its life and seen_us are set already. */
void hf__local_ticket_state(const struct hf__local *, int64_t now_us,
                            struct hf__participant *);
/* Copy a text of a record that may have been edited by hand; a text that is not
 * UTF-8 becomes empty. At most from_size bytes are read, and fewer than `size`
 * copied. */
void hf__local_copy_text(char *to, size_t size, const char *from,
                         size_t from_size);
void hf__local_read_owner(const struct hf__owner *from, struct hf__owner *to);

/* ---- what check() says */

struct hf__report;

/* Report "PATH (0600, user 0, group 0)"; a zeroed st: the file is missing. */
void hf__local_tell_file(struct hf__report *, const char *name,
                         const char *path, const struct stat *,
                         const char *remedy);
/* Report the file system of a folder: its kind and its free space. */
struct hf__remedies {
    const char *network;
    const char *memory;
    const char *space;
};
void hf__local_tell_system(struct hf__report *, const struct statfs *,
                           const struct hf__remedies *);

#endif
