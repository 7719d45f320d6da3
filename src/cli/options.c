/* SPDX-License-Identifier: MIT */
/*
 * The tables: all verbs and options, their defaults, their ranges and their
 * help; the nearest word for a mistyped one; and the verbs that only print what
 * is written here: help, backends, version. args.c parses a line; each verb
 * does what its options say. Thread: main.
 */
#include "src/cli/options.h"
#include "include/holdfast.h"
#include "src/cli/args.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/output.h"
#include "src/cli/secret.h"
#include "src/cli/store.h"
#include "src/cli/text.h"

#include <stdio.h>
#include <string.h>

#define BIT(verb) (1u << CLI_##verb)
#define CLAIMS    (BIT(RUN) | BIT(HOLD) | BIT(ACQUIRE))
#define TOKENS    (BIT(RENEW) | BIT(RELEASE))
#define LOOKS     (BIT(WHO) | BIT(LS) | BIT(CHECK))
#define STORES    (CLAIMS | TOKENS | LOOKS | BIT(BREAK) | BIT(GC) | BIT(CELL))
#define ALL       ((1u << CLI_VERBS) - 1)

#define FIELD(name) offsetof(struct cli_options, name)

#define CENTURY_MS INT64_C(3155760000000)

const struct cli_option cli_option_table[] = {
    {"try", 'n', CLI_FLAG, CLAIMS, FIELD(is_try), 0, 0, NULL, NULL,
     "do not wait: a held lock is exit 75 at once"},
    {"wait", 'w', CLI_DURATION, CLAIMS, FIELD(wait_ms), -1, CENTURY_MS, "DUR",
     "forever", "how long to wait for a holder; 0 is --try"},
    {"wait", 'w', CLI_DURATION, BIT(CELL), FIELD(wait_ms), -1, CENTURY_MS,
     "DUR", "forever",
     "how long to go on while others change the cell; 0 tries once"},
    {"if-version", 0, CLI_NUMBER, BIT(CELL), FIELD(if_version), 0,
     INT64_C(9007199254740991), "N", NULL,
     "put, delete: only that version, 0 for none; else exit 1"},
    {"lock", 0, CLI_REPEATED, BIT(RUN) | BIT(HOLD), FIELD(locks), 1,
     HF_NAME_MAX, "NAME", NULL,
     "one more name, all or none of which are got; may be repeated"},
    {"lease", 0, CLI_DURATION, CLAIMS, FIELD(lease_ms), HF_LEASE_MIN_MS,
     HF_LEASE_MAX_MS, "DUR", "30s",
     "how long the lock outlives a holder that stopped renewing it; acquire: "
     "its life until it is renewed or released"},
    {"lease", 0, CLI_DURATION, BIT(RENEW), FIELD(lease_ms), HF_LEASE_MIN_MS,
     HF_LEASE_MAX_MS, "DUR", "30s",
     "its life from now on, whatever --lease acquire had"},
    {"token-file", 0, CLI_TEXT, BIT(ACQUIRE), FIELD(token_file), 1, 4096,
     "PATH", NULL, "write the token there, mode 0600, instead of to stdout"},
    {"token-file", 0, CLI_TEXT, TOKENS, FIELD(token_file), 1, 4096, "PATH",
     NULL,
     "read the token there, else from HOLDFAST_TOKEN; release removes it"},
    {"fair", 0, CLI_FLAG, CLAIMS, FIELD(is_fair), 0, 0, NULL, NULL,
     "wait in the order of arrival, also across processes"},
    {"shared", 's', CLI_FLAG, CLAIMS, FIELD(is_shared), 0, 0, NULL, NULL,
     "share the lock with others that ask for it as shared; without it the "
     "lock is for one alone"},
    {"slots", 0, CLI_NUMBER, CLAIMS, FIELD(slots), 1, HF_SLOTS_MAX, "N", NULL,
     "let N hold the lock at once; all must say the same N"},
    {"min-hold", 0, CLI_DURATION, CLAIMS, FIELD(min_hold_ms), 0, HF_KEEP_MAX_MS,
     "DUR", "0s",
     "from the grant on nobody else gets the lock for so long, also if its "
     "holder ends or is killed"},
    {"once-per", 0, CLI_DURATION, CLAIMS, FIELD(once_ms), 1, HF_KEEP_MAX_MS,
     "DUR", NULL,
     "exit 75 while the last start under this option is younger; choose less "
     "than the period: 20h for daily"},
    {"once-key", 0, CLI_TEXT, CLAIMS, FIELD(once_key), 1, HF_NAME_MAX, "KEY",
     NULL, "--once-per counts for each KEY; without it: once for ever"},
    {"retry-failed", 0, CLI_FLAG, BIT(RUN), FIELD(is_retry_failed), 0, 0, NULL,
     NULL, "a CMD that failed does not count as a start"},
    {"reentrant", 0, CLI_FLAG, BIT(RUN), FIELD(is_reentrant), 0, 0, NULL, NULL,
     "inside of a run that holds NAME, run CMD under that lock"},
    {"pass-password", 0, CLI_FLAG, BIT(RUN), FIELD(is_pass_password), 0, 0,
     NULL, NULL, "leave HOLDFAST_PASSWORD in the environment of CMD"},
    {"grace", 0, CLI_DURATION, BIT(RUN), FIELD(grace_ms), 0, HF_LEASE_MAX_MS,
     "DUR", "5s",
     "time between TERM and KILL when the lock is about to be lost, at most a "
     "third of --lease; below a lease of 30s, if not given, a sixth of it"},
    {"kill-after", 0, CLI_DURATION, BIT(RUN), FIELD(kill_after_ms), 0,
     CENTURY_MS, "DUR", NULL,
     "after TERM to holdfast was passed on, KILL what is left after DUR; "
     "default none"},
    {"max-run", 0, CLI_DURATION, BIT(RUN), FIELD(max_run_ms), 1, CENTURY_MS,
     "DUR", NULL,
     "how long CMD may run; then TERM, after --grace KILL, exit 124; default "
     "no limit"},
    {"on-lost", 0, CLI_WORD, BIT(RUN), FIELD(on_lost), 0, 0, "term|kill|ignore",
     "term",
     "when the lock is about to be lost: TERM and then KILL, only KILL, or "
     "leave CMD running, which is unsafe"},
    {"lost-hook", 0, CLI_TEXT, BIT(RUN), FIELD(lost_hook), 1, 65535, "CMD",
     NULL, "what /bin/sh runs, for at most 10s, when the lock is lost"},
    {"busy-exit", 'E', CLI_NUMBER, CLAIMS, FIELD(busy_exit), 0, 255, "N", "75",
     "exit code when somebody else holds the lock"},
    {"lost-exit", 0, CLI_NUMBER, BIT(RUN) | BIT(HOLD), FIELD(lost_exit), 0, 255,
     "N", "76", "exit code when the lock was lost after it was got"},
    {"shell", 'c', CLI_FLAG, BIT(RUN), FIELD(is_shell), 0, 0, NULL, NULL,
     "give the one word after -- to /bin/sh -c"},
    {"owner", 0, CLI_TEXT, CLAIMS, FIELD(owner), 0, HF_NOTE_MAX, "LABEL", NULL,
     "who shows it as the holder; %h host, %i address, %n node, %p pid, %t "
     "thread id, %T its name, %e ms since 1970; default: the name of CMD, else "
     "holdfast"},
    {"note", 0, CLI_TEXT, CLAIMS, FIELD(note), 0, HF_NOTE_MAX, "TEXT", NULL,
     "for people, shown by who"},
    {"status-file", 0, CLI_TEXT, BIT(RUN), FIELD(status_file), 1, 4096, "PATH",
     NULL, "write outcome, status, child_exit, child_signal there as JSON"},
    {"metrics-file", 0, CLI_TEXT, BIT(RUN), FIELD(metrics_file), 1, 4096,
     "PATH", NULL, "write the figures of this run there for Prometheus"},
    {"json-fd", 0, CLI_NUMBER, BIT(RUN), FIELD(json_fd), 0, 1048575, "N", NULL,
     "write events as JSON lines to descriptor N, text stays on stderr"},
    {"verbose", 'v', CLI_FLAG, CLAIMS, FIELD(is_verbose), 0, 0, NULL, NULL,
     "also say what goes well"},
    {"fence", 0, CLI_NUMBER, BIT(BREAK), FIELD(fence), 1,
     INT64_C(9007199254740991), "N", NULL, "break only the grant with fence N"},
    {"stale", 0, CLI_FLAG, BIT(BREAK), FIELD(is_stale), 0, 0, NULL, NULL,
     "break only if the holder is gone; a live one is left alone"},
    {"force", 0, CLI_FLAG, BIT(BREAK), FIELD(is_force), 0, 0, NULL, NULL,
     "break whoever holds it"},
    {"idle", 0, CLI_DURATION, BIT(GC), FIELD(idle_ms), 0, HF_KEEP_MAX_MS, "DUR",
     "24h", "delete what nobody has used for so long"},
    {"ddl", 0, CLI_FLAG, BIT(CHECK), FIELD(is_ddl), 0, 0, NULL, NULL,
     "print the SQL that makes the store's tables, for an administrator"},
    {"options", 0, CLI_FLAG, BIT(HELP), FIELD(is_listing), 0, 0, NULL, NULL,
     "list all options for programs: verb, option, argument, default"},
    {"url", 0, CLI_TEXT, STORES, FIELD(url), 1, 65535, "URL", NULL,
     "the store; default: HOLDFAST_URL, the configuration, "
     "else " CLI_DEFAULT_SCHEME},
    {"reach", 0, CLI_WORD, STORES, FIELD(reach), 0, 0,
     "process|user|host|hosts", NULL,
     "refuse a store that reaches less far, with 77; run and hold use one that "
     "reaches this process only if told so, acquire never"},
    {"allow", 0, CLI_TEXT, STORES, FIELD(allow), 1, 4096, "LIST", NULL,
     "use a store in spite of: evicting,replica,proxy,galera,netfs,"
     "few-members,volatile,hosts"},
    {"json", 0, CLI_FLAG, ALL, FIELD(is_json), 0, 0, NULL, NULL,
     "for programs; run: events on stderr, others: stdout"},
    {"help", 'h', CLI_FLAG, ALL, FIELD(is_help), 0, 0, NULL, NULL,
     "explain the verb"},
};

