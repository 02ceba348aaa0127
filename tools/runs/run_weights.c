#include "run_weights.h"

#include "core/status.h"
#include "inference/model_file.h"
#include "io/text.h"

#include <stdio.h>

enum { MAX_SIDE = 16384 };

ssm2d_status run_weights_choose(const char *run, const char *given, run_file *which,
                                ssm2d_error *error)
{
    *which = run_weights_file(given ? given : run_weights_at(0));
    if (!given || !model_file_is(run)) return SSM2D_OK;
    return fail(
        error, SSM2D_ERROR_ARGUMENT,
        "--weights=%s: %s is a model file, which has the weights of one epoch: leave it out", given,
        text_path(run));
}

ssm2d_status image_size_of(const char *text, int size[2], ssm2d_error *error)
{
    int end = 0;
    char shown[32];
    size[0] = size[1] = 0;
    if (!text) return SSM2D_OK;
    if (sscanf(text, "%6d%n", &size[0], &end) == 1 && text[end] == 0)
        size[1] = size[0];
    else if (sscanf(text, "%6dx%6d%n", &size[0], &size[1], &end) != 2 || text[end])
        size[0] = 0;
    if (size[0] >= 1 && size[1] >= 1 && size[0] <= MAX_SIDE && size[1] <= MAX_SIDE) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "--image-size=%s: use a side in pixels, or ROWSxCOLS, each from 1 to %d",
                text_show(text, strlen(text), shown, sizeof shown), MAX_SIDE);
}
