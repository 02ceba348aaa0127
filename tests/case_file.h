/* case_file - the case.json of a folder of tests/golden.
 *
 * Read by cJSON (case_json.c), or in builds that have nothing but the library by plain/case_scan.c,
 * which knows no JSON but what these files are made of. */
#ifndef TESTS_CASE_FILE_H
#define TESTS_CASE_FILE_H

#include "problem.h"

typedef struct case_file {
    char kind[16];
    /* only of the kind "ssm2d" */
    ssm2d_config config;
    int batch, rows, cols;
    int arrays; /* number of arrays listed */
} case_file;

/* GOLDEN, the parent folder, is defined by the build. Fails the test if anything is missing. */
case_file case_file_read(const char *folder);

#endif
