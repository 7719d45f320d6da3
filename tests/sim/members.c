/* SPDX-License-Identifier: MIT */
/*
 * The servers of a made quorum: what each answers to the commands of a
 * connection, what it remembers, by which clock. One keeps its data however it
 * ends, or forgets all, as appendonly and appendfsync make it.
 */
#include "tests/sim/made.h"

#include "src/backend/redis/ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MOST = 48, SKEW_US = 100000, UP_BEFORE = 10, PPM = 4500 };
#define MILLION INT64_C(1000000)

struct member {
    bool is_durable;
    bool may_kill; /* its users may */
    unsigned life;
    int64_t started; /* true time */
    int64_t down_until;
    int64_t ppm;
    int64_t skew_us;
    unsigned known; /* scripts */
    uint64_t ids;
    bool is_marked;
    char since[24];
    char replid[48];
    struct hf__made_row rows[HF__NAMES];
    struct hf__void voids[HF__NAMES][HF__VOIDS_MOST]; /* theirs */
};

struct command {
    int n;
    const char *words[ARGS_MOST];
};

static struct member members[HF__MADE_MOST];
static int64_t wall_us; /* at the start */

/* ---- what it is */

void hf__members_begin(void)
{
    const struct hf__lot *p = &hf__scene.plan;

    wall_us = hf__wall_us();
    for (int i = 0; i < p->quorum; i++) {
        struct member *m = &members[i];

        m->is_durable = hf__chance(500);
        m->may_kill = hf__chance(500);
        m->life = 1;
        m->started = -UP_BEFORE * p->longest_ms * HF__MS_NS;
        m->ppm = hf__between(-PPM, PPM);
        m->skew_us = hf__between(-SKEW_US, SKEW_US);
    }
}

bool hf__member_is_up(int member)
{
    return hf__true_now() >= members[member].down_until;
}

unsigned hf__member_life(int member)
{
    return members[member].life;
}

uint64_t hf__member_connect(int member)
{
    return ++members[member].ids;
}

const struct hf__made_row *hf__member_row(int member, int name)
{
    return &members[member].rows[name];
}

int64_t hf__member_ppm(int member)
{
    return members[member].ppm;
}

int64_t hf__member_now(int member)
{
    int64_t us = hf__true_now() / 1000;

    return wall_us + us + us * members[member].ppm / MILLION +
           members[member].skew_us;
}

/* A group whose marks are all gone counts as new, and a member that keeps its
 * data counts at once then. */
static bool may_forget(int member)
{
    bool is_any_marked = false;
    bool may_count = members[member].is_durable;

    for (int i = 0; i < hf__scene.plan.quorum; i++) {
        const struct member *m = &members[i];

        is_any_marked |= i != member && m->is_marked;
        may_count |= m->is_durable && !m->is_marked;
    }
    return is_any_marked || !may_count;
}

void hf__member_flush(int member)
{
    members[member].known = 0;
    hf__note("member %d knows no scripts", member);
}

bool hf__member_restart(int member, bool forgets, int64_t until)
{
    struct member *m = &members[member];

    forgets |= !m->is_durable;
    if (!hf__member_is_up(member) || (forgets && !may_forget(member))) {
        return false;
    }
    m->life++;
    m->started = until;
    m->down_until = until;
    m->known = 0;
    if (forgets) {
        m->is_marked = false;
        memset(m->rows, 0, sizeof m->rows);
        hf__made_forgot(member);
        hf__scene.tally->forgotten++;
    }
    hf__note("member %d restarts%s", member, forgets ? ", and forgets" : "");
    return true;
}

/* ---- commands */

static void say_info(const struct member *m, int member,
                     struct hf__reply *reply)
{
    char text[512];
    int64_t up_ns = hf__true_now() - m->started;

