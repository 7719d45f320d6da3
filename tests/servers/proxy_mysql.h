/* SPDX-License-Identifier: MIT */
/*
 * What the two files of the MySQL framing share: how far a connection has
 * come. Nobody else sees it.
 */
#ifndef HF_TESTS_SERVERS_PROXY_MYSQL_H
#define HF_TESTS_SERVERS_PROXY_MYSQL_H

#include "tests/servers/proxy_private.h"

enum { HF__MYSQL_FULL = 0xFFFFFF, HF__MYSQL_PIPELINE = 16 };
/* The first bytes of packets. */
enum { HF__MYSQL_OK = 0x00, HF__MYSQL_ERR = 0xFF };

enum hf__mysql_phase {
    HF__MYSQL_GREETING,
    HF__MYSQL_LOGIN,
    HF__MYSQL_CHATTER,
    HF__MYSQL_OPAQUE,
};
enum hf__mysql_step {
    HF__MYSQL_FIRST,
    HF__MYSQL_DEFINITIONS,
    HF__MYSQL_END_OF_DEFINITIONS,
    HF__MYSQL_ROWS,
};

struct hf__mysql {
    enum hf__mysql_phase phase;
    enum hf__mysql_step step;
    uint32_t capabilities; /* of the server, then of both */
    bool is_answered;      /* the client has replied to the greeting */
    bool has_begun;        /* the reply that is under way */
    bool is_prepare;       /* what is defined: parameters and columns */
    uint16_t definitions;  /* still to come */
    uint16_t definitions2; /* and after them */
    uint8_t n_commands;    /* without a reply yet */
    uint8_t commands[HF__MYSQL_PIPELINE];
};

/* A number of two bytes. */
uint32_t hf__mysql_number(const uint8_t *at);
/* The next packet of the reply to commands[0]. True: it is the last. */
bool hf__mysql_result(struct hf__mysql *, const uint8_t *payload,
                      size_t length);

#endif
