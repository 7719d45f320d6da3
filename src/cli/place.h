/* SPDX-License-Identifier: MIT */
/*
 * The folder of the default store, for somebody who configured nothing.
 * Thread: main.
 */
#ifndef HF_CLI_PLACE_H
#define HF_CLI_PLACE_H

/* The home of the effective user by the passwd database, never $HOME, so
 * that a shell and cron agree; a new string, or NULL: there is none. */
char *cli_place_home(void);
/* Find or make the folder. A new string; or NULL after having said why
 * nothing is usable. */
char *cli_place_default(void);

#endif
