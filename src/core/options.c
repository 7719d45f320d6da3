/* SPDX-License-Identifier: MIT */
/*
 * Reading the caller's options, before any I/O. This file decides what is
 * valid, refuses what the store cannot do (each option that needs a capability,
 * and a lease of the caller's where the session's applies), and fills in a
 * label's fields. See holdfast.h for what each option does. Thread: any.
 */
#include "src/core/options.h"

#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/thread.h"
#include "src/base/utf8.h"
#include "src/core/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD_SIZE 128

int hf__options_copy(void *ours, size_t size, const void *theirs, hf_error *err)
{
    const unsigned char *bytes = theirs;
    size_t given = 0;

    if (theirs == NULL) {
        return HF_OK;
    }
    memcpy(&given, theirs, sizeof given);
    if (given < sizeof given) {
        return hf__fail(err, HF_EINVAL,
                        "the options' size is %zu: begin with the INIT macro",
                        given);
    }
    for (size_t i = size; i < given; i++) {
        if (bytes[i] != 0) {
            return hf__fail(err, HF_EINVAL,
                            "the options are of a newer version than this "
                            "library (" HF_VERSION
                            "); use the library that the "
                            "program was built for");
        }
    }
    memcpy(ours, theirs, given < size ? given : size);
    memcpy(ours, &size, sizeof size);
    return HF_OK;
}

static size_t size_of(const void *sized)
{
    size_t size;

    memcpy(&size, sized, sizeof size);
    return size;
}

bool hf__result_fits(const void *theirs, size_t size)
{
    return theirs != NULL && size_of(theirs) >= sizeof size &&
           size_of(theirs) <= size;
}

void hf__result_give(void *theirs, const void *ours)
{
    size_t size = size_of(theirs);

    memcpy(theirs, ours, size);
    memcpy(theirs, &size, sizeof size);
}

static int check_label(const char *what, const char *text, hf_error *err)
{
    size_t length = text == NULL ? 0 : strlen(text);

    if (length > HF_NOTE_MAX) {
        return hf__fail(err, HF_EINVAL, "the %s has %zu bytes, at most %d fit",
                        what, length, HF_NOTE_MAX);
    }
    if (length > 0 && !hf__utf8_is_valid(text, length)) {
        return hf__fail(err, HF_EINVAL, "the %s is not UTF-8", what);
    }
    return HF_OK;
}

static int check_keep(const char *what, int64_t ms, hf_error *err)
{
    if (ms < 0 || ms > HF_KEEP_MAX_MS) {
        return hf__fail(err, HF_EINVAL,
                        "%s is %lld: 0 for none, or up to %lld (a century)",
                        what, (long long)ms, (long long)HF_KEEP_MAX_MS);
    }
    return HF_OK;
}

/* min_hold_ms keeps a name closed for all, so it makes no sense for shared
 * locks or slots. */
static int check_lock_mode(const hf_acquire_opts *opts, hf_error *err)
{
    bool is_one_of_several = opts->shared != 0 || opts->slots != 0;

    if (opts->slots < 0 || opts->slots > HF_SLOTS_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "slots is %d: 1 to %d, or 0 for a lock of one holder",
                        opts->slots, HF_SLOTS_MAX);
    }
    if (opts->shared != 0 && opts->slots != 0) {
        return hf__fail(err, HF_EINVAL,
                        "shared and slots exclude each other: shared has no "
                        "limit, slots are one");
    }
    if (is_one_of_several && opts->min_hold_ms != 0) {
        return hf__fail(err, HF_EINVAL,
                        "min_hold_ms is for a lock that one holds alone: leave "
                        "out %s, or min_hold_ms",
                        opts->shared != 0 ? "shared" : "slots");
    }
    return HF_OK;
}

struct hf__lock_mode hf__lock_mode_of(const hf_acquire_opts *opts)
{
    if (opts->slots > 0) {
        return (struct hf__lock_mode){HF__MODE_SLOTS, opts->slots};
    }
    return (struct hf__lock_mode){
        opts->shared != 0 ? HF__MODE_SHARED : HF__MODE_EXCLUSIVE, 0};
}

static int check_once(const hf_acquire_opts *opts, hf_error *err)
{
    if (opts->once_ms != HF_FOREVER &&
        check_keep("once_ms", opts->once_ms, err) != HF_OK) {
        return HF_EINVAL;
    }
    if (opts->once_key != NULL && opts->once_ms == 0) {
        return hf__fail(err, HF_EINVAL,
                        "once_key needs once_ms: how long a start counts, or "
                        "HF_FOREVER");
    }
    if (opts->once_key != NULL &&
        !hf__utf8_is_valid(opts->once_key, strlen(opts->once_key))) {
        return hf__fail(err, HF_EINVAL, "once_key is not UTF-8");
    }
    return HF_OK;
}

