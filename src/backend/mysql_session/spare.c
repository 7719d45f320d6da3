/* SPDX-License-Identifier: MIT */
/*
 * Lines without locks: a few are kept for who wants one next, and what nobody
 * uses for a lease, the server ends. Those that are for one lock alone are as
 * many as the URL allows. Called by the fronts' threads.
 */
#include "src/backend/mysql_session/scheme.h"

#include "src/base/error.h"

#define SPARES_MAX 4

static bool is_spare(const struct hf__ul_line *line)
{
    return line->owner == NULL && line->n_locks == 0 && !line->is_busy;
}

static int count_spares(const struct hf__ul_link *link)
{
    int n = 0;

    HF__LIST_EACH (it, &link->lines) {
        n += is_spare(HF__ELEMENT(it, struct hf__ul_line, in_link));
    }
    return n;
}

bool hf__ul_line_is_needless(const struct hf__ul_link *link,
                             const struct hf__ul_line *line)
{
    return line->owner == NULL && line->n_locks == 0 &&
           (line->owes || count_spares(link) >= SPARES_MAX);
}

static struct hf__ul_line *take_spare(struct hf__ul_front *f, bool is_apart)
{
    HF_SCOPED_LOCK(&f->link->mutex);

    HF__LIST_EACH (it, &f->link->lines) {
        struct hf__ul_line *line = HF__ELEMENT(it, struct hf__ul_line, in_link);

        if (is_spare(line) && line->is_apart == is_apart &&
            hf__ul_line_try(f, line)) {
            return line;
        }
    }
    return NULL;
}

/* HF_BUSY: there is none. */
static int find_spare(struct hf__ul_front *f, bool is_apart,
                      struct hf__ul_line **ret_line)
{
    while ((*ret_line = take_spare(f, is_apart)) != NULL) {
        if (hf__wire_look(&f->mysql) == HF_OK) {
            return HF_OK;
        }
        hf__ul_line_give(f, *ret_line); /* the server has closed it */
    }
    return HF_BUSY;
}

int hf__ul_line_new(struct hf__ul_front *f, struct hf__ul_line **ret_line)
{
    int r = find_spare(f, false, ret_line);

    return r == HF_BUSY ? hf__ul_line_connect(f, ret_line) : r;
}

/* ---- for one lock alone */

/* There may be one more. */
static int reserve(struct hf__ul_front *f)
{
    struct hf__ul_link *link = f->link;
    HF_SCOPED_LOCK(&link->mutex);

    if (link->n_apart >= link->apart_most) {
        return hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                        "max_connections: this client has %d connections that "
                        "hold a lock or wait for one, one for each; raise it "
                        "in the URL",
                        link->apart_most);
    }
    link->n_apart++;
    return HF_OK;
}

int hf__ul_line_apart(struct hf__ul_front *f, struct hf__ul_line **ret_line)
{
    int r = find_spare(f, true, ret_line);

    if (r == HF_OK) {
        return r;
    }
    r = reserve(f);
    if (r != HF_OK) {
        return r;
    }
    r = hf__ul_line_connect(f, ret_line);
    if (r != HF_OK) {
        HF_SCOPED_LOCK(&f->link->mutex);
        f->link->n_apart--;
        return r;
    }
    (*ret_line)->is_apart = true;
    r = f->scheme->fit(f);
    if (r != HF_OK) {
        f->mysql.wire.is_dead = true;
        hf__ul_line_give(f, *ret_line);
    }
    return r == HF_EUNKNOWN ? (int)HF_EUNAVAIL : r;
}
