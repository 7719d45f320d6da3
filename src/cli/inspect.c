/* SPDX-License-Identifier: MIT */
/*
 * The verbs that look at a store: `who NAME` (held is 0, free is 1), `ls
 * [PREFIX]` (0 also if nothing is held), `gc`, which deletes the records of
 * names that were idle long enough, and `check`: fit (0) if the store opens and
 * no item is unfit, otherwise unfit (1). A store that is fit but reaches less
 * far than --reach demands is refused with 77, as everywhere. The library
 * decides what is checked, and which records may be deleted without breaking a
 * promise. Thread: main.
 */
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/holder.h"
#include "src/cli/output.h"
#include "src/cli/secret.h"
#include "src/cli/text.h"

#include <inttypes.h>
#include <stdio.h>

struct checking {
    struct cli_table table;
    struct cli_text json;
    size_t count;
    bool is_unfit;
};

static const char *verdict_word(hf_verdict verdict)
{
    return verdict == HF_FINE ? "fine" : verdict == HF_WARN ? "warn" : "unfit";
}

static int collect_items(void *arg, const hf_check_item *item)
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

/* Add a word for each thing that the store can do, separated and quoted as
 * given. */
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

static int show_items(const struct cli_options *o, const struct checking *c,
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

/* Show that the store was refused when it was opened, which is an
 * answer, too. */
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
    r = r ? r : hf_check(client, collect_items, &c, &err);
    r = r ? cli_fail(cli_exit_of(r), "check: %s", err.text)
          : show_items(o, &c, &caps);
    cli_table_fini(&c.table);
    cli_text_fini(&c.json);
    return r;
}

/* Print the DDL without asking a server, which may not let this user create
 * tables. */
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

static uint64_t released(const hf_gc_info *info)
{
    return info->removed - info->expired - info->marks - info->cells;
}

static void add_part(struct cli_text *text, uint64_t n, const char *what,
                     bool *ret_is_first)
{
    if (n > 0) {
        cli_text_add(text, "%s%" PRIu64 " %s", *ret_is_first ? " (" : ", ", n,
                     what);
        *ret_is_first = false;
    }
}

/* Add "removed 6 records (3 expired, 2 released, 1 mark)". */
static void say(struct cli_text *text, const hf_gc_info *info, int64_t idle_ms)
{
    char idle[CLI_DURATION_SIZE];
    bool is_first = true;

    cli_text_add(text, "removed %" PRIu64 " %s", info->removed,
                 info->removed == 1 ? "record" : "records");
    add_part(text, info->expired, "expired", &is_first);
    add_part(text, released(info), "released", &is_first);
    add_part(text, info->marks, info->marks == 1 ? "mark" : "marks", &is_first);
    add_part(text, info->cells,
             info->cells == 1 ? "deleted cell" : "deleted cells", &is_first);
    cli_text_add(text, is_first ? "" : ")");
    cli_text_add(text, idle_ms ? " that nobody used for %s\n" : "\n",
                 cli_duration(idle_ms, idle));
}

int cli_gc(const struct cli_options *o)
{
    struct cli_store store CLI_AUTO(cli_store_fini) = {0};
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_client *client CLI_AUTO(cli_client_auto) = NULL;
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_gc_info info = HF_GC_INFO_INIT;
    int r = cli_store_enter(o, &store, &client);

    if (r) {
        return r;
    }
    r = hf_gc(client, o->idle_ms, &info, &err);
    r = r ? r : hf_caps(client, &caps);
    if (r) {
        return cli_fail(cli_exit_of(r), "gc: %s (%" PRIu64 " were removed)",
                        err.text, info.removed);
    }
    if (o->is_json) {
        cli_text_add(&text,
                     "{\"removed\":%" PRIu64 ",\"expired\":%" PRIu64
                     ",\"released\":%" PRIu64 ",\"marks\":%" PRIu64
                     ",\"cells\":%" PRIu64 ",\"idle_ms\":%" PRId64 ",",
                     info.removed, info.expired, released(&info), info.marks,
                     info.cells, o->idle_ms);
        cli_caps_json(&text, &caps);
        cli_text_add(&text, "}\n");
    } else {
        say(&text, &info, o->idle_ms);
    }
    return cli_output(&text, CLI_EXIT_DONE);
}

