#include "core/plan_options.h"

#include "core/sized.h"
#include "core/status.h"

#include <limits.h>

enum { MAX_SIDE = 1 << 20, MAX_BATCH = 1 << 24 };

/* An axis of an array: batch, those of the grid, channels. */
typedef struct axis {
    const char *name;
    size_t size;
    ptrdiff_t stride;
} axis;

enum { MAX_AXES = SSM2D_GRID_AXES + 2 };

static const ssm2d_plan_options defaults = {.batch = 1};

void ssm2d_plan_options_init(ssm2d_plan_options *options, size_t size)
{
    sized_init(options, size, &defaults, sizeof defaults);
}

ssm2d_status plan_options_read(ssm2d_plan_options *full, const ssm2d_plan_options *options,
                               ssm2d_error *error)
{
    static const size_t sizes[] = {sizeof(ssm2d_plan_options), 0};
    if (!options) return fail(error, SSM2D_ERROR_ARGUMENT, "options=NULL: a grid is needed");
    *full = defaults;
    return sized_read(full, options, sizes, "plan_options", error);
}

/* The absolute value of a stride; for PTRDIFF_MIN it exceeds PTRDIFF_MAX. */
static size_t stride_length(ptrdiff_t stride)
{
    return stride < 0 ? 0 - (size_t)stride : (size_t)stride;
}

/* Lists the axes of an array from the slowest of a dense one to the fastest; returns how many. */
static int axes_of(const ssm2d_plan_options *o, int channels, const ssm2d_strides *s, axis *axes)
{
    static const char *const names[SSM2D_GRID_AXES] = {"axis[0]", "axis[1]", "axis[2]"};
    const int n = o->grid.axes;
    axes[0] = (axis){"batch", o->batch, s->batch};
    for (int i = 0; i < n; i++) axes[1 + i] = (axis){names[i], o->grid.extent[i], s->axis[i]};
    axes[1 + n] = (axis){"channel", (size_t)channels, s->channel};
    return n + 2;
}

static ssm2d_status fill_dense(int channels, const ssm2d_plan_options *o, ssm2d_strides *s,
                               ssm2d_error *error)
{
    size_t step = (size_t)channels;
    int large = 0;
    s->channel = 1;
    for (int i = o->grid.axes - 1; i >= 0; i--) {
        s->axis[i] = (ptrdiff_t)step;
        large |= __builtin_mul_overflow(step, o->grid.extent[i], &step) || step > PTRDIFF_MAX;
    }
    s->batch = (ptrdiff_t)step;
    if (large || step > PTRDIFF_MAX / sizeof(double) / o->batch)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "batch=%zu, grid of %d axes, the first %zu, channels=%d: too large for this "
                    "machine",
                    o->batch, o->grid.axes, o->grid.extent[0], channels);
    return SSM2D_OK;
}

static int is_zero(const ssm2d_strides *s)
{
    int used = s->batch || s->channel;
    for (int i = 0; i < SSM2D_GRID_AXES; i++) used |= s->axis[i] != 0;
    return !used;
}

/* Fills in dense strides. Refuses arrays in which two cells would share an element: from the
 * smallest stride up, each must step over all that the smaller ones reach. Slices and permutations
 * of dense arrays all do. */
static ssm2d_status check_strides(const char *name, int channels, const ssm2d_plan_options *o,
                                  ssm2d_strides *s, ssm2d_error *error)
{
    if (is_zero(s)) return fill_dense(channels, o, s, error);
    axis axes[MAX_AXES];
    const int count = axes_of(o, channels, s, axes);
    size_t reached = 1; /* elements that the axes so far spread over */
    for (int done = 0; done < count; done++) {
        axis *smallest = &axes[done];
        for (axis *a = smallest; a < axes + count; a++)
            if (stride_length(a->stride) < stride_length(smallest->stride)) smallest = a;
        const axis a = *smallest;
        *smallest = axes[done];
        if (a.size < 2) continue;
        size_t length;
        if (stride_length(a.stride) < reached)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s.%s=%td: cells would share elements; give all strides or none", name,
                        a.name, a.stride);
        if (__builtin_mul_overflow(a.size - 1, stride_length(a.stride), &length)
            || __builtin_add_overflow(length, reached, &reached)
            || reached > PTRDIFF_MAX / sizeof(double))
            return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s.%s=%td: too large for this machine",
                        name, a.name, a.stride);
    }
    return SSM2D_OK;
}

