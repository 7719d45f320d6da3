/* SPDX-License-Identifier: MIT */
/*
 * Copying the locks of the other servers to the new primary, so that holders
 * keep theirs. Rows are copied under its tag, in the transaction that makes it
 * the primary. They are the rows of servers that were the primary since it was,
 * if they matter still or were changed in the longest_lease before the server
 * was last in use. First its own old rows are deleted, if such a server has
 * granted, since they were copied by then or are over. Of two rows of one name
 * the higher fence wins; of the same grant, a release wins, else the later end.
 * Leases are by another clock: its offset is known for servers that could be
 * asked; for others the whole lease begins again. Queues are not copied:
 * waiters ask again. Called by the session's thread when it opens.
 */
#include "src/backend/mysql/mysql.h"
#include "src/backend/mysql/pair.h"

#include <inttypes.h>
#include <stdio.h>

struct takeover {
    struct hf__mysql *s;
    const struct hf__view *ours;
    const struct hf__peer *peers;
    int n;
};

/* Convert a time of the row's own server to our clock; 0 stays 0. */
static void add_time(const struct takeover *k, const char *column,
                     const char *unseen)
{
    struct hf__text *t = &k->s->sql;

    /* No key has an empty tag; this WHEN avoids a CASE without choices, an
     * error. */
    hf__text_addf(t, ",IF(%s=0,0,CASE " HF__SQL_TAG_OF " WHEN '' THEN 0",
                  column);
    for (int i = 0; i < k->n; i++) {
        if (k->peers[i].has_all) {
            hf__text_add(t, " WHEN ");
            hf__pair_add_tag(t, k->peers[i].view.id);
            hf__text_addf(t, " THEN %s-(%" PRId64 ")", column,
                          k->peers[i].ahead_us);
        }
    }
    hf__text_addf(t, " ELSE %s END)", unseen);
}

static int64_t longest_us(const struct takeover *k)
{
    int64_t longest_us = k->s->pair.longest_ms * 1000;

    return longest_us > k->ours->longest_of_all_us ? longest_us
                                                   : k->ours->longest_of_all_us;
}

/* "INSERT INTO table(name_key,expires,changed_at,…) SELECT …" */
static void add_columns(const struct takeover *k, const char *table,
                        bool is_kept, const char *columns)
{
    struct hf__text *t = &k->s->sql;
    char unseen[256];

    (void)snprintf(unseen, sizeof unseen,
                   HF__SQL_NOW "+LEAST(%" PRId64
                               ",GREATEST(0,expires-changed_at))",
                   longest_us(k));
    hf__text_addf(t,
                  "INSERT INTO %s(name_key,expires,%schanged_at,%s) "
                  "SELECT CONCAT(",
                  table, is_kept ? "keep_until," : "", columns);
    hf__pair_add_tag(t, k->s->pair.server_id);
    hf__text_add(t, ",IF(" HF__SQL_PLAIN ",name_key,SUBSTR(name_key,10)))");
    add_time(k, "expires", unseen);
    if (is_kept) {
        add_time(k, "keep_until", "keep_until");
    }
    hf__text_addf(t, "," HF__SQL_NOW ",%s", columns);
}

/* Rows without a tag are from clients that named one host, before there were
 * several. */
static void add_source(const struct takeover *k, const char *table,
                       const char *also)
{
    struct hf__text *t = &k->s->sql;
    const char *last = "COALESCE(v.shown_at," HF__SQL_NOW ")";

    hf__text_addf(
        t,
        " FROM %s o LEFT JOIN (SELECT CONCAT(';',LOWER(LPAD(HEX("
        "server_id),8,'0'))) AS tag,epoch AS its_epoch,shown_at FROM "
        "holdfast_server WHERE server_id<>%" PRIu32
        ") v ON v.tag=" HF__SQL_TAG_OF " WHERE @hf=1 AND (v.its_epoch>%" PRIu64
        " OR (" HF__SQL_PLAIN " AND %d)) AND (expires>%s-%" PRId64
        " OR o.changed_at>%s-%" PRId64 "%s) ON DUPLICATE KEY UPDATE ",
        table, k->s->pair.server_id, k->ours->prior, (int)(k->ours->prior == 0),
        last, longest_us(k), last, longest_us(k), also);
}

