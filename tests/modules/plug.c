/* SPDX-License-Identifier: MIT */
/*
 * A program that loads the library itself and shows its symbols to nobody,
 * as a scripting language does. A module must find that same library.
 *
 *     plug LIBRARY URL
 */
#include <holdfast.h>

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    __typeof__(hf_open) *open_it = NULL;
    __typeof__(hf_close) *close_it = NULL;
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;

    if (library == NULL) {
        return 2;
    }
    open_it = (__typeof__(open_it))dlsym(library, "hf_open");
    close_it = (__typeof__(close_it))dlsym(library, "hf_close");
    if (open_it == NULL || close_it == NULL ||
        open_it(argv[2], NULL, &client, &err) != HF_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    close_it(client);
    return 0;
}