const size_t cli_option_count =
    sizeof cli_option_table / sizeof *cli_option_table;

_Static_assert(sizeof cli_option_table / sizeof *cli_option_table <= 64,
               "struct cli_options has a bit for each row");

bool cli_option_given(const struct cli_options *options, const char *name)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        if (options->given & UINT64_C(1) << i &&
            !strcmp(cli_option_table[i].name, name)) {
            return true;
        }
    }
    return false;
}

const struct cli_verb cli_verb_table[CLI_VERBS] = {
    [CLI_RUN] = {"run", "run [options] NAME -- CMD [ARGS...]",
                 "run CMD while holding the lock NAME", CLI_MUST_OPERAND},
    [CLI_HOLD] = {"hold", "hold [options] NAME",
                  "hold NAME until stdin ends or a signal comes",
                  CLI_MUST_OPERAND},
    [CLI_ACQUIRE] = {"acquire", "acquire [options] NAME",
                     "lock NAME for a lease of time, print its token",
                     CLI_MUST_OPERAND},
    [CLI_RENEW] = {"renew", "renew [options] NAME",
                   "begin the lease anew, by token; exit 1: not yours",
                   CLI_MUST_OPERAND},
    [CLI_RELEASE] = {"release", "release [options] NAME",
                     "let go of NAME, by token; exit 1: not yours",
                     CLI_MUST_OPERAND},
    [CLI_WHO] = {"who", "who [options] NAME",
                 "who holds NAME? exit 0: held, 1: free", CLI_MUST_OPERAND},
    [CLI_LS] = {"ls", "ls [options] [PREFIX]", "list the locks that are held",
                CLI_MAY_OPERAND},
    [CLI_BREAK] = {"break", "break NAME --fence N | --stale | --force",
                   "end somebody else's hold of NAME", CLI_MUST_OPERAND},
    [CLI_GC] = {"gc", "gc [options]", "delete the records of idle names",
                CLI_NO_OPERAND},
    [CLI_CELL] = {"cell", "cell get|put|delete|update [options] KEY [-- CMD]",
                  "a value with a version: read it, or change it unless others "
                  "were quicker",
                  CLI_MUST_OPERAND},
    [CLI_CHECK] = {"check", "check [options]",
                   "is the store fit for locks? exit 0: fit, 1: unfit",
                   CLI_NO_OPERAND},
    [CLI_BACKENDS] = {"backends", "backends [--json]",
                      "list the stores, and why one cannot be used",
                      CLI_NO_OPERAND},
    [CLI_VERSION] = {"version", "version [--json]", "print the version",
                     CLI_NO_OPERAND},
    [CLI_HELP] = {"help", "help [VERB]", "explain the command, or one verb",
                  CLI_MAY_OPERAND},
};

