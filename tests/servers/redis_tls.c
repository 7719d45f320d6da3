/* SPDX-License-Identifier: MIT */
/*
 * Which of its certificates a Redis with TLS shows. Which it shows first is
 * redis_folder.c's.
 */
#include "tests/servers/certificates.h"
#include "tests/servers/redis.h"
#include "tests/servers/redis_private.h"

const char *hf__redis_tls_file(const struct hf__redis *s, const char *name)
{
    return hf__certificates_file(s->folder, name);
}

/* Both in one command, for they must fit each other. */
void hf__redis_show_certificate(const struct hf__redis *s, const char *name)
{
    hf__redis_command(s,
                      "CONFIG SET tls-cert-file %s/tls/%s.crt "
                      "tls-key-file %s/tls/%s.key",
                      s->folder, name, s->folder, name);
}
