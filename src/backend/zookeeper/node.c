/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads names, children and their data. Each name has one text and
 * each text one name: bytes that ZooKeeper refuses in a path, and the percent
 * sign itself, are written as %XX. A child that is not exactly as we would
 * write it is not ours. Data is lines of a word and a text, so that any tool
 * shows who it is; unknown lines are skipped, for later versions may write
 * more. Pure. Thread: any.
 */
#include "src/backend/zookeeper/node.h"

#include "src/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789ABCDEF";

static int value_of(char c)
{
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

/* ---- escapes */

static char *put_escaped(char *to, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];

        *to++ = '%';
        *to++ = digits[c >> 4];
        *to++ = digits[c & 15];
    }
    return to;
}

/* Decodes the escapes of a text, as far as there is room. Returns the
 * length. */
static size_t unescape(const char *text, size_t length, char *to, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < length && n < room; i++) {
        int high = -1;
        int low = -1;

        if (text[i] == '%' && length - i > 2) {
            high = value_of(text[i + 1]);
            low = value_of(text[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            to[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            to[n++] = text[i];
        }
    }
    return n;
}

/* Does ZooKeeper take the character in a path? It reads 16 bits at a time, so
 * none beyond U+FFFF; its PathUtils has the ranges. */
static bool may_stand(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;

    switch (length) {
    case 1:
        return c[0] > 0x1f && c[0] < 0x7f && c[0] != '/' && c[0] != '%';
    case 2: /* U+0080 to U+009F */
        return c[0] != 0xc2 || c[1] > 0x9f;
    case 3: /* U+E000 to U+F8FF, U+FFF0 to U+FFFF */
        return c[0] != 0xee && (c[0] != 0xef || c[1] > 0xa3) &&
               (c[0] != 0xef || c[1] != 0xbf || c[2] < 0xb0);
    default:
        return false;
    }
}

static char *put_name(char *to, const char *bytes, size_t n)
{
    bool is_dots = (n == 1 || n == 2) && bytes[0] == '.' && bytes[n - 1] == '.';
    size_t length;

    if (is_dots) {
        return put_escaped(to, bytes, n);
    }
    for (size_t i = 0; i < n; i += length) {
        length = hf__utf8_length(bytes + i, n - i);
        if (length == 0 || !may_stand(bytes + i, length)) {
            length = length == 0 ? 1 : length;
            to = put_escaped(to, bytes + i, length);
        } else {
            memcpy(to, bytes + i, length);
            to += length;
        }
    }
    return to;
}

/* ---- names and paths */

static char *put_prefix(char *to, const char *chroot, const struct hf__key *key)
{
    size_t length = strlen(chroot);
    size_t prefix = key->name_at;
    bool is_cell = prefix > 1 && key->bytes[prefix - 1] == '=';

    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): more is put after */
    memcpy(to, chroot, length);
    to += length;
    *to++ = '/';
    /* Without a prefix, the folder's name is the separator alone. */
    prefix -= is_cell || (prefix > 1 && key->bytes[prefix - 1] == ':') ? 1 : 0;
    if (prefix == 0) {
        *to++ = ':';
    }
    to = put_name(to, key->bytes, prefix);
    /* No prefix has a colon, so no lock's folder has that name. */
    return is_cell ? to + snprintf(to, 8, ":cells") : to;
}

size_t hf__zk_prefix_path(const char *chroot, const struct hf__key *key,
                          char to[HF__ZK_FOLDER_MAX])
{
    char *end = put_prefix(to, chroot, key);

    *end = '\0';
    return (size_t)(end - to);
}

size_t hf__zk_name_path(const char *chroot, const struct hf__key *key,
                        char to[HF__ZK_FOLDER_MAX])
{
    char *end = put_prefix(to, chroot, key);

    *end++ = '/';
    end = put_name(end, key->bytes + key->name_at,
                   (size_t)(key->length - key->name_at));
    *end = '\0';
    return (size_t)(end - to);
}

void hf__zk_child_path(const char *folder, const char *child,
                       char to[HF__ZK_PATH_MAX])
{
    int n = snprintf(to, HF__ZK_PATH_MAX, "%s/%s", folder, child);

    HF_ASSERT(n > 0 && n < HF__ZK_PATH_MAX);
}

/* Each folder begins with a slash of the path. */
int hf__zk_count_folders(const char *folder)
{
    int n = 0;

    for (const char *at = folder; *at != '\0'; at++) {
        n += *at == '/';
    }
    return n;
}

const char *hf__zk_folder_path(const char *folder, int n,
                               char to[HF__ZK_FOLDER_MAX])
{
    const char *at = folder;

    for (; *at != '\0' && (*at != '/' || n > 0); at++) {
        n -= *at == '/';
    }
    memcpy(to, folder, (size_t)(at - folder));
    to[at - folder] = '\0';
    return at == folder ? "/" : to;
}

size_t hf__zk_name_read(const char *text, char to[HF_NAME_MAX])
{
    char again[3 * HF_NAME_MAX + 1];
    size_t length = strlen(text);
    size_t n =
        length > sizeof again ? 0 : unescape(text, length, to, HF_NAME_MAX);
    size_t written = n == 0 ? 0 : (size_t)(put_name(again, to, n) - again);

    return written == length && memcmp(again, text, length) == 0 ? n : 0;
}

/* ---- children */

static char *put_token(char *to, const struct hf__token *token)
{
    hf__token_write(token, to);
    return to + HF__TOKEN_DIGITS;
}

/* Returns the text behind the token, or NULL. */
static const char *read_token(const char *text, struct hf__token *ret_token)
{
    return hf__token_read(text, ret_token) && !hf__token_is_zero(ret_token)
               ? text + HF__TOKEN_DIGITS
               : NULL;
}

/* Reads a number without a sign, and without zeros before it; −1: it is
 * none. */
static int read_count(const char *text, size_t length)
{
    int number = 0;

    if (length == 0 || length > 4 || (text[0] == '0' && length > 1)) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        number = 10 * number + (text[i] - '0');
    }
    return number;
}

