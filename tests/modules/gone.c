/* SPDX-License-Identifier: MIT */
/*
 * The library that the module "needy" needs. By itself it is a shared object
 * that is no module of ours.
 */
int gone(void);

__attribute__((visibility("default"))) int gone(void)
{
    return 1;
}
