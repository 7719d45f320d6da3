/* SPDX-License-Identifier: MIT */
/*
 * The scripts by number, and the names of the keys that each is given. Texts
 * and hashes are the build's. Thread: any.
 */
#include "src/backend/redis/script.h"

#include <src/backend/redis/lua/texts.h>

#include <string.h>

#define SCRIPT(name)                                                           \
    [HF__SCRIPT_##name] = {HF__LUA_##name, HF__LUA_##name##_SHA1}

static const struct {
    const char *text;
    const char *hash;
} scripts[HF__SCRIPTS] = {
    SCRIPT(ACQUIRE),    SCRIPT(RENEW),        SCRIPT(RELEASE),
    SCRIPT(HANDOVER),   SCRIPT(RAISE),        SCRIPT(BREAK),
    SCRIPT(INSPECT),    SCRIPT(COLLECT),      SCRIPT(ARM),
    SCRIPT(DISARM),     SCRIPT(CELL),         SCRIPT(ACQUIRE_MANY),
    SCRIPT(RENEW_MANY), SCRIPT(RELEASE_MANY),
};

const char *hf__script_text(enum hf__script script)
{
    return scripts[script].text;
}

const char *hf__script_hash(enum hf__script script)
{
    return scripts[script].hash;
}

/* The braces make a cluster's nodes, and proxies before them, keep all keys
 * of a name together. */
static size_t write_name(char *to, const struct hf__key *key,
                         const char *ending)
{
    size_t prefix = key->name_at;
    size_t name = key->length - prefix;
    size_t end = strlen(ending);

    memcpy(to, key->bytes, prefix);
    to[prefix] = '{';
    memcpy(to + prefix + 1, key->bytes + prefix, name);
    to[prefix + 1 + name] = '}';
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no text */
    memcpy(to + prefix + name + 2, ending, end);
    return prefix + name + 2 + end;
}

void hf__script_keys(const struct hf__key *key, struct hf__script_keys *keys)
{
    static const char *const endings[HF__KEYS] = {"", ":w", ":q", ":b"};

    for (int i = 0; i < HF__KEYS; i++) {
        keys->length[i] = write_name(keys->bytes[i], key, endings[i]);
    }
}

void hf__script_begin(struct hf__args *args, enum hf__script script,
                      bool with_text, const struct hf__key *key,
                      struct hf__script_keys *keys)
{
    hf__script_keys(key, keys);
    hf__args_begin(args, with_text ? "EVAL" : "EVALSHA");
    hf__args_word(args, with_text ? hf__script_text(script)
                                  : hf__script_hash(script));
    hf__args_word(args, "4");
    for (int i = 0; i < HF__KEYS; i++) {
        hf__args_bytes(args, keys->bytes[i], keys->length[i]);
    }
}
