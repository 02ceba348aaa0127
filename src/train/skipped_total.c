#include "train/skipped_total.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"

typedef struct found {
    size_t count;
    ssm2d_error first;
} found;

/* Counts the images that are bad for any process. */
static ssm2d_status count_all(cluster *c, const uint8_t *is_bad, size_t images, double *scratch,
                              size_t size, size_t *count, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    *count = 0;
    for (size_t at = 0; at < images && !status; at += size) {
        const size_t part = min_size(images - at, size);
        for (size_t i = 0; i < part; i++) scratch[i] = is_bad[at + i];
        status = cluster_sum(c, scratch, scratch + size, part, error);
        for (size_t i = 0; i < part; i++) *count += scratch[i] > 0;
    }
    return status;
}

ssm2d_status skipped_total(const ssm2d_context *context, cluster *c, loader *l, size_t *count,
                           ssm2d_error *first, ssm2d_error *error)
{
    enum { PART = 1 << 16 };
    size_t images;
    const uint8_t *is_bad = loader_bad_images(l, &images);
    found own = {0};
    own.count = *count = loader_skipped(l, &own.first);
    *first = own.first;
    if (c->size == 1) return SSM2D_OK;
    found *all = mem_alloc(context, (size_t)c->size * sizeof *all);
    double *scratch = mem_alloc(context, 2 * PART * sizeof *scratch);
    ssm2d_status status =
        all && scratch ? SSM2D_OK : fail(error, SSM2D_ERROR_MEMORY, "no memory to count images");
    status = cluster_agree(c, status, error);
    if (!status) status = cluster_gather(c, &own, sizeof own, all, error);
    size_t sum = 0;
    for (int i = c->size - 1; i >= 0 && !status; i--) {
        sum += all[i].count;
        if (all[i].count) *first = all[i].first;
    }
    if (!status && sum) status = count_all(c, is_bad, images, scratch, PART, count, error);
    mem_free(context, all);
    mem_free(context, scratch);
    return status;
}
