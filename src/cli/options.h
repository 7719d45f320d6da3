/* SPDX-License-Identifier: MIT */
/*
 * The verbs and options of the command as data. The parser, `help`, the
 * machine-readable `help --options` and the test that compares
 * docs/reference.md all read only these two tables; a default is the text in
 * its row, parsed as if it had been given. Thread: main.
 */
#ifndef HF_CLI_OPTIONS_H
#define HF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_VERB_MAP(X)                                                        \
    X(RUN, run)                                                                \
    X(HOLD, hold)                                                              \
    X(ACQUIRE, acquire)                                                        \
    X(RENEW, renew)                                                            \
    X(RELEASE, release)                                                        \
    X(WHO, who)                                                                \
    X(LS, ls)                                                                  \
    X(BREAK, break)                                                            \
    X(GC, gc)                                                                  \
    X(CELL, cell)                                                              \
    X(CHECK, check)                                                            \
    X(BACKENDS, backends)                                                      \
    X(VERSION, version)                                                        \
    X(HELP, help)

enum cli_verb_id {
#define CLI_X(id, word) CLI_##id,
    CLI_VERB_MAP(CLI_X)
#undef CLI_X
        CLI_VERBS
};

/* The values of an option that may be given more than once. */
#define CLI_LIST_MAX 255
struct cli_list {
    int count;
    const char *words[CLI_LIST_MAX];
};

/* All numbers are int64_t, flags 0 or 1; -1 and NULL mean "not given". */
struct cli_options {
    uint64_t given; /* bit i: row i of the option table was given */
    enum cli_verb_id verb;
    const char *action; /* the action on a cell */
    const char *name;   /* NAME, KEY, PREFIX or VERB; NULL: none */
    char **command;     /* what follows `--`; NULL: no `--` */
    const char *url;
    const char *reach;
    const char *allow;
    const char *owner;
    const char *note;
    const char *status_file;
    const char *metrics_file;
    const char *on_lost;
    const char *lost_hook;
    const char *once_key;
    const char *token_file;
    int64_t is_json;
    int64_t is_help;
    int64_t is_verbose;
    int64_t is_try;
    int64_t is_shell;
    int64_t is_retry_failed;
    int64_t is_reentrant;
    int64_t is_pass_password;
    int64_t is_fair;
    int64_t is_shared;
    int64_t slots;
    int64_t is_stale;
    int64_t is_force;
    int64_t is_listing;
    int64_t wait_ms;
    int64_t lease_ms;
    int64_t min_hold_ms;
    int64_t once_ms;
    int64_t idle_ms;
    int64_t is_ddl;
    int64_t grace_ms;
    int64_t kill_after_ms;
    int64_t max_run_ms;
    int64_t busy_exit;
    int64_t lost_exit;
    int64_t json_fd;
    int64_t fence;
    int64_t if_version;
    struct cli_list locks;
};

enum cli_kind {
    CLI_FLAG,
    CLI_TEXT,
    CLI_NUMBER,
    CLI_DURATION, /* or, where `low` is -1, the word "forever" */
    CLI_WORD,     /* one of the words in `argument`, separated by | */
    CLI_REPEATED  /* a text that is added to a list each time */
};

struct cli_option {
    const char *name;
    char letter; /* 0: none */
    enum cli_kind kind;
    unsigned verbs; /* 1u << CLI_RUN, … */
    size_t field;   /* offset in struct cli_options */
    int64_t low;
    int64_t high;
    const char *argument; /* "DUR"; NULL for a flag */
    const char *initial;  /* the default; NULL: none */
    const char *help;
};

/* Whether a word besides the options is allowed. */
enum cli_operand { CLI_NO_OPERAND, CLI_MAY_OPERAND, CLI_MUST_OPERAND };

struct cli_verb {
    const char *word;
    const char *usage;
    const char *summary;
    enum cli_operand operand;
};

extern const struct cli_option cli_option_table[];
extern const size_t cli_option_count;
extern const struct cli_verb cli_verb_table[CLI_VERBS];

/* Tell whether the option of that name was given. */
bool cli_option_given(const struct cli_options *, const char *name);

/* Returns 0 to CLI_VERBS - 1, or CLI_VERBS for an unknown word. */
enum cli_verb_id cli_verb_find(const char *word);
/* Say that the verb is unknown, after the prefix, with the verb that may be
 * meant. Returns 64. */
int cli_verb_unknown(const char *prefix, const char *typed);

/* The verbs: each returns the program's exit code. Only main.c maps verbs to
 * functions, so that a program that reads the tables need not link them all. */
#define CLI_X(id, word) int cli_##word(const struct cli_options *);
CLI_VERB_MAP(CLI_X)
#undef CLI_X

/* Keeps the nearest of the words that were tried. */
struct cli_suggest {
    const char *word;
    const char *nearest; /* NULL: none is near enough */
    size_t distance;
};

void cli_suggest_init(struct cli_suggest *, const char *word);
void cli_suggest_try(struct cli_suggest *, const char *candidate);

#endif
