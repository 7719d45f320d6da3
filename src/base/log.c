/* SPDX-License-Identifier: MIT */
/*
 * Makes one log line and hands it to the client's sink, unless the line is
 * above the client's level. The caller chooses what to log and holds no lock
 * then. Thread: any.
 */
#include "src/base/log.h"

#include "src/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hf__log(const struct hf__log *log, hf_level level, const char *format, ...)
{
    char line[1024];
    va_list args;

    if (log == NULL || log->fn == NULL || level > log->level) {
        return;
    }
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    if ((size_t)length >= sizeof line) {
        line[hf__utf8_cut(line, sizeof line - 2)] = '\0';
    }
    log->fn(log->arg, level, line);
}

static bool is_control(const unsigned char *text, size_t n)
{
    /* U+0080 to U+009F control terminals, too. */
    return *text < 0x20 || *text == 0x7f ||
           (n == 2 && text[0] == 0xc2 && text[1] < 0xa0);
}

static bool is_plain(const char *text)
{
    size_t length = strlen(text);

    return length > 0 && text[strcspn(text, " \"\\='")] == '\0' &&
           hf__utf8_is_valid(text, length);
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        size_t n = (unsigned char)*text == 0xc2 ? 2 : 1;
        if (is_control((const unsigned char *)text, n)) {
            return true;
        }
    }
    return false;
}

/* Writes the character at text to piece as it is written between quotes. Gives
 * the number of bytes of text that it took. */
static size_t escape(const char *text, size_t length, char piece[9])
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t n = hf__utf8_length(text, length);

    if (n == 0 || is_control(bytes, n)) {
        (void)snprintf(piece, 9, "\\x%02X", bytes[0]);
        /* The second byte of a control character starts no character, so the
         * next call writes it as \xNN, too. */
        return 1;
    }
    if (*text == '"' || *text == '\\') {
        (void)snprintf(piece, 9, "\\%c", *text);
        return 1;
    }
    memcpy(piece, text, n);
    piece[n] = '\0';
    return n;
}

const char *hf__log_quote(const char *text, char *buf, size_t size)
{
    const char *from = text != NULL ? text : "";
    size_t length = strlen(from);
    size_t at = 1;

    if (length < size && is_plain(from) && !has_control(from)) {
        memcpy(buf, from, length + 1);
        return buf;
    }
    if (size < 3) {
        if (size > 0) {
            buf[0] = '\0';
        }
        return buf;
    }
    buf[0] = '"';
    for (size_t i = 0; i < length;) {
        char piece[9];
        size_t used = escape(from + i, length - i, piece);
        size_t n = strlen(piece);

        if (at + n + 2 > size) {
            break;
        }
        memcpy(buf + at, piece, n);
        at += n;
        i += used;
    }
    buf[at] = '"';
    buf[at + 1] = '\0';
    return buf;
}
