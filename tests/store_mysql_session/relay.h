/* SPDX-License-Identifier: MIT */
/*
 * A proxy that reads what it passes on: it hands statements to another
 * connection to the server than the one that a client logged in by, as proxies
 * do that share few connections among many clients, and changes the words of
 * statements, as it were a server that understands them otherwise. It knows no
 * TLS. Thread: one of its own passes on; the others are called by the test's.
 */
#ifndef HF_TESTS_STORE_MYSQL_SESSION_RELAY_H
#define HF_TESTS_STORE_MYSQL_SESSION_RELAY_H

struct relay;

#define AUTO_RELAY __attribute__((cleanup(free_relay))) struct relay
/* Before the shared server, and the test's database there. */
struct relay *start_relay(void);
/* Ends its connections too. NULL is fine. */
void free_relay(struct relay **);
int relay_port(const struct relay *);

/* From now on each statement of a client goes to another connection than the
 * one before. */
void relay_multiplex(struct relay *);
/* What clients say next goes to new connections; those that they had stay open
 * until the relay ends. */
void relay_replace(struct relay *);
/* From now on the first of these words in a statement is the second: up to
 * four such, each for statements that have it, at most n times if n > 0. */
void relay_translate(struct relay *, const char *from, const char *to, int n);
/* No translation any more. */
void relay_be_plain(struct relay *);
/* How many statements were translated. */
int relay_hits(struct relay *);

#endif