enum cli_verb_id cli_verb_find(const char *word)
{
    int i = 0;

    while (i < CLI_VERBS && strcmp(cli_verb_table[i].word, word)) {
        i++;
    }
    return (enum cli_verb_id)i;
}

/* Write "run, who, ls, …" to buf. */
static const char *verb_list(char *buf, size_t size)
{
    size_t length = 0;

    buf[0] = 0;
    for (int i = 0; i < CLI_VERBS; i++) {
        int n = snprintf(buf + length, size - length, "%s%s", i ? ", " : "",
                         cli_verb_table[i].word);

        length += n > 0 && (size_t)n < size - length ? (size_t)n : 0;
    }
    return buf;
}

#define LONGEST 31

void cli_suggest_init(struct cli_suggest *s, const char *word)
{
    size_t length = strlen(word);

    s->word = word;
    s->nearest = NULL;
    s->distance = length > 5 ? length / 3 + 1 : 2 + (length > 2);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1];
    size_t n = strlen(a);
    size_t m = strlen(b);

    if (n > LONGEST || m > LONGEST) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            bool is_swap =
                i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (is_swap) {
                row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1);
            }
        }
    }
    return rows[n % 3][m];
}

void cli_suggest_try(struct cli_suggest *s, const char *candidate)
{
    size_t d = distance(s->word, candidate);

    if (d < s->distance) {
        s->distance = d;
        s->nearest = candidate;
    }
}

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

