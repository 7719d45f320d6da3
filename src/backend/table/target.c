/* SPDX-License-Identifier: MIT */
/*
 * Judges what a URL says of its servers, before any of them is asked. The store
 * chooses the server. Thread: any.
 */
#include "src/backend/table/target.h"

#include "src/base/error.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

void hf__table_login(struct hf__table_login *login)
{
    struct passwd entry;
    struct passwd *found = NULL;

    login->name = NULL;
    if (getpwuid_r(geteuid(), &entry, login->bytes, sizeof login->bytes,
                   &found) == 0 &&
        found != NULL) {
        login->name = entry.pw_name;
    }
}

int hf__table_check_word(const struct hf__url *url, const char *option,
                         const char *const words[4], hf_error *err)
{
    const char *given = hf__url_option(url, option);

    for (int i = 0; given != NULL && words[i] != NULL; i++) {
        if (strcmp(words[i], given) == 0) {
            return HF_OK;
        }
    }
    return given == NULL
               ? HF_OK
               : hf__fail(err, HF_EINVAL, "%s: \"%s\" is none of %s, %s, %s",
                          option, given, words[0], words[1], words[2]);
}

/* Refuse a comma: a client library would take it for the end of a host and try
 * the next one, which this code would not know of. */
static int check_names(const struct hf__url *url, hf_error *err)
{
    static const char fit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789._:%-";

    for (size_t i = 0; i < url->n_hosts; i++) {
        const char *name = url->hosts[i].name;

        /* The name is not quoted: it may be a piece of a password. */
        if (name[strspn(name, fit)] != '\0') {
            return hf__fail(err, HF_EINVAL,
                            "url: host %zu is no name and no address: they "
                            "have letters, digits and . _ : %% - only",
                            i + 1);
        }
    }
    return HF_OK;
}

static bool is_here(const char *host)
{
    return strcasecmp(host, "localhost") == 0 ||
           strcmp(host, "127.0.0.1") == 0 || strcmp(host, "::1") == 0;
}

static int check_socket(const struct hf__url *url, const char *example,
                        hf_error *err)
{
    const char *path = hf__url_option(url, "socket");

    if (path == NULL) {
        return url->n_hosts > 0
                   ? HF_OK
                   : hf__fail(err, HF_EINVAL,
                              "url: it names no server: %s, or socket=PATH",
                              example);
    }
    if (path[0] != '/') {
        return hf__fail(err, HF_EINVAL,
                        "socket: \"%s\" is no path that begins with /", path);
    }
    if (url->n_hosts > 1 ||
        (url->n_hosts == 1 && !is_here(url->hosts[0].name))) {
        return hf__fail(err, HF_EINVAL,
                        "socket: %s is on this host, and %s need not be; name "
                        "one of them",
                        path, url->hosts[0].name);
    }
    return HF_OK;
}

int hf__table_check_hosts(const struct hf__url *url, const char *example,
                          hf_error *err)
{
    int r = check_socket(url, example, err);

    return r == HF_OK ? check_names(url, err) : r;
}

int hf__table_check_tls(const struct hf__url *url, hf_error *err)
{
    static const char *const words[] = {"verify", "require", "off", NULL};
    const char *given = hf__url_option(url, "tls");
    int r = hf__table_check_word(url, "tls", words, err);

    if (r == HF_OK) {
        bool is_off = given != NULL && strcmp(given, "off") == 0;

        r = hf__url_check_tls_files(url, is_off, err);
    }
    if (r == HF_OK && (hf__url_option(url, "cert") == NULL) !=
                          (hf__url_option(url, "key") == NULL)) {
        r = hf__fail(err, HF_EINVAL, "cert and key go together: name both");
    }
    return r;
}

/* A URL that names an authority wants the certificate verified. */
const char *hf__table_tls(const struct hf__url *url)
{
    const char *given = hf__url_option(url, "tls");

    if (given != NULL) {
        return given;
    }
    if (hf__url_option(url, "ca") != NULL) {
        return "verify";
    }
    return hf__url_option(url, "cert") != NULL ? "require" : NULL;
}