    (void)snprintf(text, sizeof text,
                   "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone"
                   "\r\nrun_id:%020d%020u\r\nuptime_in_seconds:%" PRId64
                   "\r\nloading:0\r\naof_enabled:%d\r\nmaxmemory_policy:"
                   "noeviction\r\nrole:master\r\nconnected_slaves:0\r\n"
                   "master_replid:%020d%020u\r\nmaster_replid2:%040d\r\n",
                   member, m->life, up_ns / 1000 / MILLION, m->is_durable,
                   member, m->life, 0);
    hf__reply_string(reply, text);
}

static void say_config(const struct member *m, const char *what,
                       struct hf__reply *reply)
{
    const char *value = strcmp(what, "appendfsync") == 0
                            ? (m->is_durable ? "always" : "everysec")
                        : strcmp(what, "maxmemory-policy") == 0 ? "noeviction"
                        : strcmp(what, "save") == 0             ? ""
                                                                : "no";

    hf__reply_array(reply, 2);
    hf__reply_string(reply, what);
    hf__reply_string(reply, value);
}

static void say_time(int member, struct hf__reply *reply)
{
    int64_t now = hf__member_now(member);
    char text[24];

    hf__reply_array(reply, 2);
    (void)snprintf(text, sizeof text, "%" PRId64, now / MILLION);
    hf__reply_string(reply, text);
    (void)snprintf(text, sizeof text, "%" PRId64, now % MILLION);
    hf__reply_string(reply, text);
}

static void say_client(const struct hf__wire *w, const struct command *c,
                       struct hf__reply *reply)
{
    const struct member *m = &members[w->member];

    if (strcmp(c->words[1], "ID") == 0) {
        hf__reply_number(reply, (int64_t)w->id);
    } else if (strcmp(c->words[1], "SETNAME") == 0) {
        hf__reply_line(reply, "+OK");
    } else if (m->may_kill) {
        uint64_t id = strtoull(c->words[3], NULL, 10);

        hf__reply_number(reply, hf__wires_kill(w->member, id));
    } else {
        hf__reply_line(reply, "-NOPERM this user may not");
    }
}

/* By its hash or its text; −1: it is none of ours. */
static int find_script(const char *given)
{
    for (int i = 0; i < HF__SCRIPTS; i++) {
        enum hf__script script = (enum hf__script)i;

        if (strcmp(given, hf__script_hash(script)) == 0 ||
            strcmp(given, hf__script_text(script)) == 0) {
            return i;
        }
    }
    return -1;
}

static void say_scripts(struct member *m, const struct command *c,
                        struct hf__reply *reply)
{
    if (strcmp(c->words[1], "LOAD") == 0) {
        m->known |= 1u << find_script(c->words[2]);
        hf__reply_line(reply, "+OK");
        return;
    }
    hf__reply_array(reply, c->n - 2);
    for (int i = 2; i < c->n; i++) {
        hf__reply_number(reply, m->known >> find_script(c->words[i]) & 1);
    }
}

static void say_mark(const struct member *m, struct hf__reply *reply)
{
    hf__reply_array(reply, 2);
    if (m->is_marked) {
        hf__reply_string(reply, m->since);
        hf__reply_string(reply, m->replid);
    } else {
        hf__reply_line(reply, "$-1");
        hf__reply_line(reply, "$-1");
    }
}

/* memory.c's own script: key, since, replid, '1' if what is there is wrong. */
static void take_mark(struct member *m, const struct command *c,
                      struct hf__reply *reply)
{
    if (!m->is_marked || strcmp(c->words[6], "1") == 0) {
        m->is_marked = true;
        (void)snprintf(m->since, sizeof m->since, "%s", c->words[4]);
        (void)snprintf(m->replid, sizeof m->replid, "%s", c->words[5]);
    }
    hf__reply_number(reply, 1);
}

