/* seeds - what the files that make seeds share. Each function writes good inputs for some targets;
 * anything that fails ends the program. */
#ifndef SSM2D_TESTS_FUZZ_SEEDS_H
#define SSM2D_TESTS_FUZZ_SEEDS_H

#include "ssm2d.h"

extern ssm2d_context *context;
extern ssm2d_error error;

void check(int bad);
/* The path of the n-th seed of a target, until the next call. */
const char *seed_path(const char *target, int number);
void seed_put(const char *target, int number, const void *bytes, size_t size);
void seed_text(const char *target, int number, const char *text);

void seed_images(void);
void seed_data(void); /* idx, cifar, data */
void seed_runs(void); /* settings, metrics, checkpoint, weights */
void seed_models(void);

#endif
