/* SPDX-License-Identifier: MIT */
/*
 * A change of a cell that gets no answer: whatever became of it, the same one
 * asked for again is applied once.
 */
#include "tests/servers/proxy.h"
#include "tests/store_postgres/site.h"
#include "tests/store_server/cell.h"

#include <stdlib.h>

/* One value of that cell's row; until the next call. */
static const char *cell_says(const char *name, const char *expression)
{
    return value("SELECT %s FROM holdfast_cell WHERE name_key='holdfast=%s'",
                 expression, name);
}

struct way {
    struct hf__proxy *proxy;
    char url[HF__POSTGRES_URL];
};

static void begin_way(struct way *w)
{
    w->proxy =
        hf__proxy_start(hf__postgres_port(server()), &hf__framing_postgres);
    snprintf(w->url, sizeof w->url, "postgres://%s:%s@127.0.0.1:%d/%s",
             HF__POSTGRES_USER, HF__POSTGRES_PASSWORD, hf__proxy_port(w->proxy),
             database());
}

/* The change is cut there; then it is asked for again. */
static void ask_twice(struct way *w, struct door *d, enum hf__proxy_what what)
{
    struct hf__proxy_rule rule = {
        .what = what, .where = HF__BEFORE, .action = HF__CLOSE};
    int session = HF_OK;
    uint64_t applied;

    hf__proxy_rule(w->proxy, &rule);
    EXPECT_IS(ask_again(d, 10000, &session), HF_EUNKNOWN);
    EXPECT_LESS(session, 0);
    applied = strtoull(cell_says("stock", "version"), NULL, 10);
    hf__proxy_heal(w->proxy);
    EXPECT_IS(enter(d, w->url), HF_OK);
    EXPECT_IS(ask_again(d, 10000, NULL), HF_OK);
    EXPECT_SAFE_IS(told() == applied, what == HF__REPLY);
    EXPECT_SAFE_IS(strtoull(cell_says("stock", "version"), NULL, 10), told());
}

static void lose(enum hf__proxy_what what)
{
    DOOR(d);
    DOOR(other);
    struct way w;
    struct hf__cell_op late;
    uint64_t first;

    begin_way(&w);
    EXPECT_IS(enter(&d, w.url), HF_OK);
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    EXPECT_IS(get(&d, "stock"), HF_OK);
    prepare_put("stock", 0, "ten");
    ask_twice(&w, &d, what);
    first = told();
    EXPECT_IS(get(&d, "stock"), HF_OK);
    prepare_put("stock", first, "nine");
    ask_twice(&w, &d, what);
    EXPECT_SAFE_MORE(told(), first);
    EXPECT_TEXT(cell_says("stock", "convert_from(value,'UTF8')"), "nine");
    first = told();
    /* Asked for once more after another's change it is no success. */
    late = last.op;
    EXPECT_IS(put(&other, "stock", first, "others"), HF_OK);
    prepare_put("stock", late.expected, "nine");
    last.op = late;
    EXPECT_IS(ask_again(&d, 10000, NULL), HF_CONFLICT);
    EXPECT_TEXT(cell_says("stock", "convert_from(value,'UTF8')"), "others");
    shut(&d);
    hf__proxy_free(w.proxy);
}

CASE_WITHIN(60, a_change_that_does_not_arrive_is_applied_by_the_next_try,
            lose(HF__STATEMENT));
CASE_WITHIN(60, a_change_whose_answer_is_lost_is_applied_once, lose(HF__REPLY));