struct listing {
    struct cli_table table;
    struct cli_text json;
    hf_caps_info caps;
    size_t count;
};

static void add_lock(struct cli_table *table, const hf_info *info)
{
    int64_t left_ms = hf_info_remaining_ms(info);
    int64_t since_us = hf_info_acquired_us(info);
    char thread[CLI_THREAD_SIZE];
    char number[32];
    char stamp[CLI_STAMP_SIZE];
    char left[CLI_DURATION_SIZE];

    cli_table_add(table, hf_info_name(info));
    cli_table_add(table, hf_info_label(info));
    cli_table_add(table, hf_info_host(info));
    (void)snprintf(number, sizeof number, "%" PRId64, hf_info_pid(info));
    cli_table_add(table, hf_info_pid(info) > 0 ? number : NULL);
    cli_table_add(table, cli_holder_thread(info, thread));
    cli_table_add(table,
                  since_us > 0 ? cli_stamp_short(since_us, stamp) : NULL);
    cli_table_add(table, hf_info_holder_lives(info) == 0 ? "gone"
                         : left_ms >= 0 ? cli_duration_short(left_ms, left)
                                        : NULL);
    (void)snprintf(number, sizeof number, "%" PRIu64, hf_info_fence(info));
    cli_table_add(table, hf_info_fence(info) ? number : NULL);
    cli_table_add(table, hf_info_note(info));
}

static int collect_locks(void *arg, const hf_info *info)
{
    struct listing *listing = arg;

    cli_text_add(&listing->json, listing->count ? ",\n{" : "{");
    cli_holder_json(&listing->json, info);
    cli_text_add(&listing->json, ",");
    cli_caps_json(&listing->json, &listing->caps);
    cli_text_add(&listing->json, "}");
    add_lock(&listing->table, info);
    listing->count++;
    return 0;
}

static void show_locks(struct cli_text *text, const struct listing *listing,
                       bool is_json)
{
    if (is_json) {
        cli_text_add(text, "[%s]\n",
                     listing->json.data ? listing->json.data : "");
        return;
    }
    if (listing->count) {
        cli_table_write(&listing->table, text);
    }
    cli_text_add(text, "%zu held; ", listing->count);
    cli_caps_line(text, &listing->caps);
    cli_text_add(text, "\n");
}

static void add_head(struct cli_table *table)
{
    static const char *const head[] = {"NAME", "OWNER",  "HOST",
                                       "PID",  "THREAD", "SINCE",
                                       "LEFT", "FENCE",  "NOTE"};

    table->columns = sizeof head / sizeof *head;
    for (size_t i = 0; i < table->columns; i++) {
        cli_table_add(table, head[i]);
    }
}

int cli_ls(const struct cli_options *o)
{
    struct cli_store store CLI_AUTO(cli_store_fini) = {0};
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_client *client CLI_AUTO(cli_client_auto) = NULL;
    struct listing listing = {.caps = HF_CAPS_INFO_INIT};
    hf_error err = HF_ERROR_INIT;
    int r = cli_store_enter(o, &store, &client);

    if (r) {
        return r;
    }
    add_head(&listing.table);
    r = hf_caps(client, &listing.caps);
    r = r ? r : hf_list(client, o->name, collect_locks, &listing, &err);
    if (!r) {
        show_locks(&text, &listing, o->is_json);
    }
    cli_table_fini(&listing.table);
    cli_text_fini(&listing.json);
    if (r) {
        return cli_fail(cli_exit_of(r), "ls: %s", err.text);
    }
    return cli_output(&text, CLI_EXIT_DONE);
}

static void add_row(struct cli_text *text, const char *key, const char *word)
{
    cli_text_add(text, "  %-8s", key);
    cli_text_clean(text, word);
    cli_text_add(text, "\n");
}

