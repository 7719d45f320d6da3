/* SPDX-License-Identifier: MIT */
/*
 * The scripts, which run on the server as one step each: their texts are
 * lua/NAME.lua, each after lua/common.lua. They are asked for by their hash;
 * a server that does not know one (restarted, SCRIPT FLUSH) is sent its text in
 * the same attempt. Thread: any.
 */
#ifndef HF_BACKEND_REDIS_SCRIPT_H
#define HF_BACKEND_REDIS_SCRIPT_H

#include "src/backend/redis/bytes.h"

enum hf__script {
    HF__SCRIPT_ACQUIRE,
    HF__SCRIPT_RENEW,
    HF__SCRIPT_RELEASE,
    HF__SCRIPT_HANDOVER,
    HF__SCRIPT_RAISE,
    HF__SCRIPT_BREAK,
    HF__SCRIPT_INSPECT,
    HF__SCRIPT_ARM,          /* wait(): register, look */
    HF__SCRIPT_DISARM,       /* wait() is over */
    HF__SCRIPT_COLLECT,      /* gc(): delete one record if it is idle */
    HF__SCRIPT_CELL,         /* cell(), and gc() of one */
    HF__SCRIPT_ACQUIRE_MANY, /* several at once, see lua/many.lua */
    HF__SCRIPT_RENEW_MANY,
    HF__SCRIPT_RELEASE_MANY
};
#define HF__SCRIPTS 14

const char *hf__script_text(enum hf__script);
/* 40 hexadecimal digits. */
const char *hf__script_hash(enum hf__script);

/* EVALSHA (or EVAL, with_text) of it with the keys of that name, HF__KEYS of
 * them in this order: the record, :w (those who sleep), :q (the line),
 * :b (those beside one another). Arguments are to be added. */
enum { HF__KEYS = 4 };
/* Room for their names: prefix:{name}, prefix:{name}:q … */
struct hf__script_keys {
    char bytes[HF__KEYS][HF__KEY_MAX + 6];
    size_t length[HF__KEYS];
};
/* The names alone. */
void hf__script_keys(const struct hf__key *, struct hf__script_keys *);
void hf__script_begin(struct hf__args *, enum hf__script, bool with_text,
                      const struct hf__key *, struct hf__script_keys *);

#endif
