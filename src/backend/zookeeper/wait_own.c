/* SPDX-License-Identifier: MIT */
/*
 * Who waits in line watches its own place, too: if somebody takes that away, it
 * has to stand in line anew, and not only when who is before it has gone. A
 * watch that was not set, for want of room or of an answer, is no harm: it is
 * set when it looks the next time. Room is for whom those wait for before that.
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/waits.h"

/* It is in line, and its place is not watched. */
static bool find_place(struct hf__zk *s, const struct hf__zk_wait *w,
                       struct hf__zk_own *own)
{
    struct hf__op op = {.key = w->wish.key, .token = w->wish.ticket};

    return w->is_armed && !w->has_fired &&
           !hf__token_is_zero(&w->wish.ticket) &&
           (w->own_watch == NULL || !hf__zk_watch_is_set(w->own_watch)) &&
           hf__zk_own_find(hf__zk_common(&s->front), &op, own) &&
           own->name[0] != '\0';
}

/* A claim has no children: this fires when it goes, and not when it is written
 * to. False: there is nothing to send, or no memory for it. */
static bool ask(struct hf__zk *s, struct hf__zk_wait *w,
                struct hf__zk_calls *calls, int i)
{
    struct hf__zk_own own;
    char folder[HF__ZK_FOLDER_MAX];
    char path[HF__ZK_PATH_MAX];

    if (!find_place(s, w, &own)) {
        return false;
    }
    (void)hf__zk_name_path(s->place.chroot, &w->wish.key, folder);
    hf__zk_child_path(folder, own.name, path);
    hf__zk_watch_drop(w->own_watch); /* one that has fired says so for ever */
    w->own_watch = hf__zk_watch_size(path) <= hf__zk_watch_spare(&s->front)
                       ? hf__zk_watch_new(&s->front)
                       : NULL;
    if (w->own_watch == NULL) {
        return false;
    }
    hf__zk_children(calls, i, path, w->own_watch);
    return true;
}

int hf__zk_watch_places(struct hf__zk *s, struct hf__zk_wait *waits[], int n,
                        hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->front, n);
    int n_asked = 0;
    int r = HF_OK;

    if (calls == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < n; i++) {
        n_asked += ask(s, waits[i], calls, i);
    }
    r = n_asked == 0 ? r : hf__zk_await(calls, deadline, err);
    for (int i = 0; r >= 0 && n_asked > 0 && i < n; i++) {
        if (hf__zk_answer(calls, i)->rc == ZNONODE) {
            waits[i]->is_armed = false; /* it looks again */
        }
    }
    return r;
}