/* Reads a sequence as the server writes it: "%010d" of 32 bits. */
static bool read_sequence(const char *text, int32_t *ret_sequence)
{
    char again[16];
    size_t length = strlen(text);

    if (length != 10 && length != 11) {
        return false;
    }
    *ret_sequence = (int32_t)strtol(text, NULL, 10);
    (void)snprintf(again, sizeof again, "%010" PRId32, *ret_sequence);
    return strcmp(again, text) == 0;
}

static bool read_lock_mode(const char *text, size_t length,
                           struct hf__zk_child *child)
{
    int number = read_count(text + 1, length - 1);

    if (length == sizeof HF__ZK_LOCK_NAME - 1 &&
        memcmp(text, HF__ZK_LOCK_NAME, length) == 0) {
        child->kind = HF__ZK_MARKER;
        return true;
    }
    child->kind = HF__ZK_CLAIM;
    if (length == 1 && (text[0] == 'x' || text[0] == 's')) {
        child->lock_mode.mode =
            text[0] == 'x' ? HF__MODE_EXCLUSIVE : HF__MODE_SHARED;
        return true;
    }
    if (text[0] == 'k') {
        child->kind = HF__ZK_SLOT;
        child->slot = number;
        return number >= 0 && number < HF_SLOTS_MAX;
    }
    child->lock_mode = (struct hf__lock_mode){HF__MODE_SLOTS, number};
    return text[0] == 'n' && number >= 1 && number <= HF_SLOTS_MAX;
}

static bool read_child(const char *name, struct hf__zk_child *child)
{
    const char *rest = strchr(name, '-');

    if (rest == NULL || rest == name ||
        !read_lock_mode(name, (size_t)(rest - name), child)) {
        return false;
    }
    rest = read_token(rest + 1, &child->token);
    if (child->kind == HF__ZK_MARKER) {
        return rest != NULL && *rest == '\0';
    }
    return rest != NULL && *rest == '-' &&
           read_sequence(rest + 1, &child->sequence);
}

void hf__zk_child_read(const char *name, struct hf__zk_child *child)
{
    *child = (struct hf__zk_child){.slot = -1};
    if (strcmp(name, HF__ZK_LOCK_NAME) == 0) {
        child->kind = HF__ZK_LOCK;
    } else if (!read_child(name, child)) {
        child->kind = HF__ZK_FOREIGN;
    }
}

void hf__zk_claim_write(const struct hf__token *token,
                        struct hf__lock_mode lock_mode,
                        char to[HF__ZK_CHILD_MAX])
{
    char *at = to;

    switch (lock_mode.mode) {
    case HF__MODE_EXCLUSIVE:
        *at++ = 'x';
        break;
    case HF__MODE_SHARED:
        *at++ = 's';
        break;
    case HF__MODE_SLOTS:
        at += snprintf(at, 8, "n%d", lock_mode.slots);
        break;
    }
    *at++ = '-';
    at = put_token(at, token);
    *at++ = '-';
    *at = '\0';
}

void hf__zk_slot_write(const struct hf__token *token, int slot,
                       char to[HF__ZK_CHILD_MAX])
{
    char *at = to + snprintf(to, 8, "k%d-", slot);

    at = put_token(at, token);
    *at++ = '-';
    *at = '\0';
}

void hf__zk_marker_write(const struct hf__token *token,
                         char to[HF__ZK_CHILD_MAX])
{
    char *at = to + snprintf(to, 8, "%s-", HF__ZK_LOCK_NAME);

    *put_token(at, token) = '\0';
}

