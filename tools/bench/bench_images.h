/* bench_images - images for `ssm2d bench data`, which the tool makes itself: a data set like CIFAR
 * in memory, and a folder of JPEG files of the size of ImageNet's. */
#ifndef SSM2D_TOOLS_BENCH_IMAGES_H
#define SSM2D_TOOLS_BENCH_IMAGES_H

#include "ssm2d.h"

/* The name under which dataset_open finds the images like CIFAR, once bench_images_register was
 * called. */
extern const char bench_cifar_name[];
ssm2d_status bench_images_register(ssm2d_error *error);

enum { BENCH_FOLDER = 256, BENCH_JPEGS = 64, BENCH_JPEG_ROWS = 375, BENCH_JPEG_COLS = 500 };

/* Makes a folder of BENCH_JPEGS files below TMPDIR or /tmp, train/photo/NN.jpg, and writes its path
 * to folder. bench_jpegs_remove removes what is there, after a failure as well. */
ssm2d_status bench_jpegs_make(const ssm2d_context *context, char folder[BENCH_FOLDER],
                              ssm2d_error *error);
void bench_jpegs_remove(const char *folder);

#endif
