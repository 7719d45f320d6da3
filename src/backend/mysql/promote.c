/* SPDX-License-Identifier: MIT */
/*
 * Making a server the primary that became writable, or was unused for long: it
 * gets an epoch above all that can be seen, the others are asked for grants
 * that it lacks, and it takes over their locks. Many clients may do so at once,
 * and any may stop at any point: each step is one statement or one transaction,
 * and the next client goes on from there. Called by the session's thread when
 * it opens.
 */
#include "src/backend/mysql/pair.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/backend/mysql/row.h"
#include "src/backend/mysql/target.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <inttypes.h>

/* The others have this time to show that ours has all their grants; later
 * counts as never. */
#define PROOF_MS 2000

/* If several clients do this at once, one writes and the rest find its
 * epoch. */
static int write_epoch(struct hf__mysql *s, const struct hf__view *old,
                       uint64_t top)
{
    static const char *const columns[] = {"shown_at", "grants_from", "longest",
                                          "is_settled", "epoch"};
    int64_t longest_us = s->pair.longest_ms * 1000;
    unsigned char mark[16];

    hf__random(mark, sizeof mark);
    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "INSERT INTO holdfast_server(server_id,epoch,shown_at,"
                  "grants_from,longest,mark) VALUES(@@server_id,"
                  "GREATEST(%" PRIu64 "," HF__SQL_NOW ")," HF__SQL_NOW
                  ",GREATEST(%" PRId64 "," HF__SQL_NOW ")+GREATEST(%" PRId64
                  ",%" PRId64 "),%" PRId64 ",",
                  top + 1, old->others_shown_at, longest_us,
                  old->longest_of_all_us, longest_us);
    hf__text_hex(&s->sql, mark, sizeof mark);
    hf__text_addf(&s->sql,
                  ") ON DUPLICATE KEY UPDATE prior=IF(epoch=%" PRIu64
                  " AND is_settled=1,epoch,prior)",
                  old->epoch);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        hf__text_addf(&s->sql, ",%s=IF(epoch=%" PRIu64 ",VALUES(%s),%s)",
                      columns[i], old->epoch, columns[i], columns[i]);
    }
    return hf__mysql_run(s);
}

/* All of the URL's hosts except the one that we are connected to. */
struct others {
    const struct hf__url *url;
    const struct hf__wire_target *target;
    struct hf__peer list[HF__PEERS_MAX];
    int n;
};

static int look_at(struct hf__mysql *s, struct others *o, size_t host,
                   const struct hf__view *ours, hf__time until,
                   struct hf__peer *peer)
{
    struct hf__wire_target target = *o->target;
    char shown[HF__SHOWN];
    int r;

    hf__wire_target_host(&target, &o->url->hosts[host], shown);
    *peer = (struct hf__peer){0};
    /* It could not be reached just now, so do not wait for it again. */
    r = (s->pair.unreached >> host & 1) != 0
            ? HF_OK
            : hf__peer_look(s, &target, ours, until, peer);
    if (r == HF_OK && peer->is_reached && peer->view.is_writable) {
        r = hf__fail(s->t.err, ours->is_proven ? HF_EUNAVAIL : HF_EUNSAFE,
                     "url: two of its hosts can be written to, %s is one: set "
                     "read_only on the one that is not to be the primary",
                     shown);
    } else if (r == HF_OK && peer->is_reached && ours->epoch != 0 &&
               !ours->is_proven && !peer->is_known && until.ns != 0) {
        r = hf__fail(s->t.err, HF_EUNSAFE,
                     "url: %s has nothing of what another host of it has "
                     "written: name servers that replicate each other",
                     shown);
    }
    return r;
}

/* Ask each until it shows that ours has all its grants, or until `until`; 0:
 * ask once. */
static int look_around(struct hf__mysql *s, struct others *o,
                       const struct hf__view *ours, hf__time until)
{
    int r = HF_OK;

    o->n = 0;
    for (size_t i = 0; i < o->url->n_hosts && r == HF_OK; i++) {
        if (i != s->pair.candidate && o->n < HF__PEERS_MAX) {
            r = look_at(s, o, i, ours, until, &o->list[o->n++]);
        }
    }
    return r;
}

/*
 * It was the primary, and as far as can be reached no other server was since.
 * If it has run all the time it would know of another by replication; else all
 * must be reached. An operator who makes a server writable that had lost its
 * replication must wait for longest_lease first (docs/failover.md).
 */
static int go_on(struct hf__mysql *s, const struct others *o,
                 const struct hf__view *v, uint64_t top, bool *ret_goes_on)
{
    bool are_all_reached = true;

    for (int i = 0; i < o->n; i++) {
        are_all_reached = are_all_reached && o->list[i].is_reached;
    }
    *ret_goes_on = false;
    if (v->epoch <= top || !v->is_settled ||
        v->longest_us != s->pair.longest_ms * 1000 ||
        !(hf__primary_has_run(s, v) || are_all_reached)) {
        return HF_OK;
    }
    *ret_goes_on = true;
    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "UPDATE holdfast_server SET shown_at=" HF__SQL_NOW
                  " WHERE server_id=%" PRIu32 " AND epoch=%" PRIu64,
                  v->id, v->epoch);
    return hf__mysql_run(s);
}

