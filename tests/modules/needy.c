/* SPDX-License-Identifier: MIT */
/*
 * Makes its module need a library, as one for a server needs that server's
 * client library. The test leaves that one away.
 */
int gone(void);
int needy(void);

__attribute__((visibility("default"))) int needy(void)
{
    return gone();
}
