/* SPDX-License-Identifier: MIT */
/*
 * Who asks, for people: filling in a label's fields, and what a record keeps
 * of a thread. Thread: any; the calling one is told of.
 */
#include "src/core/owner.h"

#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/thread.h"
#include "src/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD_SIZE 128

/* The field that a letter stands for; false: none. */
static bool read_field(char letter, char to[FIELD_SIZE])
{
    to[0] = '\0';
    switch (letter) {
    case 'h':
        hf__host_name(to);
        return true;
    case 'i':
        hf__host_address(to);
        return true;
    case 'n':
        hf__host_node(to, FIELD_SIZE);
        return true;
    case 'p':
        (void)snprintf(to, FIELD_SIZE, "%ld", (long)getpid());
        return true;
    case 't':
        (void)snprintf(to, FIELD_SIZE, "%u", hf__thread_id());
        return true;
    case 'T':
        hf__thread_name(to, FIELD_SIZE);
        return true;
    case 'e':
        (void)snprintf(to, FIELD_SIZE, "%" PRId64, hf__wall_us() / 1000);
        return true;
    case '%':
        (void)snprintf(to, FIELD_SIZE, "%%");
        return true;
    default:
        return false;
    }
}

static int fail_field(const char *format, const char *at, hf_error *err)
{
    size_t length = hf__utf8_length(at + 1, strlen(at + 1));

    return hf__fail(err, HF_EINVAL,
                    "the owner label \"%.200s\" has the field \"%%%.*s\": "
                    "there are %%h %%i %%n %%p %%t %%T %%e, and %%%% for a "
                    "percent sign",
                    format, (int)length, at + 1);
}

/* What stands in buf after a failure counts for nothing. */
static int fill(char *buf, size_t size, const char *format, hf_error *err)
{
    size_t length = 0;

    buf[0] = '\0';
    for (const char *from = format; *from != '\0' && length < size; from++) {
        char field[FIELD_SIZE] = {*from, '\0'};

        if (*from == '%' && !read_field(*++from, field)) {
            return fail_field(format, from - 1, err);
        }
        length += (size_t)snprintf(buf + length, size - length, "%s", field);
    }
    if (length >= size) {
        return hf__fail(err, HF_EINVAL,
                        "the owner label \"%.200s\" has more than %zu bytes "
                        "once its fields are filled in",
                        format, size - 1);
    }
    if (!hf__utf8_is_valid(buf, length)) {
        return hf__fail(err, HF_EINVAL,
                        "the owner label is not UTF-8 once its fields are "
                        "filled in: see HOLDFAST_NODE and the names of the "
                        "host and the thread");
    }
    return HF_OK;
}

int hf_owner_format(char *buf, size_t size, const char *format, hf_error *err)
{
    int r;

    if (buf == NULL || size == 0) {
        return hf__fail(err, HF_EINVAL, "the call needs a place for the label");
    }
    r = fill(buf, size, format != NULL ? format : HF_OWNER_CLASSIC, err);
    if (r != HF_OK) {
        buf[0] = '\0';
    }
    return r;
}

int hf__owner_fill(hf_acquire_opts *opts, char label[HF_NOTE_MAX + 1],
                   hf_error *err)
{
    int r;

    if (opts->owner == NULL || strchr(opts->owner, '%') == NULL) {
        return HF_OK;
    }
    r = hf_owner_format(label, HF_NOTE_MAX + 1, opts->owner, err);
    opts->owner = label;
    return r;
}

void hf__owner_set(const struct hf_client *c, const char *label,
                   const char *note, struct hf__owner *ret_owner)
{
    char name[17];
    char thread[32];

    hf__thread_name(name, sizeof name);
    (void)snprintf(thread, sizeof thread, "%u %s", hf__thread_id(), name);
    memset(ret_owner, 0, sizeof *ret_owner);
    hf__utf8_copy(ret_owner->label, sizeof ret_owner->label,
                  label == NULL ? program_invocation_short_name : label);
    hf__utf8_copy(ret_owner->note, sizeof ret_owner->note,
                  note == NULL ? "" : note);
    hf__utf8_copy(ret_owner->host, sizeof ret_owner->host, c->host);
    hf__utf8_copy(ret_owner->thread, sizeof ret_owner->thread, thread);
    ret_owner->pid = getpid();
}

/* How many digits it begins with; 0 unless a blank or the end is behind them:
 * somebody else's text, or an earlier version's. */
static size_t digits_of(const char *thread)
{
    size_t n = strspn(thread, "0123456789");

    return n <= 10 && (thread[n] == ' ' || thread[n] == '\0') ? n : 0;
}

int64_t hf__owner_tid(const struct hf__owner *owner)
{
    return digits_of(owner->thread) > 0 ? strtoll(owner->thread, NULL, 10) : 0;
}

const char *hf__owner_thread(const struct hf__owner *owner)
{
    size_t n = digits_of(owner->thread);

    return owner->thread + n + (n > 0 && owner->thread[n] == ' ');
}
