/* SPDX-License-Identifier: MIT */
/*
 * Names and UTF-8, beside a decoder of the target's own; and what log lines
 * make of any bytes.
 */
#include "src/base/log.h"
#include "src/base/utf8.h"
#include "src/cli/text.h"
#include "src/core/client.h"
#include "tests/fuzz/fuzz.h"

/* Bytes of the character at the front; 0: none. By arithmetic on the code
 * point, not by the table that the library has. */
static size_t decode(const uint8_t *p, size_t size)
{
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t point = n == 1 ? p[0] : p[0] & (0x7fu >> n);

    if (n > size || (n > 1 && p[0] < 0xc0) || p[0] > 0xf7) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2) {
            return 0;
        }
        point = point << 6 | (p[i] & 63u);
    }
    if ((n == 2 && point < 0x80) || (n == 3 && point < 0x800) ||
        (n == 4 && point < 0x10000) || point > 0x10ffff ||
        point >> 11 == 0xd800 >> 11) {
        return 0;
    }
    return n;
}

static void check_utf8(const uint8_t *data, size_t size)
{
    size_t at = 0;
    size_t n = 1;

    while (at < size && n > 0) {
        n = decode(data + at, size - at);
        REQUIRE(hf__utf8_length((const char *)data + at, size - at) == n);
        at += n;
    }
    REQUIRE(hf__utf8_is_valid((const char *)data, size) == (at == size));
}

static void check_name(const char *text)
{
    size_t length = strlen(text);
    bool is_valid = hf__utf8_is_valid(text, length);
    hf_error err = HF_ERROR_INIT;
    int r = hf__name_check(text, &err);

    REQUIRE((r == HF_OK) == (length >= 1 && length <= 255 && is_valid));
    REQUIRE(r == HF_OK || err.text[0] != '\0');
    for (size_t max = 0; is_valid && max < 8; max++) {
        size_t cut = hf__utf8_cut(text, max);

        REQUIRE(cut <= max && cut <= length && hf__utf8_is_valid(text, cut));
        REQUIRE(cut + 4 > max || cut == length);
    }
    for (const char *p = text; *p != '\0'; p++) {
        uint32_t point = 0;

        REQUIRE(cli_utf8(p, &point) == hf__utf8_length(p, strlen(p)));
    }
}

static void check_quote(const char *text)
{
    char quoted[64];

    hf__log_quote(text, quoted, sizeof quoted);
    REQUIRE(strlen(quoted) < sizeof quoted);
    for (const char *p = quoted; *p != '\0'; p++) {
        REQUIRE((unsigned char)*p >= 0x20 && *p != 0x7f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    check_utf8(data, size);
    check_name(text);
    check_quote(text);
    free(text);
    return 0;
}