/* Another client has just given it this epoch, and has not settled it yet. */
static bool is_begun(const struct hf__mysql *s, const struct hf__view *v,
                     uint64_t top)
{
    return v->epoch > top && !v->is_settled && hf__primary_is_fresh(s, v);
}

/* The next epoch is above all that any of them knows. */
static int begin(struct hf__mysql *s, struct others *o, struct hf__view *v,
                 bool *ret_goes_on)
{
    uint64_t top = v->top;
    int r = look_around(s, o, v, (hf__time){0});

    for (int i = 0; i < o->n; i++) {
        top = o->list[i].view.top > top ? o->list[i].view.top : top;
    }
    r = r == HF_OK ? go_on(s, o, v, top, ret_goes_on) : r;
    if (r == HF_OK && !*ret_goes_on && !is_begun(s, v, top)) {
        r = write_epoch(s, v, top > v->epoch ? top : v->epoch);
    }
    return r == HF_OK ? hf__view_read(s, NULL, v) : r;
}

struct proof {
    bool is_known;  /* all others are of the same system */
    bool is_proven; /* and ours has all their grants */
};

static struct proof judge(const struct others *o)
{
    struct proof proof = {true, true};

    for (int i = 0; i < o->n; i++) {
        proof.is_known = proof.is_known && o->list[i].is_known;
        proof.is_proven = proof.is_proven && o->list[i].has_all;
    }
    return proof;
}

/* One transaction, so that a client that stops leaves nothing half done; it
 * changes nothing if another client was first. What is in the log may not be
 * visible yet, but it is once a later change of ours is done: that is the first
 * statement here. */
static int settle(struct hf__mysql *s, const struct others *o,
                  const struct hf__view *v)
{
    struct proof proof = judge(o);

    s->pair.server_id = v->id;
    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "UPDATE holdfast_server SET shown_at=" HF__SQL_NOW
                  "+1 WHERE server_id=%" PRIu32 " AND epoch=%" PRIu64
                  ";BEGIN;UPDATE holdfast_server SET is_settled=1,"
                  "is_proven=GREATEST(is_proven,%d),shown_at=" HF__SQL_NOW
                  ",grants_from=IF(%d,GREATEST(%" PRId64 "," HF__SQL_NOW
                  "),grants_from) WHERE "
                  "server_id=%" PRIu32 " AND epoch=%" PRIu64
                  " AND is_settled=0;SET @hf=ROW_COUNT();",
                  v->id, v->epoch, (int)proof.is_known, (int)proof.is_proven,
                  v->others_shown_at, v->id, v->epoch);
    hf__takeover_add(s, v, o->list, o->n);
    hf__text_add(&s->sql, ";COMMIT");
    return hf__mysql_run(s);
}

/* The epoch is ours; now ask the others whether ours has all their grants. */
static int prove(struct hf__mysql *s, struct others *o,
                 const struct hf__view *v)
{
    hf__time now = hf__now();
    hf__time until =
        hf__earlier(hf__after_ms(now, PROOF_MS),
                    hf__after_ns(now, hf__between_ns(now, s->t.deadline) / 2));
    int r = look_around(s, o, v, until);

    return r != HF_OK || judge(o).is_known || v->is_proven
               ? r
               : hf__fail(s->t.err, HF_EUNAVAIL,
                          "url: a host of it can't be reached, and nothing "
                          "here shows yet that all replicate each other: let "
                          "all be up once");
}

static int take(struct hf__mysql *s, const struct hf__url *url,
                const struct hf__wire_target *target)
{
    struct others o = {.url = url, .target = target};
    bool goes_on = false;
    struct hf__view v;
    int r = hf__view_read(s, NULL, &v);

    r = r == HF_OK ? hf__primary_refuse_other(s, &v) : r;
    r = r == HF_OK ? begin(s, &o, &v, &goes_on) : r;
    if (r == HF_OK && !goes_on) {
        r = prove(s, &o, &v);
        r = r == HF_OK ? settle(s, &o, &v) : r;
    }
    /* We or another client made it the primary. */
    return r == HF_OK ? hf__primary_enter(s) : r;
}

/* Try again if the server rolled back for the sake of other clients, or if
 * another client was first and has not settled yet. */
static bool goes_again(const struct hf__mysql *s, int r, int n_candidates)
{
    bool was_refused = s->reply.error != 0;

    return r == HF_EUNAVAIL && !s->wire.is_dead &&
           (was_refused
                ? hf__mysql_error_class(s->reply.error) == HF__ERROR_AGAIN
                : s->pair.n_candidates > n_candidates);
}

/* Many clients may come at once, and wait for each other. */
int hf__primary_take(struct hf__mysql *s, const struct hf__url *url,
                     const struct hf__wire_target *target)
{
    int n_candidates;
    int r;

    do {
        n_candidates = s->pair.n_candidates;
        s->lock_wait_s = -1;
        hf__text_clear(&s->sql);
        hf__text_add(&s->sql,
                     "ROLLBACK;SET SESSION innodb_lock_wait_timeout=1");
        r = hf__mysql_run(s);
        r = r == HF_OK ? take(s, url, target) : r;
    } while (goes_again(s, r, n_candidates) &&
             hf__before(hf__now(), s->t.deadline) &&
             !hf__is_interrupted(&s->t.head));
    return r;
}
