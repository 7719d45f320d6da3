/* SPDX-License-Identifier: MIT */
/*
 * The name and address of this machine, for people, and the addresses of
 * others. Thread: any.
 */
#ifndef HF_BASE_HOST_H
#define HF_BASE_HOST_H

#include "src/base/base.h"

#define HF__HOST_SIZE    65
#define HF__ADDRESS_SIZE 46 /* INET6_ADDRSTRLEN */

/* The name that gethostname() gives, cut between characters; "" if there is
 * none. */
void hf__host_name(char to[HF__HOST_SIZE]);
/* The address of the first interface, in the kernel's order, that is up and no
 * loopback, IPv4 before IPv6; "127.0.0.1" if there is none. It asks the kernel
 * alone, and at each call, for an address may change. */
void hf__host_address(char to[HF__ADDRESS_SIZE]);
/* HOLDFAST_NODE, in which each of many instances may get its number or name; if
 * it is unset or empty, the host's name. Cut to what fits. It reads the
 * environment, which no other thread may change meanwhile, as for getenv(). */
void hf__host_node(char *to, size_t size);

struct addrinfo;
/* Resolves a name to its addresses for TCP, of any family; port may be NULL.
 * Gives 0 and a list for freeaddrinfo(), or a number for gai_strerror() and
 * NULL. Blocks as long as the resolver takes; raises no SIGPIPE. */
HF_MODULE_API HF_MUST_CHECK int hf__host_look_up(const char *name,
                                                 const char *port,
                                                 struct addrinfo **ret_list);

#endif
