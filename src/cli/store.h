/* SPDX-License-Identifier: MIT */
/*
 * Chooses the store that the command uses, and opens it. Thread: main chooses;
 * any thread may open.
 */
#ifndef HF_CLI_STORE_H
#define HF_CLI_STORE_H

#include "include/holdfast.h"
#include "src/cli/options.h"

struct cli_config {
    char *url;      /* NULL: set in neither file */
    char *url_from; /* the file that sets it */
    char *reach;    /* NULL: set in neither file */
};

/* Read one file; a key that is already set stays. A missing file is fine.
 * Returns 0, or 78 after having said what is wrong, with file and line. */
int cli_config_read(struct cli_config *, const char *path);
void cli_config_fini(struct cli_config *);

/* The default store: the scheme of its URL, and its common name. */
#define CLI_DEFAULT_SCHEME "sqlite"
#define CLI_DEFAULT_STORE  "SQLite"

struct cli_store {
    char *url;
    char *shown;      /* the URL without its secrets */
    const char *from; /* "--url", "HOLDFAST_URL", a file, "the default" */
    bool is_option;   /* from --url: the lines that we suggest must repeat it */
    bool is_config;   /* from a file: a bad URL is 78 */
    hf_reach reach;   /* the demanded reach */
    const char *allow;
    hf_level level; /* level of the library's log */
};

/* Choose the store, in the order that store.c gives. Returns 0, or the exit
 * code after having said what is wrong. */
int cli_store_choose(const struct cli_options *, struct cli_store *);
void cli_store_fini(struct cli_store *);

/* Open the store. Returns a status of the library. */
int cli_store_open(const struct cli_store *, hf_client **ret_client,
                   hf_error *err);
/* Choose and open the store, for the verbs that look. Returns 0, or the exit
 * code after having said what is wrong. */
int cli_store_enter(const struct cli_options *, struct cli_store *,
                    hf_client **ret_client);
/* Tell why the store could not be opened: returns the exit code, and the text
 * as a new string. */
int cli_store_failed(const struct cli_store *, int status, const hf_error *err,
                     char **ret_text);
/* The same, and say it. */
int cli_store_say_failed(const struct cli_store *, int status,
                         const hf_error *err);

/* For CLI_AUTO. */
void cli_client_auto(hf_client **client);

const char *cli_reach_word(hf_reach); /* "host" */

#endif
