/* SPDX-License-Identifier: MIT */
/*
 * Decides which verbs and options there are, their defaults, their ranges
 * and the words that explain them. How a line is parsed is args.c's; what an
 * option does is its verb's. Thread: main.
 */
#include "src/cli/options.h"
#include "include/holdfast.h"
#include "src/cli/place.h"

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
