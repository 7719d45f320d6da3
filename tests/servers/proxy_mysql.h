/* SPDX-License-Identifier: MIT */
/*
 * What the two files of the MySQL framing share: how far a connection has
 * come. Nobody else sees it.
 */
#ifndef HF_TESTS_SERVERS_PROXY_MYSQL_H
#define HF_TESTS_SERVERS_PROXY_MYSQL_H

#include "tests/servers/proxy_private.h"

enum { HF__DIALOG_FULL = 0xFFFFFF, HF__DIALOG_PIPELINE = 16 };
/* The first bytes of packets. */
enum { HF__DIALOG_OK = 0x00, HF__DIALOG_ERR = 0xFF };

enum hf__dialog_phase {
    HF__DIALOG_GREETING,
    HF__DIALOG_LOGIN,
    HF__DIALOG_CHATTER,
    HF__DIALOG_OPAQUE,
};
enum hf__dialog_step {
    HF__DIALOG_FIRST,
    HF__DIALOG_DEFINITIONS,
    HF__DIALOG_END_OF_DEFINITIONS,
    HF__DIALOG_ROWS,
};

struct hf__dialog {
    enum hf__dialog_phase phase;
    enum hf__dialog_step step;
    uint32_t capabilities; /* of the server, then of both */
    bool is_answered;      /* the client has replied to the greeting */
    bool has_begun;        /* the reply that is under way */
    uint16_t definitions;  /* still to come */
    uint8_t n_commands;    /* without a reply yet */
    uint8_t commands[HF__DIALOG_PIPELINE];
};

/* A number of two bytes. */
uint32_t hf__dialog_number(const uint8_t *at);
/* The next packet of the reply to commands[0]. True: it is the last. */
bool hf__dialog_result(struct hf__dialog *, const uint8_t *payload,
                       size_t length);

#endif
