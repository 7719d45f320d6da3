/* SPDX-License-Identifier: MIT */
/*
 * Fills the caller's hf_error: it writes no more than the caller's version has
 * room for, and makes the text clean UTF-8 on one line, whatever went into it.
 * The failing code chooses the sentence. Thread: any.
 */
#include "src/base/error.h"

#include "src/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Errors quote input and are printed on terminals, so a byte that is not UTF-8
 * and a control character become question marks. */
static void clean(char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length;) {
        size_t n = hf__utf8_length(text + i, length - i);
        unsigned char byte = (unsigned char)text[i];

        if (n == 0 || byte < 0x20 || byte == 0x7f) {
            text[i] = '?';
            n = 1;
        }
        i += n;
    }
}

void hf__error_copy(hf_error *dst, const hf_error *src)
{
    const size_t from = offsetof(hf_error, status);
    const size_t text_at = offsetof(hf_error, text);

    if (dst == NULL || src == NULL || dst == src) {
        return;
    }
    size_t size = dst->size < sizeof *dst ? dst->size : sizeof *dst;
    if (size > text_at) {
        memcpy((char *)dst + from, (const char *)src + from, size - from);
        char *text = (char *)dst + text_at;
        /* This cuts the text only if an older caller's is shorter. */
        text[size - text_at - 1] = '\0';
        text[hf__utf8_cut(text, size - text_at - 1)] = '\0';
    } else if (size >= offsetof(hf_error, sqlstate)) {
        dst->status = src->status;
        dst->native = src->native;
    }
}

__attribute__((format(printf, 4, 0))) static int
fail(hf_error *err, const hf_error *head, size_t size, const char *format,
     va_list args)
{
    /* Built in a copy, because err's own text may be among the arguments. */
    hf_error made = *head;

    if (err != NULL) {
        int n = vsnprintf(made.text, size, format, args);
        if (n < 0 || (size_t)n >= size) {
            made.text[hf__utf8_cut(made.text, size - 2)] = '\0';
        }
        clean(made.text);
        hf__error_copy(err, &made);
    }
    return made.status;
}

int hf__fail(hf_error *err, int status, const char *format, ...)
{
    hf_error head = HF_ERROR_INIT;
    va_list args;

    head.status = status;
    va_start(args, format);
    fail(err, &head, sizeof head.text, format, args);
    va_end(args);
    return status;
}

int hf__fail_native(hf_error *err, int status, int native, const char *format,
                    ...)
{
    hf_error head = HF_ERROR_INIT;
    va_list args;

    head.status = status;
    head.native = native;
    va_start(args, format);
    fail(err, &head, sizeof head.text, format, args);
    va_end(args);
    return status;
}

/* strerror_r() gives an int as POSIX has it and the text as GNU has it. */
__attribute__((unused)) static const char *text_of_int(int r, char *buf,
                                                       size_t size)
{
    if (r != 0) {
        (void)snprintf(buf, size, "unknown error");
    }
    return buf;
}

__attribute__((unused)) static const char *text_of_gnu(const char *text,
                                                       char *buf, size_t size)
{
    if (text != buf) {
        (void)snprintf(buf, size, "%s", text);
    }
    return buf;
}

const char *hf__errno_text(int number, char *buf, size_t size)
{
    return _Generic(strerror_r(number, buf, size), int
                    : text_of_int, default
                    : text_of_gnu)(strerror_r(number, buf, size), buf, size);
}
