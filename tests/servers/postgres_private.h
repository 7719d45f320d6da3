/* SPDX-License-Identifier: MIT */
/*
 * What the files of the PostgreSQL fixture share, and nobody else sees: the
 * struct, and as whom its programs run, which refuse to be root.
 */
#ifndef HF_TESTS_SERVERS_POSTGRES_PRIVATE_H
#define HF_TESTS_SERVERS_POSTGRES_PRIVATE_H

#include "tests/servers/postgres.h"
#include "tests/servers/servers.h"

enum { HF__POSTGRES_LINES = 16, HF__POSTGRES_ROOM = 320 };

struct hf__postgres {
    struct hf__warden *warden;
    char folder[HF__SERVERS_PATH];
    char socket[HF__SERVERS_PATH + 8];
    char extra[HF__POSTGRES_LINES + 1]
              [HF__SERVERS_LINE]; /* ended by an empty one */
    char hba[HF__POSTGRES_LINES + 1][HF__SERVERS_LINE]; /* the same */
    bool with_password;
    bool with_tls;
    int port;
    pid_t pid;
};

#define HF__POSTGRES_ADMIN "admin"
/* Who reads another server's changes. */
#define HF__POSTGRES_LINK "neighbour"

/* ---- postgres_user.c: the user of the programs */

enum { HF__POSTGRES_AS_USER = 6 };

/* Writes the words before a command that make whoever is root somebody else,
 * who ends with us; how many they are: none, for an ordinary user. */
int hf__postgres_as_user(const char *argv[HF__POSTGRES_AS_USER]);
/* If we are root, gives a folder with all in it, or a file, to that user. */
void hf__postgres_give(const char *path);
/* A new file of that user's with this text. */
void hf__postgres_write(const char *path, const char *text);
/* The System V segment of a server that runs goes with the last process that
 * has it, whichever way that ends: its descriptor is in its postmaster.pid.
 * False: there is none yet, or any more. */
bool hf__postgres_forget_memory(const struct hf__postgres *);

/* ---- postgres_template.c */

/* A program of the server's, in the newest version there is. */
bool hf__postgres_find(const char *program, char path[HF__SERVERS_PATH]);
/* Copies the template to the folder; makes the template if there is none. */
void hf__postgres_fill(const char *data);
/* Makes data that are of no template. */
void hf__postgres_install(const char *data);

/* ---- postgres.c */

/* A folder with data that fill() puts there, and a port: no server yet. */
struct hf__postgres *hf__postgres_new(const struct hf__postgres_opts *,
                                      void (*fill)(const char *data));
/* The shared server is that one, which somebody else ends. */
void hf__postgres_share_node(struct hf__postgres *);
/* Starts the server; more: settings besides, NULL-ended; or NULL. */
void hf__postgres_launch(struct hf__postgres *, const char *const *more);
/* Until it takes connections. */
void hf__postgres_await(struct hf__postgres *);

/* ---- postgres_sql.c: does the server take connections? */
bool hf__postgres_answers(const struct hf__postgres *);

#endif
