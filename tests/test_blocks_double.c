/* test_blocks.c in double. */
#include "test_blocks.c"
