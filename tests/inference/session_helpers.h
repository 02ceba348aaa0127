/* session_helpers - images of a test, and several of them prepared at once. */
#ifndef SSM2D_TESTS_SESSION_HELPERS_H
#define SSM2D_TESTS_SESSION_HELPERS_H

#include "ssm2d_model.h"

typedef struct test_image {
    const uint8_t *pixels;
    size_t rows, cols;
    int channels;
    ptrdiff_t stride;
} test_image;

/* Images first, first + 1 .. of the session's batch. */
static inline ssm2d_status prepare_images(ssm2d_session *s, size_t first, size_t count,
                                          const test_image *images, ssm2d_error *why)
{
    ssm2d_status status = SSM2D_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = ssm2d_session_prepare(s, first + i, images[i].pixels, images[i].rows,
                                       images[i].cols, images[i].channels, images[i].stride, why);
    return status;
}

#endif
