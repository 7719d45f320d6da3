/* SPDX-License-Identifier: MIT */
/*
 * The calls of backend.h for a session that adds nothing to the engine's.
 * Called as backend.h says.
 */
#include "src/backend/name/engine.h"

/* Begin a call; gives its primitives. */
static const struct hf__primitives *begin(struct hf__engine_session *s,
                                          hf__time deadline)
{
    s->deadline = deadline;
    return s->primitives;
}

static int look_around(struct hf__engine_session *s, hf_error *err)
{
    return s->primitives->look_around == NULL
               ? HF_OK
               : s->primitives->look_around(s, err);
}

int hf__engine_session_execute(void *s, struct hf__op *ops[], int n,
                               hf__time deadline, hf_error *err)
{
    (void)err;
    return hf__engine_execute(begin(s, deadline), s, ops, n, deadline);
}

int hf__engine_session_wait(void *s, struct hf__watch *w[], int n,
                            hf__time deadline, hf_error *err)
{
    return hf__engine_wait(begin(s, deadline), s, w, n, deadline, err);
}

int hf__engine_session_list(void *s, const struct hf__key *prefix,
                            hf__list_fn fn, void *arg, hf__time deadline,
                            hf_error *err)
{
    const struct hf__primitives *p = begin(s, deadline);
    int r = look_around(s, err);

    return r == HF_OK ? hf__engine_list(p, s, prefix, fn, arg, err) : r;
}

int hf__engine_session_gc(void *s, const struct hf__key *prefix,
                          struct hf__gc *g, hf__time deadline, hf_error *err)
{
    const struct hf__primitives *p = begin(s, deadline);
    int r = look_around(s, err);

    return r == HF_OK ? hf__engine_gc(p, s, prefix, g, err) : r;
}
