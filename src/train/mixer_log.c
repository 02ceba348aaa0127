#include "train/mixer_log.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"

#include <math.h>

/* The first kernels of a block represent it; a block may have hundreds. */
enum { MAX_KERNELS = 32 };

static const mixer_config *mixer_of(const mixer_log *log) { return &log->weights->config.mixer; }

static int kernels_of(const mixer_log *log, const param_block *b)
{
    return min_int(MAX_KERNELS, mixer_kernels(mixer_of(log), b->channels));
}

static size_t kernel_size(const param_block *b)
{
    return (2 * (size_t)grid_rows(b->grid.shape) - 1) * (2 * (size_t)grid_cols(b->grid.shape) - 1);
}

ssm2d_status mixer_log_create(ssm2d_context *context, const weights *w, mixer_log *log,
                              ssm2d_error *error)
{
    size_t largest = 0;
    *log = (mixer_log){.context = context, .weights = w};
    if (!mixer_has_kernels(&w->config.mixer) || !w->blocks) return SSM2D_OK;
    for (int i = 0; i < w->blocks; i++) {
        const param_block *b = &w->block[i];
        const size_t size = (size_t)kernels_of(log, b) * kernel_size(b);
        if (size > largest) largest = size;
    }
    log->gradients = mem_alloc(context, (size_t)w->blocks * sizeof *log->gradients);
    log->gains = mem_alloc(context, (size_t)w->blocks * sizeof *log->gains);
    log->kernels = mem_alloc(context, largest * sizeof *log->kernels);
    if (!log->gradients || !log->gains || !log->kernels) {
        mixer_log_destroy(log);
        return fail_memory(error, "kernels of %d blocks", w->blocks);
    }
    log->blocks = w->blocks;
    return SSM2D_OK;
}

void mixer_log_destroy(mixer_log *log)
{
    mem_free(log->context, log->gradients);
    mem_free(log->context, log->gains);
    mem_free(log->context, log->kernels);
    *log = (mixer_log){.context = log->context};
}

ssm2d_status mixer_log_measure(mixer_log *log, const float *params, const float *gradients,
                               ssm2d_error *error)
{
    for (int i = 0; i < log->blocks; i++) {
        const param_block *b = &log->weights->block[i];
        const int count = kernels_of(log, b);
        double squares = 0, magnitudes = 0;
        const ssm2d_status status =
            mixer_kernel(log->context, mixer_of(log), b->channels, grid_rows(b->grid.shape),
                         grid_cols(b->grid.shape), params + b->offset, count, log->kernels, error);
        if (status) return status;
        for (size_t k = 0; k < b->count; k++)
            squares += (double)gradients[b->offset + k] * (double)gradients[b->offset + k];
        for (size_t k = 0; k < (size_t)count * kernel_size(b); k++)
            magnitudes += fabs(log->kernels[k]);
        log->gradients[i] = sqrt(squares);
        log->gains[i] = magnitudes / count;
    }
    return SSM2D_OK;
}
