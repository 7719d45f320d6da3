/* SPDX-License-Identifier: MIT */
/*
 * `help`: writes the tables of options.h, for people and, with --options,
 * one line an option for programs. Nothing is written here that the tables
 * could say. Thread: main.
 */
#include "src/cli/args.h"
#include "src/cli/duration.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/place.h"
#include "src/cli/say.h"
#include "src/cli/secret.h"
#include "src/cli/suggest.h"

#include <stdio.h>
#include <string.h>

static const char environment[] =
    "CMD finds in its environment:\n"
    "  HOLDFAST_NAME         the lock's name\n"
    "  HOLDFAST_FENCE        the fencing number of this hold, 0: none\n"
    "  HOLDFAST_FENCES       the same for NAME and each --lock, in the order "
    "of\n"
    "                        the line, separated by spaces\n"
    "  HOLDFAST_TOKEN        the secret of this hold\n"
    "  HOLDFAST_SLOT         with --slots N: which, 0 to N-1\n"
    "  HOLDFAST_STORE        the store, without secrets\n"
    "  HOLDFAST_DEADLINE_MS  until when the lock is surely held unless it is\n"
    "                        renewed: milliseconds of CLOCK_BOOTTIME\n";

static void add_name(struct cli_text *text, const struct cli_option *option)
{
    if (option->letter) {
        cli_text_add(text, "-%c, ", option->letter);
    } else {
        cli_text_add(text, "    ");
    }
    cli_text_add(text, "--%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
}

/* Words, broken at 79 columns, each line behind the first indented. */
static void add_wrapped(struct cli_text *text, const char *words)
{
    size_t column = 28;

    while (*words) {
        size_t length = strcspn(words, " ");

        if (column + length > 78) {
            cli_text_add(text, "\n%27s", "");
            column = 27;
        }
        cli_text_add(text, " %.*s", (int)length, words);
        column += length + 1;
        words += length + (words[length] == ' ');
    }
    cli_text_add(text, "\n");
}

static void add_option(struct cli_text *text, const struct cli_option *option)
{
    struct cli_text name CLI_AUTO(cli_text_fini) = {0};
    char *help CLI_AUTO(cli_free_auto) =
        option->initial
            ? cli_format("%s; default %s", option->help, option->initial)
            : cli_strdup(option->help);

    add_name(&name, option);
    cli_text_add(text, name.length > 24 ? "  %s\n%27s" : "  %-25s", name.data,
                 "");
    add_wrapped(text, help);
}

static void add_exits(struct cli_text *text)
{
    cli_text_add(text, "Exit codes:\n");
#define CLI_X(name, value, words)                                              \
    cli_text_add(text, "  %-4d %s\n", value, words);
    CLI_EXIT_MAP(CLI_X)
#undef CLI_X
}

static void add_verb(struct cli_text *text, enum cli_verb_id id)
{
    const struct cli_verb *verb = &cli_verb_table[id];

    cli_text_add(text, "holdfast %s\n\n  %s\n\nOptions:\n", verb->usage,
                 verb->summary);
    for (size_t i = 0; i < cli_option_count; i++) {
        if (cli_option_table[i].verbs & 1u << id) {
            add_option(text, &cli_option_table[i]);
        }
    }
    if (id == CLI_RUN) {
        cli_text_add(text,
                     "\nDurations: 250ms 30s 5m 2h 1d 1h30m; a bare number is "
                     "seconds.\n\n%s\n",
                     environment);
        add_exits(text);
    }
}

static void add_overview(struct cli_text *text)
{
    cli_text_add(text, "holdfast: locks over the servers you already run\n\n");
    for (int i = 0; i < CLI_VERBS; i++) {
        cli_text_add(text, "  holdfast %-43s %s\n", cli_verb_table[i].usage,
                     cli_verb_table[i].summary);
    }
    cli_text_add(text, "\nThe store is the first of --url, HOLDFAST_URL, `url "
                       "=` in\n~/.config/holdfast/config or "
                       "/etc/holdfast/config, else " CLI_DEFAULT_STORE " in "
                       "/var/lib/holdfast\n(root) or "
                       "~/.local/state/holdfast.\n\n");
    add_exits(text);
    cli_text_add(text, "\nMore: holdfast help VERB\n");
}

static void add_listed(struct cli_text *text, const char *verb,
                       const struct cli_option *option)
{
    cli_text_add(text, "%s\t--%s", verb, option->name);
    if (option->letter) {
        cli_text_add(text, ",-%c", option->letter);
    }
    cli_text_add(text, "\t%s\t%s\n", option->argument ? option->argument : "-",
                 option->initial ? option->initial : "-");
}

/* "verb option argument default", separated by tabs, "-" for none. */
static void add_listing(struct cli_text *text)
{
    for (int verb = 0; verb < CLI_VERBS; verb++) {
        for (size_t i = 0; i < cli_option_count; i++) {
            if (cli_option_table[i].verbs & 1u << verb) {
                add_listed(text, cli_verb_table[verb].word,
                           &cli_option_table[i]);
            }
        }
    }
}

static void add_json_option(struct cli_text *text,
                            const struct cli_option *option)
{
    char letter[2] = {option->letter, 0};

    cli_text_add(text, "{\"option\":\"--%s\",\"letter\":", option->name);
    cli_text_json(text, option->letter ? letter : NULL);
    cli_text_add(text, ",\"argument\":");
    cli_text_json(text, option->argument);
    cli_text_add(text, ",\"default\":");
    cli_text_json(text, option->initial);
    cli_text_add(text, ",\"help\":");
    cli_text_json(text, option->help);
    cli_text_add(text, "}");
}

static void add_json_verb(struct cli_text *text, enum cli_verb_id id)
{
    bool is_first = true;

    cli_text_add(text, "{\"verb\":\"%s\",\"usage\":", cli_verb_table[id].word);
    cli_text_json(text, cli_verb_table[id].usage);
    cli_text_add(text, ",\"summary\":");
    cli_text_json(text, cli_verb_table[id].summary);
    cli_text_add(text, ",\"options\":[");
    for (size_t i = 0; i < cli_option_count; i++) {
        if (cli_option_table[i].verbs & 1u << id) {
            cli_text_add(text, is_first ? "" : ",");
            add_json_option(text, &cli_option_table[i]);
            is_first = false;
        }
    }
    cli_text_add(text, "]}");
}

static void add_json(struct cli_text *text, enum cli_verb_id only)
{
    cli_text_add(text, "{\"verbs\":[");
    for (int i = 0; i < CLI_VERBS; i++) {
        if (only == CLI_VERBS || only == (enum cli_verb_id)i) {
            cli_text_add(text, i && only == CLI_VERBS ? ",\n" : "");
            add_json_verb(text, (enum cli_verb_id)i);
        }
    }
    cli_text_add(text, "]}\n");
}

static int unknown(const char *typed)
{
    char *word CLI_AUTO(cli_free_auto) = cli_secret_hide_all(typed);
    char list[256];
    struct cli_suggest near;

    cli_suggest_init(&near, word);
    for (int i = 0; i < CLI_VERBS; i++) {
        cli_suggest_try(&near, cli_verb_table[i].word);
    }
    return cli_fail(CLI_EXIT_USAGE, "help: '%s' is no verb%s%s; the verbs: %s",
                    word, near.nearest ? "; did you mean " : "",
                    near.nearest ? near.nearest : "",
                    cli_verb_list(list, sizeof list));
}

int cli_help(const struct cli_options *o)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    enum cli_verb_id verb = o->is_help ? o->verb : CLI_VERBS;

    if (o->verb == CLI_HELP && o->name) {
        verb = cli_verb_find(o->name);
        if (verb == CLI_VERBS) {
            return unknown(o->name);
        }
    }
    if (o->is_listing) {
        add_listing(&text);
    } else if (o->is_json) {
        add_json(&text, verb);
    } else if (verb == CLI_VERBS) {
        add_overview(&text);
    } else {
        add_verb(&text, verb);
    }
    return cli_output(&text, CLI_EXIT_DONE);
}
