/* SPDX-License-Identifier: MIT */
/*
 * The words of owner.h.
 */
#include "tests/servers/owner.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

void owner_is_killed(struct owned (*start)(void))
{
    struct owned owned = {0};
    int ends[2];
    pid_t owner;

    EXPECT_IS(pipe(ends), 0);
    owner = fork();
    if (owner == 0) {
        setpgid(0, 0);
        owned = start();
        EXPECT_IS(write(ends[1], &owned, sizeof owned), sizeof owned);
        pause();
        _exit(0);
    }
    EXPECT_IS(read(ends[0], &owned, sizeof owned), sizeof owned);
    EXPECT_IS(kill(owned.server, 0), 0);
    EXPECT_IS(kill(-owner, SIGKILL), 0);
    EXPECT_IS(waitpid(owner, NULL, 0), owner);
    EXPECT(hf__servers_is_gone(owned.server));
    EXPECT(hf__servers_is_removed(owned.folder));
    close(ends[0]);
    close(ends[1]);
}
