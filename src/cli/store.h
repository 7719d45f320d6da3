/* SPDX-License-Identifier: MIT */
/*
 * Which store the command uses, and how it opens it. Thread: main chooses; any
 * thread may open.
 */
#ifndef HF_CLI_STORE_H
#define HF_CLI_STORE_H

#include "include/holdfast.h"
#include "src/cli/options.h"

struct cli_config {
    char *url;      /* NULL: in neither file */
    char *url_from; /* the file that says so */
    char *reach;    /* NULL: in neither file */
};

/* Read one file; what is set already stays. A file that does not exist is
 * fine. 0, or 78 after having said what is wrong, with file and line. */
int cli_config_read(struct cli_config *, const char *path);
void cli_config_fini(struct cli_config *);

/* What it is: the scheme of its URL, and as people call it. */
#define CLI_DEFAULT_SCHEME "sqlite"
#define CLI_DEFAULT_STORE  "SQLite"

struct cli_store {
    char *url;
    char *shown;      /* the URL without its secrets */
    const char *from; /* "--url", "HOLDFAST_URL", a file, "the default" */
    bool is_option;   /* --url: the lines that we suggest must repeat it */
    bool is_config;   /* a file says so: a bad URL is 78 */
    hf_reach reach;   /* what is demanded */
    const char *allow;
    hf_level level; /* of the library's log */
};

/* DESIGN.md §7. 0, or the exit code after having said what is wrong. */
int cli_store_choose(const struct cli_options *, struct cli_store *);
void cli_store_fini(struct cli_store *);

/* Open it; a status of the library. */
int cli_store_open(const struct cli_store *, hf_client **ret_client,
                   hf_error *err);
/* Choose and open, for the verbs that look. 0, or the exit code after having
 * said what is wrong. */
int cli_store_enter(const struct cli_options *, struct cli_store *,
                    hf_client **ret_client);
/* Why the store could not be opened: the exit code, and the text as a new
 * string. */
int cli_store_failed(const struct cli_store *, int status, const hf_error *err,
                     char **ret_text);
/* Say it, too. */
int cli_store_say_failed(const struct cli_store *, int status,
                         const hf_error *err);

/* For CLI_AUTO. */
void cli_client_auto(hf_client **client);

const char *cli_reach_word(hf_reach); /* "host" */

#endif
