/* SPDX-License-Identifier: MIT */
/*
 * The certificates of a server with TLS, made anew for each by openssl. Nothing
 * of them is kept, so none expires. Which the server shows is its fixture's.
 */
#include "tests/servers/certificates.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { ROOM = 320 };

#define DAYS  "3650"
#define CURVE "ec_paramgen_curve:prime256v1"

/* A row is a section of the configuration, named as its files. */
static const struct {
    const char *name;
    const char *authority; /* who signs it; NULL: it itself, an authority */
    const char *names;     /* of whom it holds; or NULL */
    const char *days;
    const char *serial;
} certificates[] = {
    {"ca", NULL, NULL, DAYS, "1"},
    {"server", "ca", "IP:127.0.0.1,DNS:localhost", DAYS, "2"},
    {"client", "ca", NULL, DAYS, "3"},
    {"elsewhere", "ca", "DNS:other.example", DAYS, "4"},
    {"expired", "ca", "IP:127.0.0.1,DNS:localhost", "-1", "5"},
    {"other-ca", NULL, NULL, DAYS, "6"},
    {"stranger", "other-ca", "IP:127.0.0.1,DNS:localhost", DAYS, "7"},
};
enum { CERTIFICATES = sizeof certificates / sizeof certificates[0] };

/* Of our own: the system's may say anything. */
static void write_config(const char *path)
{
    FILE *f = fopen(path, "we");

    if (!f) {
        hf__servers_fail("write %s: %s", path, strerror(errno));
    }
    fputs("[req]\ndistinguished_name = dn\n[dn]\n", f);
    for (int i = 0; i < CERTIFICATES; i++) {
        fprintf(f, "[%s]\nbasicConstraints = critical,CA:%s\n",
                certificates[i].name,
                certificates[i].authority ? "FALSE" : "TRUE");
        if (certificates[i].names) {
            fprintf(f, "subjectAltName = %s\n", certificates[i].names);
        }
    }
    if (fclose(f) != 0) {
        hf__servers_fail("write %s: %s", path, strerror(errno));
    }
}

static void run_openssl(const char *tls, const char *argv[])
{
    char openssl[HF__SERVERS_PATH];
    char log[ROOM];

    if (!hf__servers_find("openssl", openssl, sizeof openssl)) {
        hf__servers_missing("openssl");
    }
    argv[0] = openssl;
    snprintf(log, sizeof log, "%s/log", tls);
    if (!hf__servers_run(argv, log)) {
        hf__servers_fail("openssl %s failed", argv[1]);
    }
}

/* First a key and a request, then the certificate: it can be over already,
 * which those that are made in one step can't. */
static void make(const char *tls, int i)
{
    const char *name = certificates[i].name;
    const char *authority = certificates[i].authority;
    char subject[64];
    char file[6][ROOM + 32];
    const char *request[] = {NULL,       "req",   "-new",    "-newkey", "ec",
                             "-pkeyopt", CURVE,   "-nodes",  "-config", file[0],
                             "-subj",    subject, "-keyout", file[1],   "-out",
                             file[2],    NULL};
    const char *sign[] = {NULL,
                          "x509",
                          "-req",
                          "-in",
                          file[2],
                          "-out",
                          file[3],
                          "-extfile",
                          file[0],
                          "-extensions",
                          name,
                          "-days",
                          certificates[i].days,
                          "-set_serial",
                          certificates[i].serial,
                          authority ? "-CA" : "-signkey",
                          authority ? file[4] : file[1],
                          authority ? "-CAkey" : NULL,
                          file[5],
                          NULL};

    snprintf(subject, sizeof subject, "/CN=%s of a test", name);
    snprintf(file[0], sizeof file[0], "%s/config", tls);
    snprintf(file[1], sizeof file[1], "%s/%s.key", tls, name);
    snprintf(file[2], sizeof file[2], "%s/%s.csr", tls, name);
    snprintf(file[3], sizeof file[3], "%s/%s.crt", tls, name);
    snprintf(file[4], sizeof file[4], "%s/%s.crt", tls,
             authority ? authority : name);
    snprintf(file[5], sizeof file[5], "%s/%s.key", tls,
             authority ? authority : name);
    run_openssl(tls, request);
    run_openssl(tls, sign);
}

void hf__certificates_make(const char *folder)
{
    char tls[ROOM];
    char config[ROOM + 8];

    snprintf(tls, sizeof tls, "%s/tls", folder);
    if (mkdir(tls, 0700) < 0) {
        hf__servers_fail("mkdir %s: %s", tls, strerror(errno));
    }
    snprintf(config, sizeof config, "%s/config", tls);
    write_config(config);
    for (int i = 0; i < CERTIFICATES; i++) {
        make(tls, i);
    }
}

const char *hf__certificates_file(const char *folder, const char *name)
{
    static _Thread_local char path[ROOM + 32];

    snprintf(path, sizeof path, "%s/tls/%s", folder, name);
    return path;
}
