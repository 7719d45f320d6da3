/* SPDX-License-Identifier: MIT */
/*
 * Words that all processes share through a file.
 *
 * Whoever may write the file may cut it off, and a process that then touched
 * its mapping would die of SIGBUS. So the mapping is only a name for the
 * kernel, by which it knows who sleeps where, and is never touched from here:
 * values are read and written through the descriptor, a word is counted up in
 * the call that wakes. Where the file was cut off, words read as zero and
 * nobody is woken.
 *
 * A file that was cut off grows again by what is written behind its end, so
 * its size tells nothing; what it begins with does. Thread: any.
 */
#ifndef HF_BASE_WORDS_H
#define HF_BASE_WORDS_H

#include "src/base/base.h"
#include "src/base/thread.h"

#include <stdatomic.h>

/* The byte that hf__words_lock() has locked; see ofd.h. */
#define HF__BYTE_WORDS ((INT64_C(1) << 30) - 3)

/* By offset in it. Offsets and sizes are multiples of 8 of what is read or
 * written, of 4 of a word. */
struct hf__words {
    int fd; /* borrowed; −1: memory of this process alone */
    unsigned char *map;
    size_t size;
    struct hf__mutex lock;
};

/* The first `size` bytes of the file. HF_OK, or HF_EUNAVAIL with errno: EFBIG
 * where the process may not write as far (ulimit -f). */
HF_MUST_CHECK int hf__words_map(struct hf__words *, int fd, size_t size);
/* The same on memory that nobody else sees. */
void hf__words_own(struct hf__words *, void *memory, size_t size);
/* Takes a zeroed one. */
void hf__words_fini(struct hf__words *);

/* What is not there is zero. */
void hf__words_read(const struct hf__words *, size_t at, void *ret_value,
                    size_t size);
/* False: there is no room for a file that was cut off. */
bool hf__words_write(const struct hf__words *, size_t at, const void *value,
                     size_t size);
unsigned hf__words_get(const struct hf__words *, size_t at);
void hf__words_set(const struct hf__words *, size_t at, unsigned value);

/* By which the kernel knows the word, to sleep there: not to be followed. */
atomic_uint *hf__words_name(const struct hf__words *, size_t at);
/* Count it up, in one step; nobody sleeps on `idle`, nor is woken. */
void hf__words_add(const struct hf__words *, size_t at, int by, size_t idle);
/* Count it up by one and wake `count` who sleep there, in one step. Gives how
 * many were woken. */
int hf__words_ring(const struct hf__words *, size_t at, int count);

/* A full memory barrier, which ThreadSanitizer knows no C11 word for. */
static inline void hf__barrier(void)
{
    __sync_synchronize();
}

/* For what takes several steps: others who lock wait, but for no longer than
 * some milliseconds, for whoever has it may be stopped. */
void hf__words_lock(struct hf__words *);
void hf__words_unlock(struct hf__words *);

#endif
