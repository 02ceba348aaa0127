/* file_check - whether image files can be read, looked at before a long run. */
#ifndef SSM2D_DATA_FILE_CHECK_H
#define SSM2D_DATA_FILE_CHECK_H

#include "data/dataset.h"

/* Opens `max_looks` of the image files, evenly spread over the data set, and decodes no more of
 * each than its size needs. *bad becomes the number of those that cannot be opened; *error says why
 * the first of them cannot. Data sets without a file for each image have been read whole already.
 */
void file_check_some(const dataset *d, size_t max_looks, size_t max_pixels, size_t *looked,
                     size_t *bad, ssm2d_error *error);

#endif