/* Add one holder, with what the store knows of it. */
static void add_holder(struct cli_text *text, const hf_info *info)
{
    int64_t since_us = hf_info_acquired_us(info);
    int64_t left_ms = hf_info_remaining_ms(info);
    char stamp[CLI_STAMP_SIZE];
    char span[CLI_DURATION_SIZE];

    cli_text_add(text, "  %-8s", "by");
    cli_holder_who(text, info);
    cli_text_add(text, "%s\n",
                 hf_info_holder_lives(info) == 0 ? ", its process is gone"
                                                 : "");
    if (hf_info_shared(info) || hf_info_slots(info) > 0) {
        cli_text_add(text, "  %-8s", "mode");
        cli_holder_mode(text, info);
        cli_text_add(text, "\n");
    }
    if (hf_info_note(info) && *hf_info_note(info)) {
        add_row(text, "note", hf_info_note(info));
    }
    if (since_us > 0) {
        cli_text_add(
            text, "  %-8s%s (%s)\n", "since", cli_stamp_short(since_us, stamp),
            cli_duration_short((cli_wall_us() - since_us) / 1000, span));
    }
    if (left_ms >= 0) {
        cli_text_add(text, "  %-8s%s left\n", "lease",
                     cli_duration_short(left_ms, span));
    }
    if (hf_info_fence(info)) {
        cli_text_add(text, "  %-8s%" PRIu64 "\n", "fence", hf_info_fence(info));
    }
}

/* Add the waiters in the order in which they will be served. */
static void add_waiters(struct cli_text *text, const hf_info *info)
{
    const hf_info *one = NULL;
    int i = 0;

    while ((one = hf_info_waiter_at(info, i++)) != NULL) {
        int64_t since_us = hf_info_acquired_us(one);
        char stamp[CLI_STAMP_SIZE];

        cli_text_add(text, "  %-8s%d. ", i == 1 ? "waits" : "", i);
        cli_holder_who(text, one);
        if (since_us > 0) {
            cli_text_add(text, " since %s", cli_stamp_short(since_us, stamp));
        }
        cli_text_add(text, "\n");
    }
}

static void show_lock(struct cli_text *text, const hf_info *info,
                      const hf_caps_info *caps)
{
    hf_presence presence = hf_info_presence(info);

    cli_text_clean(text, hf_info_name(info));
    cli_text_add(text, "%s",
                 presence == HF_FREE      ? " is free"
                 : presence == HF_HELD_BY ? " is held"
                                          : ": the store cannot tell");
    if (cli_holder_kept_ms(info)) {
        cli_text_add(text, ", but ");
        cli_holder_kept(text, info);
    }
    cli_text_add(text, "\n");
    if (presence == HF_HELD_BY) {
        const hf_info *one = NULL;
        int i = 0;

        while ((one = hf_info_holder_at(info, i++)) != NULL) {
            add_holder(text, one);
        }
    } else if (hf_info_fence(info)) {
        cli_text_add(text, "  %-8s%" PRIu64 "\n", "fence", hf_info_fence(info));
    }
    add_waiters(text, info);
    cli_text_add(text, "  ");
    cli_caps_line(text, caps);
    cli_text_add(text, "\n");
}

int cli_who(const struct cli_options *o)
{
    struct cli_store store CLI_AUTO(cli_store_fini) = {0};
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_client *client CLI_AUTO(cli_client_auto) = NULL;
    hf_info *info CLI_AUTO(cli_info_auto) = NULL;
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_presence presence;
    int r = cli_store_enter(o, &store, &client);

    if (r) {
        return r;
    }
    r = hf_inspect(client, o->name, &info, &err);
    if (r || hf_caps(client, &caps)) {
        return cli_fail(cli_exit_of(r), "who %s: %s", o->name, err.text);
    }
    if (o->is_json) {
        cli_text_add(&text, "{");
        cli_holder_json(&text, info);
        cli_text_add(&text, ",");
        cli_caps_json(&text, &caps);
        cli_text_add(&text, "}\n");
    } else {
        show_lock(&text, info, &caps);
    }
    presence = hf_info_presence(info);
    return cli_output(&text, presence == HF_FREE      ? CLI_EXIT_NO
                             : presence == HF_HELD_BY ? CLI_EXIT_DONE
                                                      : CLI_EXIT_STORE);
}
