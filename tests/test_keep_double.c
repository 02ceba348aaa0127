/* test_keep.c in double. */
#include "test_keep.c"
