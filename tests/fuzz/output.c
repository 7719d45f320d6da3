/* SPDX-License-Identifier: MIT */
/*
 * What the command makes of a stranger's words: JSON that a strict reader
 * reads back, shell words that a shell reads back, lines without a byte that
 * a terminal acts on.
 */
#include "src/base/utf8.h"
#include "src/cli/secret.h"
#include "src/cli/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/json.h"

#include <stdbool.h>

/* The word as JSON must give it back: what is not UTF-8 is U+FFFD. */
static char *expected(const char *word)
{
    char *text = malloc(3 * strlen(word) + 1);
    char *to = text;

    REQUIRE(text);
    while (*word) {
        size_t n = hf__utf8_length(word, strlen(word));

        memcpy(to, n ? word : "\xef\xbf\xbd", n ? n : 3);
        to += n ? n : 3;
        word += n ? n : 1;
    }
    *to = '\0';
    return text;
}

static void check_json(const char *word)
{
    struct cli_text text = {0};
    char *wanted = expected(word);
    char *got;

    cli_text_json(&text, word);
    got = malloc(text.length + 1);
    REQUIRE(got && json_unquote(text.data, text.length, got));
    REQUIRE(strcmp(got, wanted) == 0);
    cli_text_cut(&text, 0);
    cli_text_add(&text, "[{\"a\":");
    cli_text_json(&text, word);
    cli_text_add(&text, ",\"b\":null},");
    cli_text_json(&text, word);
    cli_text_add(&text, "]");
    REQUIRE(json_is_valid(text.data, text.length));
    cli_text_fini(&text);
    free(got);
    free(wanted);
}

static void check_clean(const char *word)
{
    struct cli_text text = {0};

    cli_text_bytes(&text, "", 0);
    cli_text_clean(&text, word);
    REQUIRE(hf__utf8_is_valid(text.data, text.length));
    for (size_t i = 0; i < text.length; i++) {
        REQUIRE((unsigned char)text.data[i] >= 0x20 && text.data[i] != 0x7f);
    }
    REQUIRE(cli_width(text.data) <= text.length);
    cli_text_fini(&text);
}

static int hex(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    REQUIRE(at);
    return (int)(at - digits);
}

/* Inside of $'…'. */
static const char *read_escaped(const char *p, char **to)
{
    while (*p != '\'') {
        REQUIRE((unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7f);
        if (*p == '\\' && p[1] == 'x') {
            *(*to)++ = (char)(hex(p[2]) * 16 + hex(p[3]));
            p += 4;
        } else {
            p += *p == '\\' && (p[1] == '\\' || p[1] == '\'');
            *(*to)++ = *p++;
        }
    }
    return p + 1;
}

/* What a shell makes of one word of these three forms. */
static void read_shell(const char *p, char *to)
{
    if (p[0] == '$' && p[1] == '\'') {
        p = read_escaped(p + 2, &to);
    }
    while (*p) {
        if (*p == '\'') {
            size_t n = strcspn(p + 1, "'");

            memcpy(to, p + 1, n);
            to += n;
            p += n + 1;
            REQUIRE(*p++ == '\'');
        } else {
            bool is_escaped = *p == '\\';

            p += is_escaped;
            REQUIRE(is_escaped || !strchr(" \t\n$`\"&|;<>()*?[#~!{}", *p));
            *to++ = *p++;
        }
    }
    *to = '\0';
}

static void check_shell(const char *word)
{
    struct cli_text text = {0};
    char *got;

    cli_text_add(&text, " ");
    cli_text_shell(&text, word);
    got = malloc(text.length + 1);
    REQUIRE(got && text.length > 1);
    read_shell(text.data + 1, got);
    REQUIRE(strcmp(got, word) == 0);
    free(got);
    cli_text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *word = fuzz_text(data, size);

    check_json(word);
    check_clean(word);
    check_shell(word);
    cli_free(cli_secret_hide(word));
    free(word);
    return 0;
}
