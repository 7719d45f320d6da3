/* SPDX-License-Identifier: MIT */
/*
 * `check`: decides that a store is fit (0) when no item is unfit and it
 * opens at all, else unfit (1). A store that is fit but reaches less far
 * than --reach demands is refused as everywhere, with 77. What is looked at
 * is the store's own affair. Thread: main.
 */
#include "src/cli/duration.h"
#include "src/cli/exit.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/say.h"
#include "src/cli/secret.h"
#include "src/cli/table.h"

struct checking {
    struct cli_table table;
    struct cli_text json;
    size_t count;
    bool is_unfit;
};

static const char *verdict_word(hf_verdict verdict)
{
    switch (verdict) {
    case HF_FINE:
        return "fine";
    case HF_WARN:
        return "warn";
    case HF_UNFIT:
        return "unfit";
    }
    return "unfit";
}

static int collect(void *arg, const hf_check_item *item)
{
    struct checking *c = arg;
    const char *verdict = verdict_word(item->verdict);

    cli_table_add(&c->table, verdict);
    cli_table_add(&c->table, item->name);
    cli_table_add(&c->table, item->value);
    cli_table_add(&c->table, item->remedy ? item->remedy : "");
    cli_text_add(&c->json, c->count++ ? ",{\"name\":" : "{\"name\":");
    cli_text_json(&c->json, item->name);
    cli_text_add(&c->json, ",\"value\":");
    cli_text_json(&c->json, item->value);
    cli_text_add(&c->json, ",\"verdict\":\"%s\",\"remedy\":", verdict);
    cli_text_json(&c->json, item->remedy);
    cli_text_add(&c->json, "}");
    c->is_unfit |= item->verdict == HF_UNFIT;
    return 0;
}

static const struct {
    unsigned flag;
    const char *word;
} abilities[] = {
    {HF_CAP_FENCE, "fence"}, {HF_CAP_WAIT, "wait"},
    {HF_CAP_FAIR, "fair"},   {HF_CAP_SHARED, "shared"},
    {HF_CAP_SLOTS, "slots"}, {HF_CAP_DETACH, "detached"},
    {HF_CAP_KEEP, "keep"},   {HF_CAP_DEATH, "death"},
    {HF_CAP_PUSH, "push"},   {HF_CAP_HANDOVER, "handover"},
    {HF_CAP_LIST, "list"},   {HF_CAP_SESSION, "session"},
    {HF_CAP_CELLS, "cells"},
};

/* What the store can do, a word each, separated and in quotes as given. */
static void add_abilities(struct cli_text *text, unsigned flags,
                          const char *quote, const char *separator)
{
    const char *before = "";

    for (size_t i = 0; i < sizeof abilities / sizeof *abilities; i++) {
        if (flags & abilities[i].flag) {
            cli_text_add(text, "%s%s%s%s", before, quote, abilities[i].word,
                         quote);
            before = separator;
        }
    }
}

static int show(const struct cli_options *o, const struct checking *c,
                const hf_caps_info *caps)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    char lease[CLI_DURATION_SIZE];

    if (o->is_json) {
        cli_text_add(&text, "{\"fit\":%s,", c->is_unfit ? "false" : "true");
        cli_caps_json(&text, caps);
        cli_text_add(&text, ",\"can\":[");
        add_abilities(&text, caps->flags, "\"", ",");
        cli_text_add(&text, "]");
        if (caps->lease_ms) {
            cli_text_add(&text, ",\"lease_ms\":%lld",
                         (long long)caps->lease_ms);
        }
        cli_text_add(&text, ",\"items\":[%s]}\n",
                     c->json.data ? c->json.data : "");
    } else {
        cli_table_write(&c->table, &text);
        cli_text_add(&text, "can: ");
        add_abilities(&text, caps->flags, "", ", ");
        cli_text_add(&text, "\n");
        if (caps->lease_ms) {
            cli_text_add(&text, "lease: %s, that of the session\n",
                         cli_duration(caps->lease_ms, lease));
        }
        cli_text_add(&text, "%s for locks; ", c->is_unfit ? "unfit" : "fit");
        cli_caps_line(&text, caps);
        cli_text_add(&text, "\n");
    }
    return cli_output(&text, c->is_unfit ? CLI_EXIT_NO : CLI_EXIT_DONE);
}

/* The store refused itself when it was opened: that is an answer, too. */
static int show_refused(const struct cli_options *o,
                        const struct cli_store *store, const char *reason)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    if (!o->is_json) {
        return cli_fail(CLI_EXIT_NO, "unfit for locks: %s; store %s (from %s)",
                        reason, store->shown, store->from);
    }
    cli_text_add(&text, "{\"fit\":false,\"store\":");
    cli_text_json(&text, store->shown);
    cli_text_add(&text, ",\"grade\":null,\"reach\":null,\"can\":[],"
                        "\"items\":[{"
                        "\"name\":\"open\",\"value\":\"refused\","
                        "\"verdict\":\"unfit\",\"remedy\":");
    cli_text_json(&text, reason);
    cli_text_add(&text, "}]}\n");
    return cli_output(&text, CLI_EXIT_NO);
}

static int check(const struct cli_options *o, const struct cli_store *store,
                 hf_client *client, hf_reach demanded)
{
    struct checking c = {.table = {.columns = 4}};
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    hf_error err = HF_ERROR_INIT;
    int r = hf_caps(client, &caps);

    if (!r && caps.reach < demanded) {
        return cli_fail(
            CLI_EXIT_UNSAFE, "the store %s reaches %s, not %s as was demanded",
            store->shown, cli_reach_word(caps.reach), cli_reach_word(demanded));
    }
    r = r ? r : hf_check(client, collect, &c, &err);
    r = r ? cli_fail(cli_exit_of(r), "check: %s", err.text)
          : show(o, &c, &caps);
    cli_table_fini(&c.table);
    cli_text_fini(&c.json);
    return r;
}

/* No server is asked: it may be one that lets this user make no tables. */
static int print_ddl(const struct cli_options *o, const struct cli_store *store)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_error err = HF_ERROR_INIT;
    const char *ddl = NULL;
    int r = hf_ddl(store->url, &ddl, &err);

    if (r) {
        char *why CLI_AUTO(cli_free_auto) = cli_secret_hide_quoted(err.text);

        return cli_fail(cli_exit_of(r), "check --ddl: %s", why);
    }
    if (o->is_json) {
        cli_text_add(&text, "{\"store\":");
        cli_text_json(&text, store->shown);
        cli_text_add(&text, ",\"ddl\":");
        cli_text_json(&text, ddl);
        cli_text_add(&text, "}\n");
    } else {
        cli_text_add(&text, "%s", ddl);
    }
    return cli_output(&text, CLI_EXIT_DONE);
}

int cli_check(const struct cli_options *o)
{
    struct cli_store store CLI_AUTO(cli_store_fini) = {0};
    hf_client *client CLI_AUTO(cli_client_auto) = NULL;
    hf_error err = HF_ERROR_INIT;
    hf_reach demanded;
    int r = cli_store_choose(o, &store);

    if (r) {
        return r;
    }
    if (o->is_ddl) {
        return print_ddl(o, &store);
    }
    demanded = store.reach;
    store.reach = HF_REACH_PROCESS;
    r = cli_store_open(&store, &client, &err);
    if (r == HF_EUNSAFE) {
        return show_refused(o, &store, err.text);
    }
    if (r) {
        return cli_store_say_failed(&store, r, &err);
    }
    return check(o, &store, client, demanded);
}
