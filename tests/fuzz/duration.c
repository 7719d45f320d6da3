/* SPDX-License-Identifier: MIT */
/*
 * Durations: the library and the command read the same from the same words,
 * and each reads back what it wrote.
 */
#include "src/base/duration.h"
#include "src/cli/clock.h"
#include "tests/fuzz/fuzz.h"

#define HUNDRED_YEARS_MS (INT64_C(36525) * 86400000)

static void check_written(int64_t ms)
{
    char base[64];
    char cli[CLI_DURATION_SIZE];
    int64_t again = -1;

    hf__duration_format(ms, base, sizeof base);
    REQUIRE(hf__duration_parse(base, &again) && again == ms);
    cli_duration(ms, cli);
    REQUIRE(strcmp(base, cli) == 0);
    cli_duration_short(ms, cli);
    REQUIRE(cli_duration_parse(cli, &again) && again <= ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    int64_t base_ms = -1;
    int64_t cli_ms = -1;
    bool is_one = hf__duration_parse(text, &base_ms);

    REQUIRE(cli_duration_parse(text, &cli_ms) == is_one);
    REQUIRE(base_ms == cli_ms);
    if (is_one) {
        REQUIRE(base_ms >= 0 && base_ms <= HUNDRED_YEARS_MS);
        check_written(base_ms);
    }
    free(text);
    return 0;
}
