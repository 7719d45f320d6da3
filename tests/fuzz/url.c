/* SPDX-License-Identifier: MIT */
/*
 * URLs: what is accepted has parts within their limits, shows no password,
 * and means the same without it; the command finds each password that the
 * library finds, and can wipe it.
 */
#include "src/backend/conn.h"
#include "src/cli/secret.h"
#include "src/cli/text.h"
#include "tests/fuzz/fuzz.h"

static void check_parts(const struct hf__url *url)
{
    REQUIRE(url->scheme[0] != '\0' && url->path != NULL);
    REQUIRE(url->n_hosts <= 16 && url->n_options <= 64);
    for (size_t i = 0; i < url->n_hosts; i++) {
        REQUIRE(url->hosts[i].name[0] != '\0');
        REQUIRE(url->hosts[i].port >= 0 && url->hosts[i].port <= 65535);
    }
    for (size_t i = 0; i < url->n_options; i++) {
        REQUIRE(hf__url_option(url, url->options[i].name) != NULL);
    }
}

static void check_redacted(const struct hf__url *url)
{
    struct hf__url *again = NULL;

    REQUIRE(hf__backend_url(url->redacted, &again, NULL) == HF_OK);
    REQUIRE(again->password == NULL);
    REQUIRE(strcmp(again->scheme, url->scheme) == 0);
    REQUIRE(strcmp(again->path, url->path) == 0);
    REQUIRE(again->n_hosts == url->n_hosts);
    for (size_t i = 0; i < url->n_hosts; i++) {
        REQUIRE(strcmp(again->hosts[i].name, url->hosts[i].name) == 0);
        REQUIRE(again->hosts[i].port == url->hosts[i].port);
    }
    hf__url_free(again);
}

static void check_options(const struct hf__url *url)
{
    static const char *const valid[] = {"prefix", "io_timeout", NULL};
    static const char *const more[] = {"seed", NULL};
    int64_t ms = 7;
    int64_t number = 7;
    hf_error err = HF_ERROR_INIT;

    if (hf__url_check_options(url, valid, more, &err) != HF_OK) {
        REQUIRE(err.text[0] != '\0');
    }
    if (hf__url_duration(url, "io_timeout", 5, 1000, &ms, &err) == HF_OK) {
        REQUIRE(ms >= 5 && ms <= 1000);
    }
    if (hf__url_int(url, "seed", -5, 1000, &number, &err) == HF_OK) {
        REQUIRE(number >= -5 && number <= 1000);
    }
}

/* Both for each secret that the library knows of, also in what it refuses. */
static void check_wipe(char *text, const struct hf__url *url)
{
    char *hidden = cli_secret_hide(text);
    struct hf__url *wiped = NULL;

    cli_secret_wipe(text);
    if (url != NULL && url->password != NULL && url->password[0] != '\0') {
        REQUIRE(strstr(hidden, "***") != NULL);
        if (hf__backend_url(text, &wiped, NULL) == HF_OK &&
            wiped->password != NULL) {
            const char *left = wiped->password;

            REQUIRE(left[strspn(left, "*")] == '\0');
        }
    }
    hf__url_free(wiped);
    cli_free(hidden);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    hf_error err = HF_ERROR_INIT;
    struct hf__url *url = NULL;
    int r = hf__backend_url(text, &url, &err);

    REQUIRE(r == HF_OK || r == HF_EINVAL);
    REQUIRE((url != NULL) == (r == HF_OK));
    if (r == HF_OK) {
        check_parts(url);
        check_redacted(url);
        check_options(url);
    } else {
        REQUIRE(strncmp(err.text, "url: ", 5) == 0);
    }
    check_wipe(text, url);
    hf__url_free(url);
    free(text);
    return 0;
}
