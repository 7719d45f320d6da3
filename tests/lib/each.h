/* SPDX-License-Identifier: MIT */
/*
 * A macro for each of one to five names: HF__EACH(m, a, b) is m(a); m(b).
 */
#ifndef HF_TESTS_LIB_EACH_H
#define HF_TESTS_LIB_EACH_H

#define HF__EACH(m, ...)                                                       \
    HF__FIFTH(__VA_ARGS__, HF__EACH_5, HF__EACH_4, HF__EACH_3, HF__EACH_2,     \
              HF__EACH_1, 0)                                                   \
    (m, __VA_ARGS__)
#define HF__FIFTH(a, b, c, d, e, f, ...) f
/* The first of them, with anything behind: HF__FIRST(a, b, 0). */
#define HF__FIRST(a, ...) a
#define HF__EACH_1(m, a)  m(a)
#define HF__EACH_2(m, a, b)                                                    \
    m(a);                                                                      \
    m(b)
#define HF__EACH_3(m, a, ...)                                                  \
    m(a);                                                                      \
    HF__EACH_2(m, __VA_ARGS__)
#define HF__EACH_4(m, a, ...)                                                  \
    m(a);                                                                      \
    HF__EACH_3(m, __VA_ARGS__)
#define HF__EACH_5(m, a, ...)                                                  \
    m(a);                                                                      \
    HF__EACH_4(m, __VA_ARGS__)

#endif