int hf__options_check(const hf_acquire_opts *opts, hf_error *err)
{
    int r = HF_OK;

    if (opts->wait_ms < 0 && opts->wait_ms != HF_FOREVER) {
        return hf__fail(err, HF_EINVAL,
                        "wait_ms is %lld: 0, a positive number or HF_FOREVER",
                        (long long)opts->wait_ms);
    }
    if (opts->lease_ms < HF_LEASE_MIN_MS || opts->lease_ms > HF_LEASE_MAX_MS) {
        return hf__fail(
            err, HF_EINVAL, "lease_ms is %lld: %d to %d (100 ms to 24 h)",
            (long long)opts->lease_ms, HF_LEASE_MIN_MS, HF_LEASE_MAX_MS);
    }
    r = check_keep("min_hold_ms", opts->min_hold_ms, err);
    r = r == HF_OK ? check_keep("max_hold_ms", opts->max_hold_ms, err) : r;
    if (r == HF_OK && opts->max_hold_ms != 0 &&
        opts->max_hold_ms < HF_LEASE_MIN_MS) {
        r = hf__fail(err, HF_EINVAL,
                     "max_hold_ms is %lld: at least %d, or 0 for no limit",
                     (long long)opts->max_hold_ms, HF_LEASE_MIN_MS);
    }
    r = r == HF_OK ? check_once(opts, err) : r;
    r = r == HF_OK ? check_lock_mode(opts, err) : r;
    if (r != HF_OK) {
        return r;
    }
    r = check_label("owner label", opts->owner, err);
    return r == HF_OK ? check_label("note", opts->note, err) : r;
}

/* ---- what the store can do */

static int check_caps(unsigned caps, const hf_acquire_opts *opts, hf_error *err)
{
    const struct {
        bool is_wanted;
        unsigned cap;
        const char *refusal;
    } needs[] = {
        {opts->detached != 0, HF_CAP_DETACH,
         "detached: this store ties a lock to its process; acquire it "
         "without, in a process that lives as long"},
        {opts->min_hold_ms != 0, HF_CAP_KEEP,
         "min_hold_ms: this store can't keep a name closed; leave it at 0, or "
         "use another store"},
        {opts->once_ms != 0, HF_CAP_KEEP,
         "once_ms: this store can't keep the mark of a start; leave it at 0, "
         "or use another store"},
        {opts->fair != 0, HF_CAP_FAIR,
         "fair: this store has no queue of waiters; leave it at 0, or use "
         "another store"},
        {opts->shared != 0, HF_CAP_SHARED,
         "shared: this store has one holder for each name; leave it at 0, or "
         "use another store"},
        {opts->slots != 0, HF_CAP_SLOTS,
         "slots: this store has one holder for each name; leave it at 0, or "
         "use another store"},
    };

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (needs[i].is_wanted && (caps & needs[i].cap) == 0) {
            return hf__fail(err, HF_ENOTSUP, "%s", needs[i].refusal);
        }
    }
    return HF_OK;
}

/* If a lease other than the default was asked for, it must be the session's. */
static int check_lease(const hf_acquire_opts *opts, int64_t lease_ms,
                       hf_error *err)
{
    if (opts->auto_renew == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "auto_renew is 0: this store's locks live with the "
                        "session, which is kept alive; leave it at 1, and use "
                        "max_hold_ms for one that must end");
    }
    if (opts->lease_ms != HF_LEASE_DEFAULT_MS && opts->lease_ms != lease_ms) {
        return hf__fail(err, HF_ENOTSUP,
                        "lease_ms is %lld: this store's locks live with the "
                        "session, %lld ms without an answer; leave it out, or "
                        "set session_timeout in the URL",
                        (long long)opts->lease_ms, (long long)lease_ms);
    }
    return HF_OK;
}

int hf__options_check_caps(hf_client *client, hf_acquire_opts *opts,
                           hf_error *err)
{
    int64_t lease_ms = hf__client_lease_ms(client);
    int r = check_caps(client->settings.caps, opts, err);

    if (r == HF_OK && lease_ms != 0) {
        r = check_lease(opts, lease_ms, err);
        opts->lease_ms = lease_ms;
    }
    return r;
}

int hf__options_check_adoption(const hf_client *client, hf_error *err)
{
    if ((client->settings.caps & HF_CAP_SESSION) == 0) {
        return HF_OK;
    }
    return hf__fail(err, HF_ENOTSUP,
                    "this store's locks live with the session that acquired "
                    "them: by token nobody else can renew or release them");
}

/* ---- the owner, for people */

/* Write the field that a letter stands for; false: there is none. */
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

/* After a failure, buf must not be used. */
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
        return hf__fail(err, HF_EINVAL,
                        "the buffer that receives the label is NULL");
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

/* The number of digits that the text begins with; 0 unless a blank or the end
 * follows: then another program or an earlier version wrote the text. */
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
