/* SPDX-License-Identifier: MIT */
/*
 * From keys to file names. That the file is that key's, its record says.
 * Thread: any.
 */
#include "src/backend/file/name.h"

#include "src/base/map.h"

#include <stdio.h>
#include <string.h>

#define LONGEST  200
#define HASHED   34 /* "%_" and 32 digits */
#define UNIT_MAX 3

/* One byte of a key as it stands in the name; gives its length. */
static size_t encode(unsigned char c, bool is_first, char to[UNIT_MAX + 1])
{
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
        (c != '\0' && strchr("-_:=@,", c) != NULL) || (c == '.' && !is_first)) {
        to[0] = (char)c;
        return 1;
    }
    if (c >= 'A' && c <= 'Z') {
        to[0] = '+';
        to[1] = (char)(c - 'A' + 'a');
        return 2;
    }
    (void)snprintf(to, UNIT_MAX + 1, "%%%02x", c);
    return UNIT_MAX;
}

/* Another hash than the first: of the bytes backwards. */
static uint64_t hash_backwards(const struct hf__key *key)
{
    char bytes[HF__KEY_MAX];

    for (size_t i = 0; i < key->length; i++) {
        bytes[i] = key->bytes[key->length - 1 - i];
    }
    return hf__hash(bytes, key->length);
}

void hf__file_name(const struct hf__key *key, char to[HF__FILE_NAME_SIZE])
{
    size_t used = 0;
    size_t cut = 0; /* so much can stay if a hash must follow */

    for (size_t i = 0; i < key->length; i++) {
        char unit[UNIT_MAX + 1];
        size_t length = encode((unsigned char)key->bytes[i], i == 0, unit);

        if (used + length > LONGEST) {
            (void)snprintf(
                to + cut, HASHED + 1, "%%_%016llx%016llx",
                (unsigned long long)hf__hash(key->bytes, key->length),
                (unsigned long long)hash_backwards(key));
            return;
        }
        memcpy(to + used, unit, length);
        used += length;
        cut = used <= LONGEST - HASHED ? used : cut;
    }
    to[used] = '\0';
}
