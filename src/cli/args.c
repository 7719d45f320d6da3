/* SPDX-License-Identifier: MIT */
/*
 * Turns the words of the command line into options. An option may stand before
 * or after NAME, as --name VALUE, --name=VALUE, -n VALUE or -nVALUE, and flags
 * of one letter may be joined. For run everything after `--` belongs to the
 * command and is never parsed. If `--` or the command is missing, the error
 * shows the corrected line, each word quoted for a shell. Thread: main.
 */
#include "src/cli/args.h"
#include "include/holdfast.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/output.h"
#include "src/cli/secret.h"
#include "src/cli/text.h"

#include <stdio.h>
#include <string.h>

static void add_words(struct cli_text *line, char **argv, int from, int to)
{
    for (int i = from; i < to; i++) {
        bool is_url =
            !strcmp(argv[i - 1], "--url") || !strncmp(argv[i], "--url=", 6);
        char *shown CLI_AUTO(cli_free_auto) =
            is_url ? cli_secret_hide_all(argv[i]) : cli_secret_hide(argv[i]);

        cli_text_add(line, " ");
        cli_text_shell(line, shown);
    }
}

/* Report that `--` is missing before argv[at]. Returns 64. */
static int correct_dashes(char **argv, int argc, int at)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&line, "holdfast");
    add_words(&line, argv, 1, at);
    cli_text_add(&line, " --");
    add_words(&line, argv, at, argc);
    return cli_fail(CLI_EXIT_USAGE,
                    "run: `--` must stand before the command: %s", line.data);
}

/* Report that the command is missing after argv[0..end). Returns 64. */
static int correct_command(char **argv, int end)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&line, "holdfast");
    add_words(&line, argv, 1, end);
    return cli_fail(CLI_EXIT_USAGE, "run: the command is missing: %s -- CMD",
                    line.data);
}

struct parse {
    int argc;
    char **argv;
    int at; /* index of the word being parsed */
    struct cli_options *options;
    const char *word; /* name of the verb, for messages */
};

/* Find an option of a verb by its name or, without a name, by its letter.
 * Returns NULL if the verb has no such option. */
static const struct cli_option *find(enum cli_verb_id verb, const char *name,
                                     size_t length, char letter)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option *option = &cli_option_table[i];
        bool is_it = name ? strlen(option->name) == length &&
                                !memcmp(option->name, name, length)
                          : option->letter == letter;

        if (is_it && (option->verbs & 1u << verb)) {
            return option;
        }
    }
    return NULL;
}

static int64_t *number_of(struct cli_options *options,
                          const struct cli_option *option)
{
    return (int64_t *)(void *)((char *)options + option->field);
}

static const char **text_of(struct cli_options *options,
                            const struct cli_option *option)
{
    return (const char **)(void *)((char *)options + option->field);
}

static bool read_number(const char *text, int64_t *ret_value)
{
    size_t digits = strspn(text, "0123456789");

    if (!digits || text[digits] || digits > 18) {
        return false;
    }
    *ret_value = 0;
    for (; *text; text++) {
        *ret_value = *ret_value * 10 + (*text - '0');
    }
    return true;
}

static int set_number(struct cli_options *options,
                      const struct cli_option *option, const char *value)
{
    int64_t number;

    if (!read_number(value, &number) || number < option->low ||
        number > option->high) {
        char *shown CLI_AUTO(cli_free_auto) = cli_secret_hide_all(value);

        return cli_fail(CLI_EXIT_USAGE,
                        "--%s: '%s' is not a number from %lld to %lld",
                        option->name, shown, (long long)option->low,
                        (long long)option->high);
    }
    *number_of(options, option) = number;
    return 0;
}

static int set_duration(struct cli_options *options,
                        const struct cli_option *option, const char *value)
{
    char low[CLI_DURATION_SIZE];
    char high[CLI_DURATION_SIZE];
    int64_t ms;

    if (option->low < 0 && !strcmp(value, "forever")) {
        *number_of(options, option) = HF_FOREVER;
        return 0;
    }
    if (!cli_duration_parse(value, &ms)) {
        char *shown CLI_AUTO(cli_free_auto) = cli_secret_hide_all(value);

        return cli_fail(CLI_EXIT_USAGE,
                        "--%s: '%s' is not a duration such as 250ms, 30s, 5m, "
                        "1h30m or 2d%s",
                        option->name, shown,
                        option->low < 0 ? ", nor the word forever" : "");
    }
    if (ms < option->low || ms > option->high) {
        return cli_fail(CLI_EXIT_USAGE, "--%s: %s is outside %s to %s",
                        option->name, value, cli_duration(option->low, low),
                        cli_duration(option->high, high));
    }
    *number_of(options, option) = ms;
    return 0;
}

