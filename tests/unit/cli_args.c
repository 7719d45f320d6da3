/* SPDX-License-Identifier: MIT */
/*
 * The parser and its tables: what a line means, and that each refusal is 64.
 */
#include "src/cli/args.h"
#include "src/cli/output.h"
#include "tests/lib/test.h"

#include <string.h>

#define WORDS_MAX 32

static struct cli_options options;

/* Parse "run -n job -- true", split at single spaces. */
static int parse(const char *line)
{
    static char words[1024];
    static char *argv[WORDS_MAX + 1];
    char *word = words;
    int argc = 1;

    EXPECT(strlen(line) < sizeof words);
    memcpy(words, line, strlen(line) + 1);
    argv[0] = (char[]){"holdfast"};
    for (; *word; argc++) {
        size_t length = strcspn(word, " ");

        EXPECT(argc < WORDS_MAX);
        argv[argc] = word;
        word += length;
        if (*word) {
            *word++ = 0;
        }
    }
    argv[argc] = NULL;
    options = (struct cli_options){0};
    return cli_parse(argc, argv, &options);
}

TEST(defaults_are_those_of_the_table)
{
    EXPECT_IS(parse("run job -- true"), 0);
    EXPECT_IS(options.verb, CLI_RUN);
    EXPECT_IS(options.wait_ms, -1);
    EXPECT_IS(options.lease_ms, 30000);
    EXPECT_IS(options.grace_ms, 5000);
    EXPECT_IS(options.kill_after_ms, -1);
    EXPECT_IS(options.busy_exit, 75);
    EXPECT_IS(options.lost_exit, 76);
    EXPECT_IS(options.json_fd, -1);
    EXPECT_IS(options.given, 0);
    EXPECT(!options.url && !options.reach && !options.is_try);
}

TEST(everything_behind_the_dashes_is_the_commands)
{
    EXPECT_IS(parse("run job -- cmd --try -- -x"), 0);
    EXPECT_TEXT(options.name, "job");
    EXPECT_TEXT(options.command[0], "cmd");
    EXPECT_TEXT(options.command[1], "--try");
    EXPECT_TEXT(options.command[2], "--");
    EXPECT_TEXT(options.command[3], "-x");
    EXPECT(!options.command[4]);
    EXPECT_IS(options.is_try, 0);
}

TEST(an_option_may_be_written_in_four_ways)
{
    static const char *const lines[] = {
        "run --busy-exit 9 job -- x", "run job --busy-exit=9 -- x",
        "run -E 9 job -- x",          "run job -E9 -- x",
        "run -nE9 job -- x",          "run -E=9 job -- x",
    };

    for (size_t i = 0; i < 5; i++) {
        EXPECT_IS(parse(lines[i]), 0);
        EXPECT_IS(options.busy_exit, 9);
        EXPECT(cli_option_given(&options, "busy-exit"));
        EXPECT(!cli_option_given(&options, "wait"));
    }
    EXPECT_IS(parse(lines[5]), CLI_EXIT_USAGE);
}

TEST(the_last_of_two_values_counts)
{
    EXPECT_IS(parse("run --wait 3s --wait forever job -- x"), 0);
    EXPECT_IS(options.wait_ms, -1);
    EXPECT(cli_option_given(&options, "wait"));
}

TEST(dashes_let_a_name_begin_with_one)
{
    EXPECT_IS(parse("who --json -- -job"), 0);
    EXPECT_TEXT(options.name, "-job");
    EXPECT_IS(options.is_json, 1);
    EXPECT_IS(parse("ls -"), 0);
    EXPECT_TEXT(options.name, "-");
}

TEST(wrong_lines_are_usage)
{
    static const char *const wrong[] = {
        "nonsense",
        "--try",
        "run",
        "run job",
        "run job --",
        "run -- x",
        "run a b -- x",
        "run job true",
        "run --lease 99ms job -- x",
        "run --lease 24h1ms job -- x",
        "run --lease forever job -- x",
        "run --busy-exit 256 job -- x",
        "run --busy-exit -1 job -- x",
        "run --try=1 job -- x",
        "run --stale job -- x",
        "run -Z job -- x",
        "run --wait",
        "who a b",
        "who --wait 3 a",
        "check a",
        "break a --fence 0",
        "break a --fence 9007199254740992",
        "break a --fence 99999999999999999999999",
        "run --reach world job -- x",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT_IS(parse(wrong[i]), CLI_EXIT_USAGE);
    }
}

TEST(help_is_given_in_any_place)
{
    EXPECT_IS(parse("run --help"), 0);
    EXPECT_IS(options.is_help, 1);
    EXPECT_IS(parse("break -h job"), 0);
    EXPECT_IS(options.verb, CLI_BREAK);
    EXPECT_IS(parse("--help"), 0);
    EXPECT_IS(options.verb, CLI_HELP);
    EXPECT_IS(parse("-V"), 0);
    EXPECT_IS(options.verb, CLI_VERSION);
    EXPECT_IS(parse("run job -- --help"), 0);
    EXPECT_IS(options.is_help, 0);
}

static bool share_a_verb(const struct cli_option *a, const struct cli_option *b)
{
    return (a->verbs & b->verbs) != 0;
}

TEST(no_two_options_of_a_verb_have_one_name)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct cli_option *a = &cli_option_table[i];
            const struct cli_option *b = &cli_option_table[j];

            if (share_a_verb(a, b)) {
                EXPECT(strcmp(a->name, b->name) != 0);
                EXPECT(!a->letter || a->letter != b->letter);
            }
        }
    }
}

TEST(each_option_has_a_verb_an_argument_and_words)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option *option = &cli_option_table[i];

        EXPECT(option->verbs != 0 && option->verbs >> CLI_VERBS == 0);
        EXPECT((option->kind == CLI_FLAG) == !option->argument);
        EXPECT(option->help && *option->help);
        EXPECT(option->field < sizeof(struct cli_options));
    }
    for (int i = 0; i < CLI_VERBS; i++) {
        const struct cli_verb *verb = &cli_verb_table[i];

        EXPECT_IS(strncmp(verb->usage, verb->word, strlen(verb->word)), 0);
        EXPECT_IS(cli_verb_find(verb->word), i);
    }
}
