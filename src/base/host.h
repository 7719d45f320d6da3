/* SPDX-License-Identifier: MIT */
/*
 * What this machine is called, for people; and where others are. Thread: any.
 */
#ifndef HF_BASE_HOST_H
#define HF_BASE_HOST_H

#include "src/base/base.h"

#define HF__HOST_SIZE    65
#define HF__ADDRESS_SIZE 46 /* INET6_ADDRSTRLEN */

/* As gethostname() has it, cut where a letter ends; "" if it has none. */
void hf__host_name(char to[HF__HOST_SIZE]);
/* Of the first interface that is up and no loopback, as the kernel counts
 * them, IPv4 before IPv6; "127.0.0.1" if there is none. Asks the kernel alone,
 * at each call, for an address may change. */
void hf__host_address(char to[HF__ADDRESS_SIZE]);
/* Who runs many instances gives each its number or name in HOLDFAST_NODE; else
 * the host's name. Cut to what fits. Reads the environment: as with getenv(),
 * nobody may change that meanwhile. */
void hf__host_node(char *to, size_t size);

struct addrinfo;
/* A name's addresses for TCP, of any family; port may be NULL. 0, and the list
 * is freeaddrinfo()'s; or gai_strerror()'s number, and it is NULL. Asks for as
 * long as it takes; no SIGPIPE comes of it. */
HF_MODULE_API HF_MUST_CHECK int hf__host_look_up(const char *name,
                                                 const char *port,
                                                 struct addrinfo **ret_list);

#endif
