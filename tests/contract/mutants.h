/* SPDX-License-Identifier: MIT */
/*
 * Stores that are wrong on purpose: memory: behind a decorator that breaks
 * one rule of the contract. The suite must fail on each (teeth.c runs it),
 * which proves that it would see a real store do the same.
 */
#ifndef HF_TESTS_CONTRACT_MUTANTS_H
#define HF_TESTS_CONTRACT_MUTANTS_H

#include "src/backend/backend.h"

#define MUTANT_SUFFIX "+memory"

/* The name of the i-th mutant, NULL past the last. */
const char *mutant_at(int i);
/* What comes behind MUTANT_SUFFIX: the kind of store, as urls.c knows it. */
const char *mutant_kind_at(int i);
/* The name, or the beginning of it, of the test that is to catch it. */
const char *mutant_test_at(int i);
/* The store of the scheme MUTANT+memory; NULL if it is no mutant. */
const struct hf__backend *find_mutant(const char *scheme);

#endif
