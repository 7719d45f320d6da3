/* SPDX-License-Identifier: MIT */
/*
 * The folder of the default store, for somebody who configured nothing.
 * Thread: main.
 */
#ifndef HF_CLI_PLACE_H
#define HF_CLI_PLACE_H

/* What it is: the scheme of its URL, and as people call it. */
#define CLI_DEFAULT_SCHEME "sqlite"
#define CLI_DEFAULT_STORE  "SQLite"

/* The home of the effective user in the passwd database; NULL: none. 0, or the
 * exit code after having said that it cannot be looked up. */
int cli_place_home(char **ret_home);
/* Find or make the folder. A new string; or NULL after having said why
 * nothing is usable. */
char *cli_place_default(void);

#endif