static ssm2d_status check_grid(ssm2d_grid *g, ssm2d_error *error)
{
    static const char *const names[][SSM2D_GRID_AXES] = {
        {"cells"}, {"rows", "cols"}, {"planes", "rows", "cols"}};
    if (g->axes < 1 || g->axes > SSM2D_GRID_AXES)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "grid.axes=%d: use 1 to %d, as ssm2d_grid_2d(rows, cols) does", g->axes,
                    SSM2D_GRID_AXES);
    for (int i = 0; i < g->axes; i++)
        if (!g->extent[i] || g->extent[i] > MAX_SIDE)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s=%zu: use 1 to %d", names[g->axes - 1][i],
                        g->extent[i], MAX_SIDE);
    for (int i = g->axes; i < SSM2D_GRID_AXES; i++) g->extent[i] = 1;
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
    ssm2d_status status = check_grid(&o->grid, error);
    if (status) return status;
    if (o->type != SSM2D_FLOAT && o->type != SSM2D_DOUBLE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "type=%d: use float (0) or double (1)",
                    (int)o->type);
    status = check_strides("in", channels, o, &o->in, error);
    return status ? status : check_strides("out", channels, o, &o->out, error);
}

size_t plan_options_extent(const ssm2d_plan_options *o, int channels, ssm2d_strides s)
{
    size_t last = 0;
    axis axes[MAX_AXES];
    const int count = axes_of(o, channels, &s, axes);
    for (int i = 0; i < count; i++) last += (axes[i].size - 1) * stride_length(axes[i].stride);
    return last + 1;
}

size_t plan_options_origin(const ssm2d_plan_options *o, int channels, ssm2d_strides s)
{
    size_t before = 0;
    axis axes[MAX_AXES];
    const int count = axes_of(o, channels, &s, axes);
    for (int i = 0; i < count; i++)
        if (axes[i].stride < 0) before += (axes[i].size - 1) * stride_length(axes[i].stride);
    return before;
}

/* ---- the grid as rows and columns ------------------------------------------------------------ */

static ssm2d_status plane_of(const ssm2d_grid *g, const char *name, ssm2d_strides s,
                             plane_strides *out, ssm2d_error *error)
{
    const ptrdiff_t *at = s.axis;
    const size_t *extent = g->extent;
    *out = (plane_strides){s.batch, at[0], at[1], s.channel};
    if (g->axes == 1)
        *out = (plane_strides){s.batch, at[0] * (ptrdiff_t)extent[0], at[0], s.channel};
    if (g->axes < 3) return SSM2D_OK;
    *out = (plane_strides){s.batch, extent[1] > 1 ? at[1] : at[0], at[2], s.channel};
    if (extent[0] > 1 && extent[1] > 1 && at[0] != at[1] * (ptrdiff_t)extent[1])
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s.axis[0]=%td: planes must follow each other, %zu rows apart", name, at[0],
                    extent[1]);
    return SSM2D_OK;
}

ssm2d_status plan_options_plane(const ssm2d_plan_options *o, grid_plane *p, ssm2d_error *error)
{
    const ssm2d_grid *g = &o->grid;
    const size_t rows = g->axes == 1   ? 1
                        : g->axes == 2 ? g->extent[0]
                                       : g->extent[0] * g->extent[1];
    if (rows > INT_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "planes=%zu, rows=%zu: at most 2^31 rows in all planes", g->extent[0],
                    g->extent[1]);
    p->rows = (int)rows;
    p->cols = (int)g->extent[g->axes - 1];
    const ssm2d_status status = plane_of(g, "in", o->in, &p->in, error);
    return status ? status : plane_of(g, "out", o->out, &p->out, error);
}
