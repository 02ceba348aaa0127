#include "core/plan_options.h"

#include "core/sized.h"
#include "core/status.h"

enum { MAX_SIDE = 1 << 20, MAX_BATCH = 1 << 24 };

typedef struct axis {
    const char *name;
    size_t size;
    ptrdiff_t stride;
} axis;

static const ssm2d_plan_options defaults = {.batch = 1};

void ssm2d_plan_options_init(ssm2d_plan_options *options, size_t size)
{
    sized_init(options, size, &defaults, sizeof defaults);
}

ssm2d_status plan_options_read(ssm2d_plan_options *full, const ssm2d_plan_options *options,
                               ssm2d_error *error)
{
    static const size_t sizes[] = {sizeof(ssm2d_plan_options), 0};
    if (!options)
        return fail(error, SSM2D_ERROR_ARGUMENT, "options=NULL: rows and cols are needed");
    *full = defaults;
    return sized_read(full, options, sizes, "plan_options", error);
}

/* A stride without its sign, which is more than PTRDIFF_MAX for PTRDIFF_MIN. */
static size_t stride_length(ptrdiff_t stride)
{
    return stride < 0 ? 0 - (size_t)stride : (size_t)stride;
}

/* Fills in dense strides. Refuses arrays in which two cells would share a number: from the smallest
 * stride up, each must step over all that the smaller ones reach. Slices and permutations of dense
 * arrays all do. */
static ssm2d_status check_strides(const char *name, int channels, const ssm2d_plan_options *o,
                                  ssm2d_strides *s, ssm2d_error *error)
{
    if (!s->batch && !s->row && !s->col && !s->channel) {
        /* within their bounds this cannot overflow; the next two could */
        const size_t row = o->cols * (size_t)channels;
        const size_t image = row > PTRDIFF_MAX / o->rows ? 0 : o->rows * row;
        if (!image || image > PTRDIFF_MAX / sizeof(double) / o->batch)
            return fail(error, SSM2D_ERROR_UNSUPPORTED,
                        "batch=%zu, rows=%zu, cols=%zu, channels=%d: too large for this machine",
                        o->batch, o->rows, o->cols, channels);
        *s = (ssm2d_strides){(ptrdiff_t)image, (ptrdiff_t)row, channels, 1};
        return SSM2D_OK;
    }
    axis axes[] = {{"batch", o->batch, s->batch},
                   {"row", o->rows, s->row},
                   {"col", o->cols, s->col},
                   {"channel", (size_t)channels, s->channel}};
    size_t reached = 1; /* numbers that the axes so far spread over */
    for (int done = 0; done < 4; done++) {
        axis *smallest = &axes[done];
        for (axis *a = smallest; a < axes + 4; a++)
            if (stride_length(a->stride) < stride_length(smallest->stride)) smallest = a;
        const axis a = *smallest;
        *smallest = axes[done];
        if (a.size < 2) continue;
        size_t length;
        if (stride_length(a.stride) < reached)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s.%s=%td: cells would share numbers; give all strides or none", name,
                        a.name, a.stride);
        if (__builtin_mul_overflow(a.size - 1, stride_length(a.stride), &length)
            || __builtin_add_overflow(length, reached, &reached)
            || reached > PTRDIFF_MAX / sizeof(double))
            return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s.%s=%td: too large for this machine",
                        name, a.name, a.stride);
    }
    return SSM2D_OK;
}

ssm2d_status plan_options_check(const ssm2d_context *context, int channels, ssm2d_plan_options *o,
                                ssm2d_error *error)
{
    if (!context)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "context=NULL: make one with ssm2d_context_create");
    if (!o->batch || o->batch > MAX_BATCH)
        return fail(error, SSM2D_ERROR_ARGUMENT, "batch=%zu: use 1 to %d", o->batch, MAX_BATCH);
    if (!o->rows || o->rows > MAX_SIDE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "rows=%zu: use 1 to %d", o->rows, MAX_SIDE);
    if (!o->cols || o->cols > MAX_SIDE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "cols=%zu: use 1 to %d", o->cols, MAX_SIDE);
    if (o->type != SSM2D_FLOAT && o->type != SSM2D_DOUBLE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "type=%d: use float (0) or double (1)",
                    (int)o->type);
    ssm2d_status status = check_strides("in", channels, o, &o->in, error);
    return status ? status : check_strides("out", channels, o, &o->out, error);
}

size_t plan_options_extent(const ssm2d_plan_options *o, int channels, ssm2d_strides s)
{
    size_t last = 0;
    const ptrdiff_t strides[4] = {s.batch, s.row, s.col, s.channel};
    const size_t sizes[4] = {o->batch, o->rows, o->cols, (size_t)channels};
    for (int i = 0; i < 4; i++) last += (sizes[i] - 1) * stride_length(strides[i]);
    return last + 1;
}

size_t plan_options_origin(const ssm2d_plan_options *o, int channels, ssm2d_strides s)
{
    size_t before = 0;
    const ptrdiff_t strides[4] = {s.batch, s.row, s.col, s.channel};
    const size_t sizes[4] = {o->batch, o->rows, o->cols, (size_t)channels};
    for (int i = 0; i < 4; i++)
        if (strides[i] < 0) before += (sizes[i] - 1) * stride_length(strides[i]);
    return before;
}
