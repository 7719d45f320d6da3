/* SPDX-License-Identifier: MIT */
/*
 * Configuration files of any content: refused with 78, or read into words
 * that have a meaning.
 */
#include "src/cli/store.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

static int file_of(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("config", MFD_CLOEXEC);

    REQUIRE(fd >= 0);
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        REQUIRE(n > 0);
        data += n;
        size -= (size_t)n;
    }
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void check(const struct cli_config *config)
{
    REQUIRE(!config->url == !config->url_from);
    if (config->url) {
        REQUIRE(config->url[0] && !strchr(config->url, '\n'));
    }
    if (config->reach) {
        REQUIRE(!strcmp(config->reach, "user") ||
                !strcmp(config->reach, "host") ||
                !strcmp(config->reach, "hosts"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cli_config config = {0};
    char path[64];
    int fd = file_of(data, size, path);
    int r = cli_config_read(&config, path);

    REQUIRE(r == 0 || r == 78);
    check(&config);
    if (!r) {
        /* What is set stays. */
        REQUIRE(cli_config_read(&config, path) == 0);
        check(&config);
    }
    cli_config_fini(&config);
    (void)close(fd);
    return 0;
}
