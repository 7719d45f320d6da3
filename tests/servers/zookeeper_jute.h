/* SPDX-License-Identifier: MIT */
/*
 * A message of ZooKeeper's protocol while it is written or read: numbers with
 * the first byte first, texts with their length before them.
 */
#ifndef HF_TESTS_SERVERS_ZOOKEEPER_JUTE_H
#define HF_TESTS_SERVERS_ZOOKEEPER_JUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than a server takes or gives. */
enum { HF__JUTE_BYTES = 4 << 20 };

struct hf__jute {
    uint8_t *bytes; /* HF__JUTE_BYTES of them */
    size_t length;  /* of what was written */
    size_t at;      /* how far it is read; never past its end */
};

void hf__jute_put_int(struct hf__jute *, int32_t);
void hf__jute_put_long(struct hf__jute *, int64_t);
void hf__jute_put_flag(struct hf__jute *, bool);
void hf__jute_put_bytes(struct hf__jute *, const void *bytes, size_t n);
void hf__jute_put_text(struct hf__jute *, const char *text);
/* What is missing is 0, or "". */
int32_t hf__jute_get_int(struct hf__jute *);
int64_t hf__jute_get_long(struct hf__jute *);
/* As much as there is room for, ended by NUL; its length. */
int hf__jute_get_text(struct hf__jute *, char *text, size_t size);

/* The number at the beginning of four bytes. */
int32_t hf__jute_number(const uint8_t *bytes);

#endif
