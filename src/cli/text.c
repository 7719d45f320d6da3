/* SPDX-License-Identifier: MIT */
/*
 * The command's heap (nothing else calls malloc), growing strings, text of
 * others made harmless, and tables with aligned columns. When memory runs out
 * the command ends with 71, said by a write() that needs no memory. Thread:
 * any.
 */
#include "src/cli/text.h"
#include "src/cli/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *answer;

void cli_memory_answer(const char *text)
{
    answer = text;
}

_Noreturn static void fail(void)
{
    static const char text[] = "holdfast: out of memory\n";
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);

    if (answer) {
        n = write(STDOUT_FILENO, answer, strlen(answer));
    }
    (void)n;
    _exit(CLI_EXIT_MEMORY);
}

void *cli_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    if (!p) {
        fail();
    }
    return p;
}

void *cli_resize(void *p, size_t size)
{
    p = realloc(p, size ? size : 1);
    if (!p) {
        fail();
    }
    return p;
}

char *cli_strndup(const char *text, size_t length)
{
    char *copy = cli_alloc(length + 1);

    memcpy(copy, text, length);
    return copy;
}

char *cli_strdup(const char *text)
{
    return cli_strndup(text, strlen(text));
}

char *cli_format(const char *format, ...)
{
    va_list list;
    int length;
    char *text;

    va_start(list, format);
    length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0) {
        fail();
    }
    text = cli_alloc((size_t)length + 1);
    va_start(list, format);
    (void)vsnprintf(text, (size_t)length + 1, format, list);
    va_end(list);
    return text;
}

void cli_free(void *p)
{
    free(p);
}

void cli_free_auto(void *p)
{
    void *owned;

    memcpy(&owned, p, sizeof owned);
    free(owned);
}

static void grow(struct cli_text *text, size_t more)
{
    size_t need = text->length + more + 1;

    if (!text->data || need > text->room) {
        text->room = need * 2 > 128 ? need * 2 : 128;
        text->data = cli_resize(text->data, text->room);
    }
}

void cli_text_bytes(struct cli_text *text, const char *bytes, size_t length)
{
    grow(text, length);
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = 0;
}

void cli_text_add(struct cli_text *text, const char *format, ...)
{
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0) {
        return;
    }
    grow(text, (size_t)length);
    va_start(list, format);
    (void)vsnprintf(text->data + text->length, (size_t)length + 1, format,
                    list);
    va_end(list);
    text->length += (size_t)length;
}

/* Refuse surrogates, overlong forms and points beyond U+10FFFF. */
static bool is_point(uint32_t point, size_t length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

    return point >= least[length] && point <= 0x10ffff &&
           (point < 0xd800 || point > 0xdfff);
}

size_t cli_utf8(const char *p, uint32_t *ret_point)
{
    unsigned char first = (unsigned char)*p;
    size_t length = first < 0x80   ? 1
                    : first < 0xc0 ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf8 ? 4
                                   : 0;
    uint32_t point = first;

    if (length > 1) {
        point = first & (0xffu >> (length + 1));
    }
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)p[i];

        if ((next & 0xc0) != 0x80) {
            return 0;
        }
        point = point << 6 | (next & 0x3f);
    }
    if (!length || !is_point(point, length)) {
        return 0;
    }
    *ret_point = point;
    return length;
}

size_t cli_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

/* These are C0, C1, DEL, line separators, and the marks that reorder a line. */
static bool is_harmful(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
           (point >= 0x200e && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

void cli_text_clean(struct cli_text *text, const char *word)
{
    while (*word) {
        uint32_t point = 0;
        size_t length = cli_utf8(word, &point);

        if (length && !is_harmful(point)) {
            cli_text_bytes(text, word, length);
            word += length;
            continue;
        }
        for (length = length ? length : 1; length; length--, word++) {
            cli_text_add(text, "\\x%02x", (unsigned char)*word);
        }
    }
}

static bool is_bare(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789_-+=:,./@%";

    return *word && !word[strspn(word, safe)];
}

/* Add a word with bytes that a terminal would act on as $'…'. */
static void add_escaped(struct cli_text *text, const char *word)
{
    cli_text_add(text, "$'");
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;

        if (c < 0x20 || c >= 0x7f) {
            cli_text_add(text, "\\x%02x", c);
        } else {
            cli_text_add(text, c == '\'' || c == '\\' ? "\\%c" : "%c", c);
        }
    }
    cli_text_add(text, "'");
}

void cli_text_shell(struct cli_text *text, const char *word)
{
    struct cli_text clean = {0};
    bool is_clean;

    cli_text_clean(&clean, word);
    is_clean = !clean.data || !strcmp(clean.data, word);
    cli_text_fini(&clean);
    if (!is_clean) {
        add_escaped(text, word);
        return;
    }
    if (is_bare(word)) {
        cli_text_add(text, "%s", word);
        return;
    }
    cli_text_add(text, "'");
    for (; *word; word++) {
        if (*word == '\'') {
            cli_text_add(text, "'\\''");
        } else {
            cli_text_bytes(text, word, 1);
        }
    }
    cli_text_add(text, "'");
}

static void add_json_point(struct cli_text *text, uint32_t point)
{
    if (point == '"' || point == '\\') {
        cli_text_add(text, "\\%c", (int)point);
    } else if (point == '\n' || point == '\t') {
        cli_text_add(text, point == '\n' ? "\\n" : "\\t");
    } else {
        cli_text_add(text, "\\u%04x", (unsigned)point);
    }
}

void cli_text_json(struct cli_text *text, const char *word)
{
    if (!word) {
        cli_text_add(text, "null");
        return;
    }
    cli_text_add(text, "\"");
    while (*word) {
        uint32_t point = 0xfffd;
        size_t length = cli_utf8(word, &point);

        if (!length || is_harmful(point) || point == '"' || point == '\\') {
            add_json_point(text, point);
        } else {
            cli_text_bytes(text, word, length);
        }
        word += length ? length : 1;
    }
    cli_text_add(text, "\"");
}

void cli_text_cut(struct cli_text *text, size_t length)
{
    if (length < text->length) {
        text->length = length;
        text->data[length] = 0;
    }
}

void cli_text_fini(struct cli_text *text)
{
    cli_free(text->data);
    *text = (struct cli_text){0};
}

void cli_table_add(struct cli_table *table, const char *word)
{
    struct cli_text clean = {0};
    size_t column = table->count % table->columns;
    size_t width;

    if (table->count == table->room) {
        table->room = table->room ? table->room * 2 : 64;
        table->cells =
            cli_resize(table->cells, table->room * sizeof *table->cells);
    }
    cli_text_bytes(&clean, "", 0);
    cli_text_clean(&clean, word ? word : "-");
    width = cli_width(clean.data);
    if (width > table->width[column]) {
        table->width[column] = width;
    }
    table->cells[table->count++] = clean.data;
}

void cli_table_write(const struct cli_table *table, struct cli_text *text)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        size_t width = cli_width(table->cells[i]);

        if (column + 1 == table->columns) {
            cli_text_add(text, "%s\n", table->cells[i]);
        } else {
            cli_text_add(text, "%s%*s", table->cells[i],
                         (int)(table->width[column] - width + 2), "");
        }
    }
}

void cli_table_fini(struct cli_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        cli_free(table->cells[i]);
    }
    cli_free(table->cells);
    table->cells = NULL;
    table->count = 0;
}
