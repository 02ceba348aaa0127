#include "data/file_check.h"

#include "io/image.h"

#include <limits.h>

void file_check_some(const dataset *d, size_t max_looks, size_t max_pixels, size_t *looked,
                     size_t *bad, ssm2d_error *error)
{
    const ssm2d_context *context = dataset_context(d);
    const image_read_options how = {.max_pixels = max_pixels, .regular = 1};
    const size_t count = dataset_about(d)->count, looks = count < max_looks ? count : max_looks;
    *looked = *bad = 0;
    for (size_t k = 0; k < looks; k++) {
        char path[PATH_MAX];
        image_reader *reader;
        image_info info;
        ssm2d_error why;
        /* the first and the last are among them */
        const size_t i = looks > 1 ? k * (count - 1) / (looks - 1) : 0;
        if (!dataset_file(d, i, path, sizeof path)) continue;
        ++*looked;
        if (!image_open_with(context, path, &how, &reader, &info, &why)) {
            image_close(reader);
            continue;
        }
        if (!*bad) *error = why;
        ++*bad;
    }
}
