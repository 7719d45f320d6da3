/* SPDX-License-Identifier: MIT */
/*
 * Literals, the names of wake locks, and SQL expressions about them.
 * fast_path.c, commit.c and wait.c decide when a wake lock is taken or dropped.
 * Called by the session's thread.
 */
#include "src/backend/mysql/sql.h"

#include "src/backend/mysql/mysql.h"

#include <string.h>

void hf__text_hex(struct hf__text *t, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    char *to = hf__text_extend(t, 2 * length + 3);

    if (to == NULL) {
        return;
    }
    *to++ = 'x';
    *to++ = '\'';
    for (size_t i = 0; i < length; i++) {
        *to++ = digits[from[i] >> 4];
        *to++ = digits[from[i] & 15];
    }
    *to = '\'';
}

void hf__text_string(struct hf__text *t, const char *string)
{
    hf__text_add(t, "_utf8mb4 ");
    hf__text_hex(t, string, strlen(string));
}

void hf__text_key(struct hf__text *t, const struct hf__key *key)
{
    hf__text_hex(t, key->bytes, key->length);
}

void hf__text_token(struct hf__text *t, const struct hf__token *token)
{
    hf__text_hex(t, token->bytes, sizeof token->bytes);
}

/* The same name as HF__WAKE_LOCK_OF_TOKEN() has in SQL. Half of the token
 * identifies it, and the other half stays secret. */
static void name(struct hf__text *t, const char *prefix,
                 const struct hf__token *token)
{
    uint64_t half = 0;

    for (size_t i = 0; i < sizeof token->bytes / 2; i++) {
        half = half << 8 | token->bytes[i];
    }
    hf__text_addf(t, "'%s.%016llX'", prefix, (unsigned long long)half);
}

void hf__mysql_wake_lock_of_grant(struct hf__text *t,
                                  const struct hf__token *token)
{
    name(t, "hf", token);
}

void hf__mysql_wake_lock_of_ticket(struct hf__text *t,
                                   const struct hf__token *token)
{
    name(t, "hq", token);
}

void hf__mysql_wake_lock_of_turn(struct hf__text *t, const struct hf__key *key)
{
    hf__text_add(t, "CONCAT('ht.',SHA1(CONCAT(DATABASE(),'/',");
    hf__text_key(t, key);
    hf__text_add(t, ")))");
}

void hf__mysql_wake_lock_take(struct hf__text *t, const struct hf__token *token)
{
    hf__text_add(t, "IF(IS_USED_LOCK(");
    hf__mysql_wake_lock_of_grant(t, token);
    hf__text_add(t, ")<=>CONNECTION_ID(),0,GET_LOCK(");
    hf__mysql_wake_lock_of_grant(t, token);
    hf__text_add(t, ",0))");
}

void hf__mysql_wake_lock_drop(struct hf__text *t, const struct hf__token *token)
{
    hf__text_add(t, "RELEASE_LOCK(");
    hf__mysql_wake_lock_of_grant(t, token);
    hf__text_add(t, ")");
}

void hf__mysql_wake_lock_leave(struct hf__mysql *s,
                               const struct hf__token *token)
{
    if (s->t.has_wake_locks) {
        hf__text_add(&s->stale, s->stale.length == 0 ? "DO " : ",");
        hf__mysql_wake_lock_drop(&s->stale, token);
    }
}
