/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a client share: names, the fences it has seen, the count of
 * its cleanups, the time limits of its calls. open.c opens and closes. Called
 * by any thread.
 */
#include "src/core/client.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/utf8.h"
#include "src/core/grant_fsm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- references */

struct hf_client *hf__client_ref(struct hf_client *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void hf__client_unref(struct hf_client *c)
{
    if (atomic_fetch_sub(&c->refs, 1) > 1) {
        return;
    }
    for (int i = 0; i < c->n_main; i++) {
        hf__session_fini(&c->main[i]);
    }
    hf__session_fini(&c->renew);
    hf__timer_thread_fini(&c->timer_thread);
    hf__executor_fini(&c->executor);
    hf__event_queue_fini(&c->events);
    hf__map_fini(&c->name_queues);
    hf__mutex_fini(&c->mutex);
    hf__mutex_fini(&c->break_listener.mutex);
    hf__watchers_fini(&c->watchers);
    hf__free(c->main);
    hf__free(c->seen);
    hf__free(c->allow);
    hf__url_free(c->url);
    hf__free(c);
}

int hf__client_usable(const struct hf_client *c, hf_error *err)
{
    if (c == NULL) {
        return hf__fail(err, HF_EINVAL, "the client is NULL");
    }
    if (c->fork_generation != hf__fork_generation()) {
        return hf__fail(err, HF_EFORK,
                        "the client was opened before fork(): open one in "
                        "the child");
    }
    return HF_OK;
}

hf__time hf__client_close_by(struct hf_client *c)
{
    HF_SCOPED_LOCK(&c->mutex);
    return c->close_by.ns == 0 ? HF__NEVER : c->close_by;
}

/* ---- used by the other parts */

struct hf__session *hf__client_session(struct hf_client *c,
                                       const struct hf__key *key)
{
    uint64_t hash = c->n_main == 1 ? 0 : hf__hash(key->bytes, key->length);

    return &c->main[hash % (uint64_t)c->n_main];
}

int64_t hf__client_lease_ms(struct hf_client *c)
{
    if ((c->settings.caps & HF_CAP_SESSION) == 0) {
        return 0;
    }
    return hf__session_server_info(&c->main[0]).lease_us / 1000;
}

hf__time hf__client_moot_at(const struct hf_client *c, hf__time sent,
                            int64_t lease_ms)
{
    return (c->settings.caps & HF_CAP_SESSION) != 0
               ? HF__NEVER
               : hf__lease_moot_at(sent, lease_ms);
}

hf__time hf__client_limit(const struct hf_client *c)
{
    return hf__after_ms(hf__now(), c->settings.io_timeout_ms);
}

uint64_t hf__client_seen(struct hf_client *c, const struct hf__key *key)
{
    uint64_t hash = hf__hash(key->bytes, key->length);
    struct hf__seen *slot = &c->seen[hash % HF__SEEN_SLOTS];
    HF_SCOPED_LOCK(&c->mutex);

    return slot->hash == hash ? slot->fence : 0;
}

void hf__client_see(struct hf_client *c, const struct hf__key *key,
                    uint64_t fence)
{
    uint64_t hash = hf__hash(key->bytes, key->length);
    struct hf__seen *slot = &c->seen[hash % HF__SEEN_SLOTS];
    HF_SCOPED_LOCK(&c->mutex);

    if (slot->hash != hash || slot->fence < fence) {
        *slot = (struct hf__seen){hash, fence};
    }
}

void hf__client_begin_cleanup(struct hf_client *c)
{
    HF_SCOPED_LOCK(&c->mutex);
    c->unsettled++;
}

void hf__client_end_cleanup(struct hf_client *c)
{
    HF_SCOPED_LOCK(&c->mutex);

    c->unsettled--;
    hf__unpark(&c->settled);
}

/* ---- names */

int hf__name_check(const char *name, hf_error *err)
{
    size_t length = name == NULL ? 0 : strnlen(name, HF_NAME_MAX + 1);

    if (length == 0) {
        return hf__fail(err, HF_EINVAL, "a lock needs a name of 1 to %d bytes",
                        HF_NAME_MAX);
    }
    if (length > HF_NAME_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "the name \"%.*s…\" has more than %d bytes",
                        (int)hf__utf8_cut(name, 40), name, HF_NAME_MAX);
    }
    if (!hf__utf8_is_valid(name, length)) {
        return hf__fail(err, HF_EINVAL, "the name is not UTF-8");
    }
    return HF_OK;
}

void hf__client_key(const struct hf_client *c, const char *name, char *bytes,
                    struct hf__key *ret_key)
{
    size_t prefix = strlen(c->prefix);
    size_t length = strlen(name);

    memcpy(bytes, c->prefix, prefix);
    bytes[prefix] = ':';
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): counted bytes */
    memcpy(bytes + prefix + 1, name, length);
    ret_key->bytes = bytes;
    ret_key->length = (uint16_t)(prefix + 1 + length);
    ret_key->name_at = (uint16_t)(prefix + 1);
}
