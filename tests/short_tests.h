/* short_tests - whether SSM2D_SHORT_TESTS is set, as for an emulated processor or a sanitizer: a
 * test that would take long there checks fewer cases; the release build checks all of them. */
#ifndef TESTS_SHORT_TESTS_H
#define TESTS_SHORT_TESTS_H

#include <stdlib.h>

static inline int short_tests(void) { return getenv("SSM2D_SHORT_TESTS") != NULL; }

#endif
