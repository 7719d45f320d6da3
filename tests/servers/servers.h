/* SPDX-License-Identifier: MIT */
/*
 * What the fixtures of all servers share: how they fail, what happens when a
 * server is not installed, their private folders, and the warden, a process
 * that starts one server, ends it and removes its folder, also when the
 * program that asked for it is killed; and how one program after the other has
 * the same server.
 */
#ifndef HF_TESTS_SERVERS_SERVERS_H
#define HF_TESTS_SERVERS_SERVERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Fails the test, or outside of one ends the program, with that reason. */
__attribute__((format(printf, 1, 2))) _Noreturn void
hf__servers_fail(const char *format, ...);
/* Ends the test for want of a program: skipped, but failed where CI is set in
 * the environment. */
_Noreturn void hf__servers_missing(const char *program);
/* Writes the path of a program in PATH or in a sbin folder; false: none. */
bool hf__servers_find(const char *program, char *path, size_t size);
/* Becomes that program, argv[0], which is a path; NULL-ended. Exits with 127
 * if it can't. */
_Noreturn void hf__servers_exec(const char *const argv[]);
/* Runs that program to its end. Its words go to a file, and are printed if it
 * fails. */
bool hf__servers_run(const char *const argv[], const char *log);
/* That port of 127.0.0.1; 0: the kernel chooses one. */
struct sockaddr_in hf__servers_at(int port);
/* A port of 127.0.0.1 that nobody listens on and no client is given. While this
 * process lives nobody else is given it either, whether a server of ours is
 * there or not: each that is started there must set SO_REUSEADDR. */
int hf__servers_take_port(void);

/* Copies lines, NULL-ended, of which there are `most` at most, and ends them by
 * an empty one; NULL: none. */
enum { HF__SERVERS_LINE = 256 };
void hf__servers_keep(char (*lines)[HF__SERVERS_LINE], int most,
                      const char *const *given);

/* ---- folders */

enum { HF__SERVERS_PATH = 256 };

/* Where they lie. */
const char *hf__servers_parent(bool on_disk);
#define HF__SERVERS_PREFIX "holdfast-server-"
/* A new folder, 0700, in memory if it may and there is room. The descriptor
 * given back keeps a lock, by which others see that it is in use. Also removes
 * what such folders of this user are in use no more. */
int hf__servers_folder(const char *kind, bool on_disk,
                       char path[HF__SERVERS_PATH]);
void hf__servers_copy(const char *from, const char *to);

/* ---- templates: what is made once for many servers */

enum { HF__TEMPLATE_FILES = 2, HF__TEMPLATE_PATH = 1024 };

struct hf__template {
    const char *kind;
    int layout;                         /* raised when what is made changes */
    const char *of[HF__TEMPLATE_FILES]; /* another file, another template */
    void (*make)(const char *path);     /* a file or a folder there */
};

/* Its path; made first if there is none. False: there is no place for it. */
bool hf__servers_template(const struct hf__template *,
                          char path[HF__TEMPLATE_PATH]);

/* ---- the warden */

struct hf__warden;

/* Its folder is removed with all in it when the warden ends: at
 * hf__warden_free(), or when the process that has it is gone. */
struct hf__warden *hf__warden_new(const char *kind, bool on_disk);
void hf__warden_free(struct hf__warden *);
const char *hf__warden_folder(const struct hf__warden *);
/* Starts the program, whose output goes to the end of the file "log" in the
 * folder. One at a time. */
pid_t hf__warden_start(struct hf__warden *, const char *const argv[]);
/* Sends a signal to what was started, if that runs still. */
void hf__warden_signal(struct hf__warden *, int signal);
/* SIGSTOP, SIGCONT or SIGKILL to it and to its children; none comes to be
 * meanwhile. */
void hf__warden_signal_all(struct hf__warden *, int signal);
/* Sends a signal to what was started and waits for its end, for a minute at
 * most. */
void hf__warden_finish(struct hf__warden *, int signal, const char *program);
/* A port of 127.0.0.1 as of hf__servers_take_port(), kept while the warden
 * lives. */
int hf__warden_take_port(struct hf__warden *);
/* Waits that long for its end. False: it runs still. */
bool hf__warden_wait(struct hf__warden *, int64_t ms);
/* For tests of it: waits for the end of a process. False: it is there still,
 * after ten seconds. */
bool hf__servers_is_gone(pid_t);
/* Prints the last lines of the log. */
void hf__warden_print_log(const struct hf__warden *);

/* ---- servers that one program after the other has, in one run of tests */

/* A run is the process that has started this program with HOLDFAST_TEST_POOL
 * in its environment, as meson does. What is given lasts for a while, and no
 * longer than the run. */
bool hf__warden_has_run(void);
/* The state, of a fixed size, is what its owner knows of it. */
void hf__warden_give(struct hf__warden *, const char *key, const void *state,
                     size_t size);
/* One that was given with that key, as nobody else has it now. NULL: there is
 * none. */
struct hf__warden *hf__warden_take(const char *kind, const char *key,
                                   bool on_disk, void *state, size_t size);
/* More of what goes by one key, of which whoever takes the first knows the
 * folders: this one is left, and had again. NULL: it is gone. */
void hf__warden_leave(struct hf__warden *);
struct hf__warden *hf__warden_reach(const char *folder);

#endif
