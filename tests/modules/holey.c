/* SPDX-License-Identifier: MIT */
/*
 * Makes its module need a function of the library that this one has not. It
 * would be called much later: that must not be when it is found out.
 */
void hf__not_there(void);
void holey(void);

__attribute__((visibility("default"))) void holey(void)
{
    hf__not_there();
}
