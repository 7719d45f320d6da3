/* SPDX-License-Identifier: MIT */
/*
 * Which store the words of world.h speak of in this program.
 */
#include "tests/store_sqlite/world.h"

const char *const store_scheme = "sqlite";
const char *const store_side = "-holdfast";
const bool store_has_one_writer = true;
