/* SPDX-License-Identifier: MIT */
/*
 * Parses fault= and counts calls; fault.c carries out what a fault does. A plan
 * stays until the process ends; there is one for each different URL, and they
 * are few. Thread: any, under one mutex.
 */
#include "src/backend/fault/plan.h"

#include "src/base/alloc.h"
#include "src/base/duration.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/list.h"

#include <string.h>

#define MILLION    UINT64_C(1000000)
#define ANY        ((1u << HF__FAULT_TARGETS) - 1)
#define OPERATIONS ((1u << HF__FAULT_OPEN) - 1)
#define REPEATABLE                                                             \
    (1u << HF__OP_ACQUIRE | 1u << HF__OP_RENEW | 1u << HF__OP_RELEASE |        \
     1u << HF__FAULT_CELL)

enum { WORD_MAX = 32, RULES_MAX = 16 };

struct rule {
    enum hf__fault_what what;
    unsigned targets; /* a set of bits, one for each target */
    uint64_t first;
    uint64_t last;
    uint64_t chance; /* chance in a million that one in the range is hit */
    int64_t pause_ms;
    uint64_t count; /* calls of its targets so far */
};

struct hf__fault_plan {
    struct hf__link link;
    uint64_t random;
    size_t n_rules;
    struct rule rules[RULES_MAX];
    char url[];
};

/* A row of one of the two word lists of the syntax. */
struct word {
    const char *text;
    unsigned value; /* of a fault: its hf__fault_what; of a target: its bits */
    unsigned fits;  /* of a fault: the targets that it can hit */
    bool has_time;
};

static const struct word faults[] = {
    {"lose_request", HF__FAULT_LOSE_REQUEST, ANY, false},
    {"lose_reply", HF__FAULT_LOSE_REPLY, ANY, false},
    {"delay", HF__FAULT_DELAY, ANY, true},
    {"late_reply", HF__FAULT_LATE_REPLY, ANY, true},
    {"duplicate", HF__FAULT_DUPLICATE, REPEATABLE, false},
    {"again", HF__FAULT_AGAIN, OPERATIONS | 1u << HF__FAULT_CELL, false},
    {"move", HF__FAULT_MOVE, 1U << HF__FAULT_OPEN, false},
    {"die", HF__FAULT_DIE, ANY, false},
    {NULL, 0, 0, false},
};

static const struct word targets[] = {
    {"acquire", 1u << HF__OP_ACQUIRE, 0, false},
    {"renew", 1u << HF__OP_RENEW, 0, false},
    {"release", 1u << HF__OP_RELEASE, 0, false},
    {"handover", 1u << HF__OP_HANDOVER, 0, false},
    {"raise", 1u << HF__OP_RAISE, 0, false},
    {"inspect", 1u << HF__OP_INSPECT, 0, false},
    {"break", 1u << HF__OP_BREAK, 0, false},
    {"open", 1u << HF__FAULT_OPEN, 0, false},
    {"wait", 1u << HF__FAULT_WAIT, 0, false},
    {"list", 1u << HF__FAULT_LIST, 0, false},
    {"gc", 1u << HF__FAULT_GC, 0, false},
    {"check", 1u << HF__FAULT_CHECK, 0, false},
    {"cell", 1u << HF__FAULT_CELL, 0, false},
    {"op", OPERATIONS, 0, false},
    {"any", ANY, 0, false},
    {NULL, 0, 0, false},
};

static struct hf__process_mutex mutex;
static struct hf__link plans = {&plans, &plans};
static unsigned n_fired;

/* ---- reading */

/* Cut the next word, up to `end`, off the text; false if it is too long. */
static bool cut_word(const char **text, char end, char *word)
{
    size_t length = 0;

    while ((*text)[length] != '\0' && (*text)[length] != ',' &&
           (*text)[length] != end) {
        length++;
    }
    if (length >= WORD_MAX) {
        return false;
    }
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length;
    if (**text == end && end != ',') {
        ++*text;
    }
    return true;
}

static const struct word *find_word(const struct word *list, const char *text)
{
    while (list->text != NULL && strcmp(list->text, text) != 0) {
        list++;
    }
    return list->text != NULL ? list : NULL;
}

/* Read the digits at *text; false if there are none, or too many. */
static bool read_number(const char **text, uint64_t *ret_number)
{
    const char *at = *text;
    uint64_t number = 0;

    for (; *at >= '0' && *at <= '9' && at - *text < 10; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    bool is_number = at > *text;
    *text = at;
    *ret_number = number;
    return is_number;
}

/* Read a probability such as 0.05, or 1, with at most six decimals. */
static bool read_chance(const char *text, uint64_t *ret_chance)
{
    uint64_t chance = 0;
    uint64_t unit = MILLION;

    if (!read_number(&text, &chance) || chance > 1) {
        return false;
    }
    chance *= MILLION;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9' && unit > 1; text++) {
            unit /= 10;
            chance += unit * (uint64_t)(*text - '0');
        }
    }
    *ret_chance = chance;
    return *text == '\0' && chance <= MILLION;
}