/* Add words, wrapped at 79 columns, each line after the first indented. */
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

/* Add lines of "verb option argument default", separated by tabs, "-"
 * for none. */
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

int cli_verb_unknown(const char *prefix, const char *typed)
{
    char *word CLI_AUTO(cli_free_auto) = cli_secret_hide_all(typed);
    char list[256];
    struct cli_suggest near;

    (void)verb_list(list, sizeof list);
    if (word[0] == '-' && !*prefix) {
        return cli_fail(CLI_EXIT_USAGE,
                        "the verb comes first: holdfast VERB [options]; the "
                        "verbs: %s",
                        list);
    }
    cli_suggest_init(&near, word);
    for (int i = 0; i < CLI_VERBS; i++) {
        cli_suggest_try(&near, cli_verb_table[i].word);
    }
    if (near.nearest) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s'%s' is no verb; did you mean %s? The verbs: %s",
                        prefix, word, near.nearest, list);
    }
    return cli_fail(CLI_EXIT_USAGE, "%s'%s' is no verb; the verbs: %s", prefix,
                    word, list);
}

int cli_help(const struct cli_options *o)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    enum cli_verb_id verb = o->is_help ? o->verb : CLI_VERBS;

    if (o->verb == CLI_HELP && o->name) {
        verb = cli_verb_find(o->name);
        if (verb == CLI_VERBS) {
            return cli_verb_unknown("help: ", o->name);
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

static void add_line(struct cli_text *text, const char *store)
{
    hf_error err = HF_ERROR_INIT;

    if (hf_backend_load(store, &err) == HF_OK) {
        cli_text_add(text, "%s\n", store);
    } else {
        cli_text_add(text, "%s (cannot be used: %s)\n", store, err.text);
    }
}

static void add_unusable(struct cli_text *text)
{
    const char *comma = "";

    for (int i = 0; hf_backends(i); i++) {
        hf_error err = HF_ERROR_INIT;

        if (hf_backend_load(hf_backends(i), &err) != HF_OK) {
            cli_text_add(text, "%s{\"store\":", comma);
            cli_text_json(text, hf_backends(i));
            cli_text_add(text, ",\"reason\":");
            cli_text_json(text, err.text);
            cli_text_add(text, "}");
            comma = ",";
        }
    }
}

int cli_backends(const struct cli_options *o)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&text, o->is_json ? "{\"backends\":[" : "");
    for (int i = 0; hf_backends(i); i++) {
        if (o->is_json) {
            cli_text_add(&text, i ? "," : "");
            cli_text_json(&text, hf_backends(i));
        } else {
            add_line(&text, hf_backends(i));
        }
    }
    if (o->is_json) {
        cli_text_add(&text, "],\"unusable\":[");
        add_unusable(&text);
        cli_text_add(&text, "]}\n");
    }
    return cli_output(&text, CLI_EXIT_DONE);
}

int cli_version(const struct cli_options *o)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&text, o->is_json ? "{\"version\":\"%s\"}\n" : "holdfast %s\n",
                 hf_version());
    return cli_output(&text, CLI_EXIT_DONE);
}
