/* SPDX-License-Identifier: MIT */
/*
 * A name's line: who waits for it in order of arrival. It stands in the
 * lock's own file behind the two slots of the record, a ticket for each who
 * waits, and is read together with the record, so that a name without a line
 * costs nothing for it. Only who has the file locked changes it.
 *
 * A grant never rests on a ticket: it only keeps others out while its owner
 * waits. So what a killed writer, a full disk or a person made of the line
 * costs the order, or its owner's next look, and nothing else. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_FILE_LINE_H
#define HF_BACKEND_FILE_LINE_H

#include "src/backend/file/record.h"
#include "src/backend/name/name.h"

/* Places of one piece of the file. The tickets of the first are read with the
 * record. */
#define HF__LINE_CHUNK 64
/* So many can stand in one line; who comes then waits without a place. */
#define HF__LINE_MAX 4096

/* In the machine's byte order. Written at once, within a page. */
struct hf__file_ticket {
    struct hf__token token; /* zero: nobody's place */
    uint64_t number;        /* of arrival; the lowest is first */
    uint64_t life;          /* of the process, in this side file: */
    struct hf__file_id side;
    int64_t since_us;  /* wall clock */
    uint64_t checksum; /* of all before */
};

/* What is read at once: a record, and the tickets of the first chunk. */
struct hf__file_contents {
    struct hf__file_slots slots;
    struct hf__file_ticket ticket[HF__LINE_CHUNK];
};

/* One in line, as read. */
struct hf__file_waiting {
    struct hf__file_ticket ticket;
    int place;
};

/* All zero is empty. */
struct hf__file_line {
    struct hf__file_waiting *list; /* by number */
    int n;
    int room;
    int places; /* that there are in the file */
};

struct hf__lockfile;

/* Take over what was read with the record, `length` bytes in all, and read
 * the rest. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__file_line_read(struct hf__lockfile *,
                                     const struct hf__file_contents *,
                                     size_t length);
void hf__file_line_clear(struct hf__file_line *);

/* Into the name, in order, as they stand now: those who matter to the
 * operation; NULL: all. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__file_line_judge(const struct hf__lockfile *,
                                      const struct hf__op *, struct hf__name *);

/* With the file locked. Join: false if there is no room for the ticket. Leave:
 * harmless without one. */
bool hf__file_line_join(struct hf__lockfile *, const struct hf__participant *);
void hf__file_line_leave(struct hf__lockfile *, const struct hf__token *);
/* Into the file that is to take this one's place; what fails costs order. */
void hf__file_line_copy(const struct hf__lockfile *, int fd);

#endif
