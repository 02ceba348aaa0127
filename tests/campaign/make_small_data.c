/* make_small_data FOLDER TRAIN TEST - writes the small data set of the tests, for scripts. */
#include "../train/small_data.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    return !small_data(argv[1], (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
}
