/* test_convert.c in double. */
#include "test_convert.c"
