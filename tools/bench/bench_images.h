/* bench_images - synthetic images for `ssm2d bench data`. */
#ifndef SSM2D_TOOLS_BENCH_IMAGES_H
#define SSM2D_TOOLS_BENCH_IMAGES_H

#include "ssm2d.h"

enum { BENCH_FOLDER = 256, BENCH_JPEGS = 64, BENCH_JPEG_ROWS = 375, BENCH_JPEG_COLS = 500 };

/* Makes a folder below TMPDIR or /tmp with cifar/train.bin, a file like CIFAR-100's, and
 * jpeg/train/photo/NN.jpg, BENCH_JPEGS files of ImageNet's size, and writes its path to folder.
 * bench_images_remove removes it, after a failure as well. */
ssm2d_status bench_images_make(const ssm2d_context *context, char folder[BENCH_FOLDER],
                               ssm2d_error *error);
void bench_images_remove(const char *folder);

#endif
