/* SPDX-License-Identifier: MIT */
/*
 * Going through the names of one server: pages of SCAN, and one script for each
 * name, so many in a pipeline that the way does not count, and so few that
 * others are not kept waiting: the server runs what other clients send in
 * between. Called by the session's thread.
 */
#include "src/backend/redis/survey.h"

#include "src/base/error.h"

#include <string.h>

/* So many names are asked about with one pipeline. */
#define PIPELINE 128

int hf__survey_fail(const struct hf__survey *v, int status, const char *why)
{
    return hf__fail(v->err, status, "%s: %s", v->s->peer.target.shown, why);
}

static int next_reply(const struct hf__survey *v, redisReply **ret_reply)
{
    struct hf__redis *s = v->s;
    int r =
        hf__peer_reply(&s->peer, &s->rest, &s->head, v->deadline, ret_reply);

    return r == HF_OK ? HF_OK : hf__fail(v->err, r, "%s", s->peer.err.text);
}

/* What was added goes out. */
static int send_all(const struct hf__survey *v)
{
    if (hf__resp_queue(&v->s->peer.resp) != HF_OK) {
        return hf__survey_fail(v, HF_ENOMEM, "out of memory for a command");
    }
    (void)hf__resp_flush(&v->s->peer.resp); /* the reply will tell */
    return HF_OK;
}

/* Also as versions before 7 tell of an error in a script. */
bool hf__survey_is_strange(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           (strncmp(reply->str, "HOLDFAST", 8) == 0 ||
            strncmp(reply->str, "WRONGTYPE", 9) == 0 ||
            strstr(reply->str, ": WRONGTYPE") != NULL);
}

int hf__survey_page(const struct hf__survey *v, struct hf__scan *scan,
                    struct hf__names *names)
{
    HF_AUTO(hf__reply_free) redisReply *reply = NULL;
    int r;

    hf__scan_add(&v->s->peer.resp.out, scan);
    r = send_all(v);
    r = r == HF_OK ? next_reply(v, &reply) : r;
    if (r != HF_OK) {
        return r;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        hf_error said = HF_ERROR_INIT;

        r = hf__redis_error(reply, NULL, &said);
        return hf__survey_fail(v, r < 0 ? r : (int)HF_EUNAVAIL, said.text);
    }
    r = hf__scan_take(scan, reply, names);
    if (r == HF_ENOMEM) {
        return hf__survey_fail(v, r, "out of memory for the names");
    }
    return r == HF_OK ? HF_OK : hf__survey_fail(v, r, "SCAN gave no page");
}

/* ---- many names */

/* A pipeline under way: names from `at` to `end`. */
struct stretch {
    const struct hf__names *names;
    size_t at; /* settled so far */
    size_t end;
    bool with_text; /* of the first, so that the others know it */
};

static void add_stretch(const struct hf__survey *v, const struct stretch *h)
{
    for (size_t i = h->at; i < h->end; i++) {
        v->add(v, &v->s->peer.resp.out, &h->names->keys[i],
               h->with_text && i == h->at);
    }
}

/* All its replies are taken, so that none is owed. What was said first of
 * those that are not HF_OK. */
static int take_stretch(const struct hf__survey *v, struct stretch *h)
{
    int verdict = HF_OK;

    for (size_t i = h->at; i < h->end; i++) {
        HF_AUTO(hf__reply_free) redisReply *reply = NULL;
        int r = next_reply(v, &reply);

        if (r != HF_OK) {
            return r;
        }
        if (verdict == HF_OK) {
            verdict = v->take(v, &h->names->keys[i], reply);
            h->at += verdict == HF_OK;
        }
        if (verdict < 0) {
            return verdict;
        }
    }
    return verdict;
}

int hf__survey_ask(const struct hf__survey *v, const struct hf__names *names)
{
    struct stretch h = {.names = names};
    int strays = 0; /* pipelines of which the first script was not known */

    while (h.at < names->n) {
        size_t began = h.at;
        size_t left = names->n - h.at;
        int r;

        h.end = h.at + (left < PIPELINE ? left : PIPELINE);
        add_stretch(v, &h);
        r = send_all(v);
        r = r == HF_OK ? take_stretch(v, &h) : r;
        if (r != HF_OK && r != HF__AGAIN) {
            return r;
        }
        h.with_text = r == HF__AGAIN;
        strays = h.at > began ? 0 : strays + 1;
        if (strays > 3) {
            return hf__survey_fail(v, HF_EUNAVAIL,
                                   "the server forgets its scripts at once");
        }
    }
    return HF_OK;
}