static bool read_which(const char *text, struct rule *rule)
{
    rule->first = 1;
    rule->last = UINT64_MAX;
    rule->chance = MILLION;
    if (*text == '\0' || strcmp(text, "*") == 0) {
        return true;
    }
    if (*text == 'p') {
        return read_chance(text + 1, &rule->chance);
    }
    if (!read_number(&text, &rule->first)) {
        return false;
    }
    if (*text != '-') {
        rule->last = rule->first;
    } else if (*++text != '\0' && !read_number(&text, &rule->last)) {
        return false;
    }
    return *text == '\0' && rule->first >= 1 && rule->first <= rule->last;
}

/* Read one rule at *text and leave *text at the comma or the end. */
static bool read_rule(const char **text, struct rule *rule)
{
    char what[WORD_MAX];
    char target[WORD_MAX];
    char which[WORD_MAX];
    char time[WORD_MAX];

    if (!cut_word(text, ':', what) || !cut_word(text, ':', target) ||
        !cut_word(text, ':', which) || !cut_word(text, ',', time)) {
        return false;
    }
    const struct word *f = find_word(faults, what);
    const struct word *t = find_word(targets, target);
    if (f == NULL || t == NULL || (t->value & ~f->fits) != 0 ||
        f->has_time != (time[0] != '\0') || !read_which(which, rule) ||
        (f->has_time && !hf__duration_parse(time, &rule->pause_ms))) {
        return false;
    }
    rule->what = (enum hf__fault_what)f->value;
    rule->targets = t->value;
    return true;
}

static int read_rules(struct hf__fault_plan *plan, const char *text,
                      hf_error *err)
{
    for (;;) {
        const char *rule = text;

        if (plan->n_rules == RULES_MAX) {
            return hf__fail(err, HF_EINVAL,
                            "url: option \"fault\" has more than %d rules",
                            RULES_MAX);
        }
        if (!read_rule(&text, &plan->rules[plan->n_rules])) {
            return hf__fail(err, HF_EINVAL,
                            "url: option \"fault\": \"%.80s\" does not begin "
                            "with a rule such as lose_reply:acquire:2 or "
                            "delay:renew:*:50ms",
                            rule);
        }
        plan->n_rules++;
        if (*text == '\0') {
            return HF_OK;
        }
        text++;
    }
}

/* ---- plans */

static struct hf__fault_plan *find_plan(const char *url)
{
    HF__LIST_EACH (link, &plans) {
        struct hf__fault_plan *plan =
            HF__ELEMENT(link, struct hf__fault_plan, link);
        if (strcmp(plan->url, url) == 0) {
            return plan;
        }
    }
    return NULL;
}

static void free_plan(struct hf__fault_plan *plan)
{
    hf__free(plan);
}
HF_CLEANUP_FN(struct hf__fault_plan, free_plan);

static int new_plan(const struct hf__url *url, struct hf__fault_plan **ret_plan,
                    hf_error *err)
{
    const char *rules = hf__url_option(url, "fault");
    size_t length = strlen(url->redacted);
    int64_t seed = 1;
    int r = hf__url_int(url, "seed", 1, INT64_MAX, &seed, err);

    if (r != HF_OK) {
        return r;
    }
    HF_AUTO(free_plan_auto)
    struct hf__fault_plan *plan = hf__alloc(sizeof *plan + length + 1);
    if (plan == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a fault plan");
    }
    memcpy(plan->url, url->redacted, length + 1);
    plan->random = (uint64_t)seed;
    r = rules != NULL ? read_rules(plan, rules, err) : HF_OK;
    if (r != HF_OK) {
        return r;
    }
    hf__list_push(&plans, &plan->link);
    *ret_plan = HF_MOVE(plan);
    return HF_OK;
}

int hf__fault_plan_of(const struct hf__url *url,
                      struct hf__fault_plan **ret_plan, hf_error *err)
{
    HF_SCOPED_LOCK(hf__process_mutex(&mutex));
    struct hf__fault_plan *plan = find_plan(url->redacted);

    if (plan == NULL) {
        return new_plan(url, ret_plan, err);
    }
    *ret_plan = plan;
    return HF_OK;
}

/* SplitMix64 (Steele, Lea, Flood 2014): any seed will do. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool does_match(struct hf__fault_plan *plan, struct rule *rule,
                       int target)
{
    if ((rule->targets & 1u << target) == 0) {
        return false;
    }
    rule->count++;
    return rule->count >= rule->first && rule->count <= rule->last &&
           (rule->chance == MILLION ||
            next_random(&plan->random) % MILLION < rule->chance);
}

struct hf__fault hf__fault_next(struct hf__fault_plan *plan, int target)
{
    struct hf__fault fault = {HF__FAULT_NONE, 0};

    HF_SCOPED_LOCK(hf__process_mutex(&mutex));
    for (size_t i = 0; i < plan->n_rules; i++) {
        struct rule *rule = &plan->rules[i];
        if (does_match(plan, rule, target) && fault.what == HF__FAULT_NONE) {
            fault = (struct hf__fault){rule->what, rule->pause_ms};
            n_fired++;
        }
    }
    return fault;
}

unsigned hf__fault_count(void)
{
    HF_SCOPED_LOCK(hf__process_mutex(&mutex));
    return n_fired;
}
