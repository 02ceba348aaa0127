#include "data/samples.h"

#include "core/context.h"
#include "core/status.h"
#include "io/text.h"

ssm2d_status samples_create(dataset *d, samples **out, ssm2d_error *error)
{
    *out = d->state = mem_alloc(d->context, sizeof **out);
    return *out ? SSM2D_OK : fail_memory(error, "opening %s", d->impl->name);
}

ssm2d_status samples_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error)
{
    const samples *s = d->state;
    size_t rows = d->info.rows, cols = d->info.cols, channels = (size_t)d->info.channels;
    const uint8_t *from = s->pixels + i * s->pixels_stride;
    ssm2d_status status = resize_start(to, d->impl->name, rows, cols, (int)channels, pixels, error);
    if (status) return status;
    for (size_t y = 0; y < rows; y++, from += cols) {
        uint8_t *row = resize_row_buffer(to);
        for (size_t c = 0; c < channels && channels > 1; c++)
            for (size_t x = 0; x < cols; x++) row[x * channels + c] = from[c * rows * cols + x];
        resize_row(to, channels > 1 ? row : from);
    }
    return SSM2D_OK;
}

int samples_label(const dataset *d, size_t i)
{
    const samples *s = d->state;
    return s->labels[i * s->label_stride];
}

void samples_close(dataset *d)
{
    samples *s = d->state;
    if (!s) return;
    mem_free(d->context, s->blocks[0]);
    mem_free(d->context, s->blocks[1]);
    mem_free(d->context, s);
}

ssm2d_status samples_check(const dataset *d, const char *path, ssm2d_error *error)
{
    for (size_t i = 0; i < d->info.count; i++)
        if (samples_label(d, i) >= d->info.label_count)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: image %zu has label %d, but there are %d labels", text_path(path), i,
                        samples_label(d, i), d->info.label_count);
    return SSM2D_OK;
}
