/* SPDX-License-Identifier: MIT */
/*
 * The certificates of a Redis with TLS, made anew for each by openssl: its
 * own, a client's, and those that a client must not accept. Nothing of them is
 * kept, so none expires. Which the server shows first is redis_folder.c's.
 */
#include "tests/servers/redis.h"
#include "tests/servers/redis_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static void run_openssl(const struct hf__redis *s, const char *argv[])
{
    char openssl[HF__SERVERS_PATH];
    char log[HF__REDIS_ROOM];

    if (!hf__servers_find("openssl", openssl, sizeof openssl)) {
        hf__servers_missing("openssl");
    }
    argv[0] = openssl;
    snprintf(log, sizeof log, "%s/tls/log", s->folder);
    if (!hf__servers_run(argv, log)) {
        hf__servers_fail("openssl %s failed", argv[1]);
    }
}

/* First a key and a request, then the certificate: it can be over already,
 * which those that are made in one step can't. */
static void make(const struct hf__redis *s, int i)
{
    const char *name = certificates[i].name;
    const char *authority = certificates[i].authority;
    char folder[HF__REDIS_ROOM];
    char subject[64];
    char file[6][HF__REDIS_ROOM + 32];
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

    snprintf(folder, sizeof folder, "%s/tls", s->folder);
    snprintf(subject, sizeof subject, "/CN=%s of a test", name);
    snprintf(file[0], sizeof file[0], "%s/config", folder);
    snprintf(file[1], sizeof file[1], "%s/%s.key", folder, name);
    snprintf(file[2], sizeof file[2], "%s/%s.csr", folder, name);
    snprintf(file[3], sizeof file[3], "%s/%s.crt", folder, name);
    snprintf(file[4], sizeof file[4], "%s/%s.crt", folder,
             authority ? authority : name);
    snprintf(file[5], sizeof file[5], "%s/%s.key", folder,
             authority ? authority : name);
    run_openssl(s, request);
    run_openssl(s, sign);
}

void hf__redis_make_certificates(const struct hf__redis *s)
{
    char path[HF__REDIS_ROOM];

    snprintf(path, sizeof path, "%s/tls", s->folder);
    if (mkdir(path, 0700) < 0) {
        hf__servers_fail("mkdir %s: %s", path, strerror(errno));
    }
    snprintf(path, sizeof path, "%s/tls/config", s->folder);
    write_config(path);
    for (int i = 0; i < CERTIFICATES; i++) {
        make(s, i);
    }
}

const char *hf__redis_tls_file(const struct hf__redis *s, const char *name)
{
    static _Thread_local char path[HF__REDIS_ROOM + 32];

    snprintf(path, sizeof path, "%s/tls/%s", s->folder, name);
    return path;
}

/* Both in one command, for they must fit each other. */
void hf__redis_show_certificate(const struct hf__redis *s, const char *name)
{
    hf__redis_command(s,
                      "CONFIG SET tls-cert-file %s/tls/%s.crt "
                      "tls-key-file %s/tls/%s.key",
                      s->folder, name, s->folder, name);
}
