/* SPDX-License-Identifier: MIT */
/*
 * Reads the options of a URL: by name, as a duration, as a number, as files;
 * and refuses unknown ones. Each error names the option and what is valid,
 * never the value that was given, nor an unknown name: after a '?' that was not
 * written as %3F they are the rest of a password. Thread: any.
 */
#include "src/base/url.h"

#include "src/base/duration.h"
#include "src/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *hf__url_option(const struct hf__url *url, const char *name)
{
    for (size_t i = 0; i < url->n_options; i++) {
        if (strcmp(url->options[i].name, name) == 0) {
            return url->options[i].value;
        }
    }
    return NULL;
}

int hf__url_duration(const struct hf__url *url, const char *name,
                     int64_t min_ms, int64_t max_ms, int64_t *ms_io,
                     hf_error *err)
{
    const char *value = hf__url_option(url, name);
    int64_t ms = *ms_io;
    char low[32];
    char high[32];

    if (value != NULL &&
        (!hf__duration_parse(value, &ms) || ms < min_ms || ms > max_ms)) {
        return hf__fail(err, HF_EINVAL,
                        "url: option \"%s\" is not a duration from %s to %s, "
                        "such as 250ms, 30s, 1h30m",
                        name, hf__duration_format(min_ms, low, sizeof low),
                        hf__duration_format(max_ms, high, sizeof high));
    }
    *ms_io = ms;
    return HF_OK;
}

static bool parse_int(const char *text, int64_t *ret_value)
{
    bool is_negative = *text == '-';
    const char *at = text + is_negative;
    int64_t value = 0;

    if (*at == '\0') {
        return false;
    }
    for (; *at != '\0'; at++) {
        int digit = *at - '0';
        if (digit < 0 || digit > 9 ||
            __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) {
            return false;
        }
    }
    /* The sum is negative, because there is one negative value more. */
    if (!is_negative && value == INT64_MIN) {
        return false;
    }
    *ret_value = is_negative ? value : -value;
    return true;
}

int hf__url_int(const struct hf__url *url, const char *name, int64_t min,
                int64_t max, int64_t *value_io, hf_error *err)
{
    const char *text = hf__url_option(url, name);
    int64_t value = *value_io;

    if (text != NULL &&
        (!parse_int(text, &value) || value < min || value > max)) {
        return hf__fail(err, HF_EINVAL,
                        "url: option \"%s\" is not a whole number from %lld "
                        "to %lld",
                        name, (long long)min, (long long)max);
    }
    *value_io = value;
    return HF_OK;
}

/* Checked here because the errors of the client libraries don't name the
 * file. */
static int check_readable(const char *option, const char *path, hf_error *err)
{
    char words[64];

    return access(path, R_OK) == 0
               ? HF_OK
               : hf__fail_native(err, HF_EAUTH, errno,
                                 "%s: %s can't be read: %s", option, path,
                                 hf__errno_text(errno, words, sizeof words));
}

int hf__url_check_tls_files(const struct hf__url *url, bool is_tls_off,
                            hf_error *err)
{
    static const char *const files[] = {"ca", "cert", "key"};
    int r = HF_OK;

    for (int i = 0; i < 3 && r == HF_OK; i++) {
        const char *path = hf__url_option(url, files[i]);

        if (path != NULL) {
            r = is_tls_off
                    ? hf__fail(err, HF_EINVAL, "tls=off needs no %s", files[i])
                    : check_readable(files[i], path, err);
        }
    }
    return r;
}

static bool has(const char *const *list, const char *name)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp(*list, name) == 0) {
            return true;
        }
    }
    return false;
}

static void append_list(char *buf, size_t size, const char *const *list)
{
    for (; list != NULL && *list != NULL; list++) {
        size_t at = strlen(buf);
        (void)snprintf(buf + at, size - at, "%s%s", at > 0 ? ", " : "", *list);
    }
}

static bool is_repeated(const struct hf__url *url, size_t i)
{
    return hf__url_option(url, url->options[i].name) != url->options[i].value;
}

/* Gives an unknown option by its number: its "name" may be part of a
 * password. */
static int refuse(const struct hf__url *url, size_t i, bool is_known,
                  const char *list, hf_error *err)
{
    list = list[0] != '\0' ? list : "none";
    return is_known
               ? hf__fail(err, HF_EINVAL,
                          "url: option \"%.40s\" is given twice; valid ones: "
                          "%s",
                          url->options[i].name, list)
               : hf__fail(err, HF_EINVAL,
                          "url: option %zu is unknown; valid ones: %s", i + 1,
                          list);
}

int hf__url_check_options(const struct hf__url *url, const char *const *valid,
                          const char *const *more, hf_error *err)
{
    char list[400] = "";

    for (size_t i = 0; i < url->n_options; i++) {
        const char *name = url->options[i].name;
        bool is_known = has(valid, name) || has(more, name);

        if (is_known && !is_repeated(url, i)) {
            continue;
        }
        append_list(list, sizeof list, valid);
        append_list(list, sizeof list, more);
        return refuse(url, i, is_known, list, err);
    }
    return HF_OK;
}