static int set_text(struct cli_options *options,
                    const struct cli_option *option, const char *value)
{
    size_t length = strlen(value);

    if ((int64_t)length < option->low || (int64_t)length > option->high) {
        return cli_fail(CLI_EXIT_USAGE,
                        "--%s: the value has %zu bytes, not %lld to %lld",
                        option->name, length, (long long)option->low,
                        (long long)option->high);
    }
    *text_of(options, option) = value;
    return 0;
}

static int add_text(struct cli_options *options,
                    const struct cli_option *option, const char *value)
{
    struct cli_list *list =
        (struct cli_list *)(void *)((char *)options + option->field);

    if (list->count == CLI_LIST_MAX) {
        return cli_fail(CLI_EXIT_USAGE, "--%s: more than %d times",
                        option->name, CLI_LIST_MAX);
    }
    list->words[list->count++] = value;
    return 0;
}

static int set_word(struct cli_options *options,
                    const struct cli_option *option, const char *value)
{
    const char *words = option->argument;
    size_t length = strlen(value);

    while (strcspn(words, "|") != length || memcmp(words, value, length)) {
        words += strcspn(words, "|");
        if (!*words++) {
            char *shown CLI_AUTO(cli_free_auto) = cli_secret_hide_all(value);

            return cli_fail(CLI_EXIT_USAGE, "--%s: '%s' is none of %s",
                            option->name, shown, option->argument);
        }
    }
    *text_of(options, option) = value;
    return 0;
}

static int set(struct cli_options *options, const struct cli_option *option,
               const char *value)
{
    switch (option->kind) {
    case CLI_FLAG:
        *number_of(options, option) = 1;
        return 0;
    case CLI_TEXT:
        return set_text(options, option, value);
    case CLI_NUMBER:
        return set_number(options, option, value);
    case CLI_DURATION:
        return set_duration(options, option, value);
    case CLI_WORD:
        return set_word(options, option, value);
    case CLI_REPEATED:
        return add_text(options, option, value);
    }
    return CLI_EXIT_INTERNAL;
}

static int unknown_option(const struct parse *p, const char *typed)
{
    char *word CLI_AUTO(cli_free_auto) = cli_secret_hide_all(typed);
    struct cli_suggest near;
    size_t length = strcspn(word, "=");
    char name[32] = "";

    (void)snprintf(name, sizeof name, "%.*s", (int)length, word);
    cli_suggest_init(&near, name + 2);
    for (size_t i = 0; word[1] == '-' && i < cli_option_count; i++) {
        if (cli_option_table[i].verbs & 1u << p->options->verb) {
            cli_suggest_try(&near, cli_option_table[i].name);
        }
    }
    if (near.nearest) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: unknown option '%.*s'; did you mean --%s?",
                        p->word, (int)length, word, near.nearest);
    }
    return cli_fail(CLI_EXIT_USAGE,
                    "%s: unknown option '%.*s'; see: holdfast help %s", p->word,
                    (int)length, word, p->word);
}

/* Set an option from its value: the rest of the same word (`joined`), else the
 * next word. */
static int set_from(struct parse *p, const struct cli_option *option,
                    const char *joined)
{
    if (option->kind != CLI_FLAG && !joined) {
        if (p->at + 1 >= p->argc || !strcmp(p->argv[p->at + 1], "--")) {
            return cli_fail(CLI_EXIT_USAGE, "%s: --%s needs a value: --%s %s",
                            p->word, option->name, option->name,
                            option->argument);
        }
        joined = p->argv[++p->at];
    }
    p->options->given |= UINT64_C(1) << (option - cli_option_table);
    return set(p->options, option, joined);
}

static int parse_long(struct parse *p, const char *word)
{
    size_t length = strcspn(word + 2, "=");
    const char *joined = word[2 + length] ? word + 3 + length : NULL;
    const struct cli_option *option =
        find(p->options->verb, word + 2, length, 0);

    if (!option) {
        return unknown_option(p, word);
    }
    if (joined && option->kind == CLI_FLAG) {
        return cli_fail(CLI_EXIT_USAGE, "%s: --%s takes no value", p->word,
                        option->name);
    }
    return set_from(p, option, joined);
}

