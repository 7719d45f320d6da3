/* SPDX-License-Identifier: MIT */
/*
 * What libmariadb may do for a connection: by which plugins it may prove to a
 * server who we are, and its other options. A server chooses the plugin, and
 * some give it the password as it is, or read it from our terminal; so only
 * those that are listed for this way to the server are used, and no others are
 * ever loaded. Thread: any.
 */
#ifndef HF_BACKEND_MYSQL_AUTH_H
#define HF_BACKEND_MYSQL_AUTH_H

#include "src/backend/mysql/wire.h"

/* Asked by the library where it would wait in a call: above 0 it goes on. */
typedef int (*hf__auth_wait_fn)(my_socket, my_bool is_read, int timeout);

/* A new handle with all its options; forks are forbidden meanwhile. NULL: no
 * memory, *err is told. */
MYSQL *hf__auth_prepare(const struct hf__wire_target *, hf__auth_wait_fn,
                        hf_error *err);
/* Once it is connected: whoever listens at a unix socket may have the password
 * if it is root, us, or the owner of the socket's folder, where nobody else can
 * write. HF_OK, also if not; HF_ENOMEM, *err is told. */
HF_MUST_CHECK int hf__auth_meet(MYSQL *, const struct hf__wire_target *, int fd,
                                hf_error *err);
/* If that is why the connection failed, with *err told: HF_EUNSAFE, the server
 * wants the password by a plugin that it may not have it by; HF_EAUTH, by one
 * that is not installed. Else HF_OK. */
int hf__auth_judge(MYSQL *, const struct hf__wire_target *, hf_error *err);

/* tls= is that word. */
bool hf__auth_is_tls(const struct hf__wire_target *, const char *word);

#endif