/* EVAL or EVALSHA, what, 4, four keys, ARGV. */
static void run_script(const struct hf__wire *w, const struct command *c,
                       int script, struct hf__reply *reply)
{
    const char *key = c->words[3]; /* prefix:{name} */
    struct hf__step step = {.script = (enum hf__script)script,
                            .host = w->host,
                            .member = w->member,
                            .now = hf__member_now(w->member),
                            .n = c->n - 7,
                            .words = c->words + 7,
                            .reply = reply};

    step.name = key[strlen(key) - 2] - '0';
    step.row = &members[w->member].rows[step.name];
    step.row->voids = members[w->member].voids[step.name];
    hf__made_row_run(&step);
}

static void take_script(const struct hf__wire *w, const struct command *c,
                        struct hf__reply *reply)
{
    struct member *m = &members[w->member];
    bool has_text = strcmp(c->words[0], "EVAL") == 0;
    int script = find_script(c->words[1]);

    if (script < 0) {
        take_mark(m, c, reply);
    } else if (has_text || (m->known >> script & 1) != 0) {
        m->known |= 1u << script;
        run_script(w, c, script, reply);
    } else {
        hf__reply_line(reply, "-NOSCRIPT No matching script.");
        hf__scene.tally->unknown_scripts++;
    }
}

static void take(struct hf__wire *w, const struct command *c,
                 struct hf__reply *reply)
{
    struct member *m = &members[w->member];
    const char *word = c->words[0];

    if (strncmp(word, "EVAL", 4) == 0) {
        take_script(w, c, reply);
    } else if (strcmp(word, "INFO") == 0) {
        say_info(m, w->member, reply);
    } else if (strcmp(word, "ROLE") == 0) {
        hf__reply_array(reply, 1);
        hf__reply_string(reply, "master");
    } else if (strcmp(word, "CONFIG") == 0) {
        say_config(m, c->words[2], reply);
    } else if (strcmp(word, "CLIENT") == 0) {
        say_client(w, c, reply);
    } else if (strcmp(word, "SCRIPT") == 0) {
        say_scripts(m, c, reply);
    } else if (strcmp(word, "HMGET") == 0) {
        say_mark(m, reply);
    } else if (strcmp(word, "TIME") == 0) {
        say_time(w->member, reply);
    } else {
        hf__flaw("a member is told %s", word);
    }
}

/* ---- bytes */

/* "*3\r\n" or "$5\r\n"; NULL: it is not all there. */
static char *read_head(char *at, const char *end, long *ret_number)
{
    char *line_end = memchr(at, '\n', (size_t)(end - at));

    *ret_number = line_end == NULL ? 0 : strtol(at + 1, NULL, 10);
    return line_end == NULL ? NULL : line_end + 1;
}

/* Its words become texts where they stand. NULL: it is not all there. */
static char *read_command(char *at, const char *end, struct command *c)
{
    char *ends[ARGS_MOST];
    long n = 0;

    at = at < end ? read_head(at, end, &n) : NULL;
    if (at != NULL && (n < 1 || n > ARGS_MOST)) {
        hf__flaw("a command of %ld words", n);
    }
    for (c->n = 0; at != NULL && c->n < n; c->n++) {
        long length = 0;

        at = at < end ? read_head(at, end, &length) : NULL;
        if (at == NULL || end - at < length + 2) {
            return NULL;
        }
        c->words[c->n] = at;
        ends[c->n] = at + length;
        at += length + 2;
    }
    for (int i = 0; at != NULL && i < c->n; i++) {
        *ends[i] = '\0';
    }
    return at;
}

void hf__member_hear(struct hf__wire *w, const char *bytes, size_t n,
                     bool is_loading, struct hf__reply *reply)
{
    struct hf__reply *t = &w->asked;
    struct command c;
    char *at;
    char *next;

    hf__reply_add(t, bytes, n);
    at = t->at;
    while ((next = read_command(at, t->at + t->length, &c)) != NULL) {
        if (is_loading && strncmp(c.words[0], "EVAL", 4) == 0) {
            hf__reply_line(reply, "-LOADING it loads its data");
        } else {
            take(w, &c, reply);
        }
        at = next;
    }
    t->length -= (size_t)(at - t->at);
    memmove(t->at, at, t->length);
}