bool hf__zk_is_exhausted(int32_t sequence)
{
    return sequence < 0 || sequence > INT32_MAX - 65536;
}

/* The server's cversion counts each child twice, when made and when deleted;
 * children that exist were counted once. */
int32_t hf__zk_next_sequence(int32_t cversion, int32_t n_children)
{
    return (int32_t)(((uint32_t)cversion + (uint32_t)n_children) >> 1);
}

/* ---- data */

static const char *const states[] = {
    [HF__ZK_ENTERS] = "enters",
    [HF__ZK_TRIES] = "tries",
    [HF__ZK_WAITS] = "waits",
    [HF__ZK_HOLDS] = "holds",
};

static char *put_word(char *to, const char *word)
{
    return to + snprintf(to, 16, "%s ", word);
}

/* Writes a line, as "label alice\n". */
static char *put_line(char *to, const char *word, const char *text)
{
    to = put_word(to, word);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c == 0x7f || c == '%') {
            to = put_escaped(to, text, 1);
        } else {
            *to++ = *text;
        }
    }
    *to++ = '\n';
    return to;
}

static char *put_number(char *to, const char *word, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    return put_line(to, word, text);
}

int hf__zk_data_write(const struct hf__zk_data *node_data,
                      char to[HF__ZK_DATA_MAX])
{
    char *at = put_line(to, "state", states[node_data->state]);

    if (node_data->state == HF__ZK_TRIES) {
        at = put_number(at, "foreseen", node_data->expected);
    }
    at = put_token(put_word(at, "token"), &node_data->token);
    *at++ = '\n';
    at = put_line(at, "label", node_data->owner.label);
    at = put_line(at, "host", node_data->owner.host);
    at = put_line(at, "thread", node_data->owner.thread);
    at = put_line(at, "note", node_data->owner.note);
    at = put_number(at, "pid", node_data->owner.pid);
    at = put_number(at, "acquired", node_data->acquired_us);
    HF_ASSERT(at - to < HF__ZK_DATA_MAX);
    return (int)(at - to);
}

static bool is_word(const char *line, size_t length, const char *word)
{
    size_t n = strlen(word);

    return length > n && memcmp(line, word, n) == 0 && line[n] == ' ';
}

static void read_text(const char *text, size_t length, char *to, size_t size)
{
    size_t n = unescape(text, length, to, size - 1);

    n = memchr(to, '\0', n) == NULL && hf__utf8_is_valid(to, n) ? n : 0;
    to[n] = '\0';
}

static int64_t read_number(const char *text, size_t length)
{
    char digits_only[24] = "";

    if (length < sizeof digits_only) {
        memcpy(digits_only, text, length);
    }
    return strtoll(digits_only, NULL, 10);
}

static enum hf__zk_claim_state read_state(const char *text, size_t length)
{
    for (int i = HF__ZK_TRIES; i <= HF__ZK_HOLDS; i++) {
        if (length == strlen(states[i]) &&
            memcmp(text, states[i], length) == 0) {
            return (enum hf__zk_claim_state)i;
        }
    }
    return HF__ZK_ENTERS;
}

static void read_line(const char *line, size_t length, struct hf__zk_data *f)
{
    const char *space = memchr(line, ' ', length);
    const char *text = space == NULL ? line + length : space + 1;
    size_t n = length - (size_t)(text - line);

    if (is_word(line, length, "state")) {
        f->state = read_state(text, n);
    } else if (is_word(line, length, "foreseen")) {
        f->expected = (int32_t)read_number(text, n);
    } else if (is_word(line, length, "token") && n == HF__TOKEN_DIGITS &&
               read_token(text, &f->token) == NULL) {
        f->token = (struct hf__token){{0}};
    } else if (is_word(line, length, "label")) {
        read_text(text, n, f->owner.label, sizeof f->owner.label);
    } else if (is_word(line, length, "host")) {
        read_text(text, n, f->owner.host, sizeof f->owner.host);
    } else if (is_word(line, length, "thread")) {
        read_text(text, n, f->owner.thread, sizeof f->owner.thread);
    } else if (is_word(line, length, "note")) {
        read_text(text, n, f->owner.note, sizeof f->owner.note);
    } else if (is_word(line, length, "pid")) {
        f->owner.pid = read_number(text, n);
    } else if (is_word(line, length, "acquired")) {
        f->acquired_us = read_number(text, n);
    }
}

void hf__zk_data_read(const char *text, size_t length, struct hf__zk_data *f)
{
    const char *end = text + length;

    *f = (struct hf__zk_data){.state = HF__ZK_ENTERS, .expected = -1};
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        stop = stop == NULL ? end : stop;
        read_line(text, (size_t)(stop - text), f);
        text = stop + 1;
    }
}
