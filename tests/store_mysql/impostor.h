/* SPDX-License-Identifier: MIT */
/*
 * A MySQL server that is none, on a port of 127.0.0.1 or a unix socket: it asks
 * a client for its password in the way that a test says, keeps all that the
 * client told it before it was let in, and lets it in if it is to.
 *
 * Thread: one of its own answers, one connection at a time; the others are
 * called by the test's.
 */
#ifndef HF_TESTS_STORE_MYSQL_IMPOSTOR_H
#define HF_TESTS_STORE_MYSQL_IMPOSTOR_H

#include <stdbool.h>
#include <stddef.h>

struct hf__impostor;

struct hf__impostor_opts {
    const char *plugin;   /* of its greeting; NULL: mysql_native_password */
    const char *asks_by;  /* the plugin that it goes on with; NULL: none */
    const char *question; /* its first words in that one; NULL: a scramble */
    const char *then;     /* its answer to the answer, NULL: it ends there */
    const char *says;     /* why it lets nobody in; NULL: its own words */
    const char *cert;     /* with its key, PEM files: it has TLS */
    const char *key;
    const char *file;      /* lets the client in, and wants this file of it */
    const char *greeting;  /* its first packet instead, raw */
    size_t greeting_bytes; /* of it */
    const char *behind;    /* what it says behind its greeting at once, raw */
    size_t behind_bytes;   /* of it */
    const char *socket;    /* the path of a unix socket that it listens at */
    bool in_pieces;        /* the greeting comes byte by byte */
    bool hears_only;       /* begins TLS, and is silent after the hello */
    bool stops_midway;     /* lets the client in, then says half a record */
};

/* What opts points to lasts till hf__impostor_free(). */
struct hf__impostor *hf__impostor_start(const struct hf__impostor_opts *opts);
/* NULL is fine. */
void hf__impostor_free(struct hf__impostor *);
/* Not of one on a unix socket. */
int hf__impostor_port(const struct hf__impostor *);

/* Of all that clients said so far, TLS taken off: how many bytes, and whether
 * this is among them. */
size_t hf__impostor_heard(struct hf__impostor *);
bool hf__impostor_has_heard(struct hf__impostor *, const char *text);
/* The packets of clients that were more than a request for TLS. */
int hf__impostor_packets(struct hf__impostor *);

#endif
