/* SPDX-License-Identifier: MIT */
/*
 * Runs a target on files, or on all files of folders, and on nothing at all;
 * in TAP. What crashes here once crashed there: each is a regression test.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static int n_run;

static void run_file(const char *path)
{
    FILE *f = fopen(path, "rbe");
    uint8_t *data = malloc(1 << 20);
    size_t size;

    REQUIRE(f && data);
    size = fread(data, 1, 1 << 20, f);
    fclose(f);
    printf("# %s, %zu bytes\n", path, size);
    fflush(stdout);
    (void)LLVMFuzzerTestOneInput(data, size);
    printf("ok %d - %s\n", ++n_run, strrchr(path, '/') + 1);
    free(data);
}

static void run_folder(const char *path)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort);

    REQUIRE(n >= 0);
    for (int i = 0; i < n; i++) {
        char inner[4096];

        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            run_file(inner);
        }
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        struct stat st;

        REQUIRE(stat(argv[i], &st) == 0);
        if (S_ISDIR(st.st_mode)) {
            run_folder(argv[i]);
        } else {
            run_file(argv[i]);
        }
    }
    REQUIRE(n_run > 0);
    printf("1..%d\n", n_run);
    return 0;
}
