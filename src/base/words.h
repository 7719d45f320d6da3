/* SPDX-License-Identifier: MIT */
/*
 * Words that all processes share through a file.
 *
 * Every process that may write the file can truncate it, and a process that
 * then touched its mapping would die of SIGBUS. So the mapping is never touched
 * from here: its addresses only tell the kernel on which word a thread sleeps.
 * Values are read and written through the descriptor, and a word is incremented
 * by the system call that wakes. Where the file was truncated, words read as
 * zero and nobody is woken.
 *
 * A truncated file grows again when something is written past its end, so its
 * size does not tell that it was truncated; its first bytes do. Thread: any.
 */
#ifndef HF_BASE_WORDS_H
#define HF_BASE_WORDS_H

#include "src/base/base.h"
#include "src/base/thread.h"

#include <stdatomic.h>

/* The byte that hf__words_lock() has locked; see ofd.h. */
#define HF__BYTE_WORDS ((INT64_C(1) << 30) - 3)

/* Words are addressed by offset in the file. Offsets and sizes of reads and
 * writes are multiples of 8, offsets of a single word multiples of 4. */
struct hf__words {
    int fd; /* borrowed; −1: memory of this process alone */
    unsigned char *map;
    size_t size;
    struct hf__mutex lock;
};

/* Maps the first `size` bytes of the file. HF_OK, or HF_EUNAVAIL with errno:
 * EFBIG if the process may not write that far (ulimit -f). */
HF_MUST_CHECK int hf__words_map(struct hf__words *, int fd, size_t size);
/* The same on memory of this process alone. */
void hf__words_own(struct hf__words *, void *memory, size_t size);
/* Takes a zeroed one. */
void hf__words_fini(struct hf__words *);

/* Reads zeros where the file was truncated. */
void hf__words_read(const struct hf__words *, size_t at, void *ret_value,
                    size_t size);
/* False: the disk has no room for what was truncated. */
bool hf__words_write(const struct hf__words *, size_t at, const void *value,
                     size_t size);
unsigned hf__words_get(const struct hf__words *, size_t at);
void hf__words_set(const struct hf__words *, size_t at, unsigned value);

/* The address by which the kernel knows the word, to sleep on; never
 * dereference it. */
atomic_uint *hf__words_name(const struct hf__words *, size_t at);
/* Add to the word in one step, without waking anybody: `idle` is a word on
 * which nobody sleeps. */
void hf__words_add(const struct hf__words *, size_t at, int by, size_t idle);
/* Add one to the word and wake up to `count` threads that sleep on it, in one
 * step. Gives how many were woken. */
int hf__words_ring(const struct hf__words *, size_t at, int count);

/* A full memory barrier; not atomic_thread_fence(), which ThreadSanitizer does
 * not know. */
static inline void hf__barrier(void)
{
    __sync_synchronize();
}

/* For changes in several steps. It waits some milliseconds at most and then
 * goes on without the lock, because the process that has it may be stopped. */
void hf__words_lock(struct hf__words *);
void hf__words_unlock(struct hf__words *);

#endif