static int parse_letters(struct parse *p, const char *word)
{
    for (const char *c = word + 1; *c; c++) {
        const struct cli_option *option = find(p->options->verb, NULL, 0, *c);

        if (!option) {
            char *shown CLI_AUTO(cli_free_auto) = cli_secret_hide_all(word);

            return c == word + 1 ? unknown_option(p, word)
                                 : cli_fail(CLI_EXIT_USAGE,
                                            "%s: unknown option '-%c' in '%s'",
                                            p->word, *c, shown);
        }
        if (option->kind != CLI_FLAG) {
            return set_from(p, option, c[1] ? c + 1 : NULL);
        }
        (void)set_from(p, option, NULL);
    }
    return 0;
}

static int unexpected(const struct parse *p, const char *word)
{
    char *shown CLI_AUTO(cli_free_auto) = cli_secret_hide_all(word);
    const char *name = p->options->name;

    return cli_fail(CLI_EXIT_USAGE, "%s: unexpected word '%s'%s%s%s", p->word,
                    shown, name ? " after '" : "", name ? name : "",
                    name ? "'" : "");
}

/* This allocates nothing for a valid line, so that a later failure to allocate
 * already knows whether --json was given. */
static int parse_operand(struct parse *p, const char *word)
{
    const struct cli_verb *verb = &cli_verb_table[p->options->verb];

    if (p->options->name && p->options->verb == CLI_RUN) {
        return correct_dashes(p->argv, p->argc, p->at);
    }
    if (p->options->verb == CLI_CELL && !p->options->action) {
        p->options->action = word;
        return 0;
    }
    if (verb->operand == CLI_NO_OPERAND || p->options->name) {
        return unexpected(p, word);
    }
    p->options->name = word;
    return 0;
}

static int parse_word(struct parse *p)
{
    const char *word = p->argv[p->at];

    if (word[0] != '-' || !word[1]) {
        return parse_operand(p, word);
    }
    return word[1] == '-' ? parse_long(p, word) : parse_letters(p, word);
}

static int parse_words(struct parse *p)
{
    bool is_open = true; /* no `--` came yet */
    int r = 0;

    for (; !r && p->at < p->argc; p->at++) {
        if (is_open && !strcmp(p->argv[p->at], "--")) {
            is_open = false;
            if (p->options->verb == CLI_RUN || p->options->verb == CLI_CELL) {
                p->options->command = p->argv + p->at + 1;
                return 0;
            }
            continue;
        }
        r = is_open ? parse_word(p) : parse_operand(p, p->argv[p->at]);
    }
    return r;
}

static int check_operands(const struct parse *p)
{
    const struct cli_options *o = p->options;
    const struct cli_verb *verb = &cli_verb_table[o->verb];

    if (o->is_help) {
        return 0;
    }
    if (verb->operand == CLI_MUST_OPERAND && !o->name) {
        return cli_fail(CLI_EXIT_USAGE, "%s: %s is missing: holdfast %s",
                        p->word, o->verb == CLI_CELL ? "KEY" : "NAME",
                        verb->usage);
    }
    if (o->verb == CLI_RUN && (!o->command || !o->command[0])) {
        return correct_command(p->argv, o->command ? p->at : p->argc);
    }
    return 0;
}

static int parse(struct parse *p)
{
    struct cli_options *o = p->options;
    int r;

    if (p->argc < 2) {
        return cli_verb_unknown("", "-");
    }
    if (!strcmp(p->argv[1], "-h") || !strcmp(p->argv[1], "--help")) {
        o->verb = CLI_HELP;
    } else if (!strcmp(p->argv[1], "-V") || !strcmp(p->argv[1], "--version")) {
        o->verb = CLI_VERSION;
    } else {
        o->verb = cli_verb_find(p->argv[1]);
    }
    if (o->verb == CLI_VERBS) {
        return cli_verb_unknown("", p->argv[1]);
    }
    p->word = cli_verb_table[o->verb].word;
    r = parse_words(p);
    return r ? r : check_operands(p);
}

/* Look for --json also after the word that was wrong, so that the error is
 * printed as JSON. */
static void look_for_json(struct parse *p)
{
    for (; p->at < p->argc && strcmp(p->argv[p->at], "--") != 0; p->at++) {
        if (!strcmp(p->argv[p->at], "--json")) {
            p->options->is_json = 1;
        }
    }
}

int cli_parse(int argc, char **argv, struct cli_options *ret_options)
{
    struct parse p = {argc, argv, 2, ret_options, NULL};
    int r;

    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option *option = &cli_option_table[i];

        if (option->initial) {
            (void)set(ret_options, option, option->initial);
        } else if (option->kind == CLI_NUMBER || option->kind == CLI_DURATION) {
            *number_of(ret_options, option) = -1;
        }
    }
    r = parse(&p);
    if (r) {
        look_for_json(&p);
    }
    return r;
}
