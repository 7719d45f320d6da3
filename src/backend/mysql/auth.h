/* SPDX-License-Identifier: MIT */
/*
 * What libmariadb may do for a connection: the plugins by which it may prove to
 * a server who we are, and its other options. The server chooses the plugin,
 * and some plugins send it the password as it is, or read it from our terminal;
 * so only those listed for this kind of connection are used, and no others are
 * ever loaded. Thread: any.
 */
#ifndef HF_BACKEND_MYSQL_AUTH_H
#define HF_BACKEND_MYSQL_AUTH_H

#include "src/backend/mysql/wire.h"

/* The library calls this where it would wait within a call; above 0: it goes
 * on. */
typedef int (*hf__auth_wait_fn)(my_socket, my_bool is_read, int timeout);

/* Make a new handle with all its options; forks are forbidden meanwhile. NULL:
 * no memory, and *err says so. */
MYSQL *hf__auth_prepare(const struct hf__wire_target *, hf__auth_wait_fn,
                        hf_error *err);
/* Call this once the handle is connected. The process that listens at a unix
 * socket may have the password if its user is root, ours, or the owner of the
 * socket's folder, where nobody else can write. HF_OK also if it may not;
 * HF_ENOMEM, and *err says so. */
HF_MUST_CHECK int hf__auth_meet(MYSQL *, const struct hf__wire_target *, int fd,
                                hf_error *err);
/* Was a plugin the reason why the connection failed? HF_EUNSAFE: the server
 * wants the password by a plugin that may not send it; HF_EAUTH: by one that is
 * not installed; *err says so. Else HF_OK. */
int hf__auth_judge(MYSQL *, const struct hf__wire_target *, hf_error *err);

/* Is the URL's tls= this word? */
bool hf__auth_is_tls(const struct hf__wire_target *, const char *word);

#endif
