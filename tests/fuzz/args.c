/* SPDX-License-Identifier: MIT */
/*
 * Command lines: words separated by NUL. What is accepted keeps the limits
 * that its table states.
 */
#include "src/cli/args.h"
#include "tests/fuzz/fuzz.h"

enum { WORDS_MAX = 40 };

static void check_option(const struct cli_options *o,
                         const struct cli_option *option)
{
    const char *field = (const char *)o + option->field;
    int64_t number;

    if (option->kind == CLI_NUMBER || option->kind == CLI_DURATION) {
        memcpy(&number, field, sizeof number);
        REQUIRE(number >= option->low && number <= option->high);
    } else if (option->kind != CLI_FLAG) {
        const char *text;

        memcpy(&text, field, sizeof text);
        REQUIRE(text);
    }
}

static void check(const struct cli_options *o)
{
    REQUIRE(o->verb < CLI_VERBS);
    for (size_t i = 0; i < cli_option_count; i++) {
        if (o->given >> i & 1) {
            REQUIRE(cli_option_table[i].verbs >> o->verb & 1);
            check_option(o, &cli_option_table[i]);
        }
    }
    if (!o->is_help && o->verb == CLI_RUN) {
        REQUIRE(o->name && o->command && o->command[0]);
    }
    if (!o->is_help && (o->verb == CLI_WHO || o->verb == CLI_BREAK)) {
        REQUIRE(o->name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[WORDS_MAX + 2] = {fuzz_text((const uint8_t *)"holdfast", 8)};
    struct cli_options options = {0};
    int argc = 1;
    int r;

    while (size > 0 && argc <= WORDS_MAX) {
        const uint8_t *end = memchr(data, 0, size);
        size_t length = end ? (size_t)(end - data) : size;

        argv[argc++] = fuzz_text(data, length);
        length += end != NULL;
        data += length;
        size -= length;
    }
    r = cli_parse(argc, argv, &options);
    REQUIRE(r == 0 || r == 64);
    if (!r) {
        check(&options);
    }
    for (int i = 0; i < argc; i++) {
        free(argv[i]);
    }
    return 0;
}
