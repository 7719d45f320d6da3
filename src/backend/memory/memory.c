/* SPDX-License-Identifier: MIT */
/*
 * memory:NAME, the store with nothing around the engine. It serves tests, and
 * programs whose locks need not reach beyond their own process. One mutex
 * guards everything, so a batch is one atomic step that cannot fail halfway: no
 * result is ever HF_EUNKNOWN. The records are kept in store.c.
 */
#include "src/backend/memory/store.h"
#include "src/backend/registry.h"
#include "src/backend/report.h"

#include "src/base/error.h"

/* ---- calls */

static int memory_check(void *s, hf__check_fn fn, void *arg, hf__time deadline,
                        hf_error *err)
{
    struct hf__report to = {.fn = fn, .arg = arg};

    (void)s;
    (void)deadline;
    (void)err;
    hf__report_say(&to, "durability", "none (memory)",
                   "the locks end with this process; use sqlite:PATH for locks "
                   "between processes");
    return HF_OK;
}

static int memory_listen(void *state, hf__broken_fn fn, void *arg,
                         hf__time deadline, hf_error *err)
{
    struct hf__mem_session *s = state;
    struct hf__listening l = {
        &s->store->words,        0,        HF__MEM_LIFE, &s->sleep_slot,
        &s->engine_session.head, &s->heard};

    (void)err;
    hf__breaks_listen(&l, fn, arg, deadline);
    return HF_OK;
}

static int memory_gc(void *state, const struct hf__key *prefix,
                     struct hf__gc *g, hf__time deadline, hf_error *err)
{
    struct hf__mem_session *s = state;

    if (!g->of_cells) {
        return hf__engine_session_gc(s, prefix, g, deadline, err);
    }
    hf__mem_clean_cells(s->store, prefix, g);
    return HF_OK;
}

static void memory_interrupt(void *state)
{
    struct hf__mem_session *s = state;

    hf__sleep_slot_end(&s->sleep_slot);
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    if (s->store != NULL) {
        hf__unpark(&s->store->changed);
    }
}

/* ---- sessions */

static int memory_open(void *state, const struct hf__url *url,
                       const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__mem_session *s = state;

    (void)allow;
    (void)deadline;
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    s->engine_session.primitives = &hf__mem_primitives;
    hf__mem_sweep();
    s->store = hf__mem_store(url->path);
    if (s->store == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a store");
    }
    s->store->sessions++;
    s->engine_session.head.server_info =
        (struct hf__server_info){.grade = 'D', .reach = HF_REACH_PROCESS};
    return hf__mem_begin_life(s, url, err);
}

static void memory_close(void *state)
{
    struct hf__mem_session *s = state;

    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    if (s->store != NULL) {
        if (s->life != NULL) {
            s->life->sessions--;
            s->life->until = hf__after_ms(hf__now(), s->life->timeout_ms);
            s->life = NULL;
        }
        hf__unpark(&s->store->changed); /* waiters learn when its life ends */
        s->store->sessions--;
        s->store = NULL;
        hf__mem_sweep();
    }
}

static const char *const options[] = {"session_timeout", NULL};

#define CAPS                                                                   \
    (HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |              \
     HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_FAIR | HF_CAP_SHARED |               \
     HF_CAP_SLOTS | HF_CAP_PUSH | HF_CAP_CELLS)

/* With session_timeout the store is like a server that has sessions. A grant
 * then cannot outlive its client, go to another token, or keep the name closed
 * after it, and every waiter has a ticket in the queue. */
static unsigned memory_caps(const struct hf__url *url)
{
    if (hf__url_option(url, "session_timeout") == NULL) {
        return CAPS;
    }
    return (CAPS & ~(HF_CAP_HANDOVER | HF_CAP_KEEP | HF_CAP_DETACH)) |
           HF_CAP_SESSION | HF__CAP_QUEUES;
}

const struct hf__backend hf__memory_backend = {
    .scheme = "memory",
    .caps = CAPS,
    .caps_of = memory_caps,
    .size = sizeof(struct hf__mem_session),
    .options = options,
    .has_no_sigpipe = true,
    .open = memory_open,
    .close = memory_close,
    .execute = hf__engine_session_execute,
    .wait = hf__engine_session_wait,
    .listen = memory_listen,
    .list = hf__engine_session_list,
    .gc = memory_gc,
    .cell = hf__mem_cell,
    .check = memory_check,
    .interrupt = memory_interrupt,
};