static void add_greater(struct hf__text *t, const char *table,
                        const char *column)
{
    hf__text_addf(t, "%s=GREATEST(%s.%s,VALUES(%s)),", column, table, column,
                  column);
}

#define LATER "VALUES(fence)>holdfast_lock.fence"
#define SAME  "VALUES(fence)=holdfast_lock.fence"

/* Merge the two rows by column; the fence last, since the other columns compare
 * it. */
static void add_merging(struct hf__text *t)
{
    static const char *const of_token[] = {"token", "freed"};
    static const char *const of_later[] = {
        "acquired_at", "detached", "label", "host", "pid", "thread", "note"};
    static const char *const greater[] = {"keep_until", "broken", "changed_at"};

    for (size_t i = 0; i < sizeof of_token / sizeof *of_token; i++) {
        hf__text_addf(t,
                      "%s=IF(" LATER " OR (" SAME " AND VALUES(expires)=0),"
                      "VALUES(%s),holdfast_lock.%s),",
                      of_token[i], of_token[i], of_token[i]);
    }
    hf__text_add(t, "expires=IF(" LATER ",VALUES(expires),IF(NOT(" SAME "),"
                    "holdfast_lock.expires,"
                    "IF(holdfast_lock.expires=0 OR VALUES(expires)=0,0,"
                    "GREATEST(holdfast_lock.expires,VALUES(expires))))),");
    for (size_t i = 0; i < sizeof of_later / sizeof *of_later; i++) {
        hf__text_addf(t, "%s=IF(" LATER ",VALUES(%s),holdfast_lock.%s),",
                      of_later[i], of_later[i], of_later[i]);
    }
    for (size_t i = 0; i < sizeof greater / sizeof *greater; i++) {
        add_greater(t, "holdfast_lock", greater[i]);
    }
    hf__text_add(t, "crowd=holdfast_lock.crowd|VALUES(crowd),"
                    "revision=GREATEST(holdfast_lock.revision,"
                    "VALUES(revision))+1,"
                    "fence=GREATEST(holdfast_lock.fence,VALUES(fence));");
}

/* Delete the server's old rows if another has been the primary since, for long
 * enough to grant. */
static void add_clearing(const struct takeover *k)
{
    static const char *const conditions[] = {
        "holdfast_lock WHERE (expires<>0 OR keep_until<>0 OR crowd<>0)",
        "holdfast_beside WHERE 1", "holdfast_ticket WHERE 1"};
    struct hf__text *t = &k->s->sql;

    hf__text_addf(t,
                  "SET @hf_past=@hf=1 AND EXISTS(SELECT 1 FROM holdfast_server "
                  "WHERE server_id<>%" PRIu32 " AND epoch>%" PRIu64
                  " AND is_settled=1 AND shown_at>=grants_from);",
                  k->s->pair.server_id, k->ours->prior);
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        hf__text_addf(t,
                      "DELETE FROM %s AND @hf_past=1 AND " HF__SQL_TAG_OF "=",
                      conditions[i]);
        hf__pair_add_tag(t, k->s->pair.server_id);
        hf__text_add(t, ";");
    }
}

#define OWNER "label,host,pid,thread,note"

void hf__takeover_add(struct hf__mysql *s, const struct hf__view *ours,
                      const struct hf__peer *peers, int n)
{
    const struct takeover k = {s, ours, peers, n};

    add_clearing(&k);
    add_columns(
        &k, "holdfast_lock", true,
        "fence,token,freed,acquired_at,broken,detached,crowd,revision," OWNER);
    /* Rows with a fence above the clock are copied, since the next fence must
     * be above that one. */
    add_source(&k, "holdfast_lock",
               " OR keep_until>" HF__SQL_NOW " OR fence>=" HF__SQL_NOW
               " OR crowd<>0");
    add_merging(&s->sql);
    add_columns(
        &k, "holdfast_beside", false,
        "token,fence,mode,slots,slot,acquired_at,detached,ended," OWNER);
    add_source(&k, "holdfast_beside", "");
    add_greater(&s->sql, "holdfast_beside", "expires");
    add_greater(&s->sql, "holdfast_beside", "changed_at");
    hf__text_add(&s->sql, "ended=holdfast_beside.ended|VALUES(ended)");
}
