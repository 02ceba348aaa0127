/* onednn_conv - a depthwise convolution with bias by oneDNN, in the memory layout that it prefers;
 * nothing is converted from or to ours. As in bench_sgemm.c the threads are the context's: each
 * convolves a part of the batch, on one thread of oneDNN; the weight gradients of all parts are
 * summed at the end. */
#include "bench.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "train/onednn.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

enum { FORWARD, BACKWARD_DATA, BACKWARD_WEIGHTS, PASSES };
enum { SRC, WEIGHTS, BIAS, DST, DIFF_SRC, DIFF_WEIGHTS, DIFF_BIAS, DIFF_DST, ARRAYS };
enum { MAX_ARGS = 5 };

static const int argument_of[ARRAYS] = {
    DNNL_ARG_SRC,      DNNL_ARG_WEIGHTS,      DNNL_ARG_BIAS,      DNNL_ARG_DST,
    DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST};

/* The arrays of each pass, ended by ARRAYS. */
static const int arrays_of[PASSES][MAX_ARGS] = {{SRC, WEIGHTS, BIAS, DST, ARRAYS},
                                                {DIFF_SRC, WEIGHTS, DIFF_DST, ARRAYS},
                                                {SRC, DIFF_WEIGHTS, DIFF_BIAS, DIFF_DST, ARRAYS}};

/* A part of the batch. */
typedef struct part {
    dnnl_stream_t stream;
    /* one per pass, since passes may prefer different layouts */
    dnnl_memory_t memory[PASSES][ARRAYS], scratch[PASSES];
} part;

struct onednn_conv {
    ssm2d_context *context;
    dnnl_engine_t engine;
    dnnl_primitive_t pass[PASSES];
    int active; /* bits of the passes to run */
    part *parts;
    size_t count;
    /* omp_set_num_threads, when oneDNN was built with OpenMP; it acts on the calling thread only */
    void (*limit_threads)(int);
};

/* ---- the two versions of oneDNN's interface -------------------------------------------------- */

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t array_shape;

static array_shape any_shape(int rank, const dnnl_dims_t dims, dnnl_memory_desc_t *shape)
{
    return dnnl_memory_desc_create_with_tag(shape, rank, dims, dnnl_f32, dnnl_format_tag_any)
               ? NULL
               : *shape;
}

static void shape_free(dnnl_memory_desc_t *shape) { dnnl_memory_desc_destroy(*shape); }
#else
typedef const dnnl_memory_desc_t *array_shape;

static array_shape any_shape(int rank, const dnnl_dims_t dims, dnnl_memory_desc_t *shape)
{
    return dnnl_memory_desc_init_by_tag(shape, rank, dims, dnnl_f32, dnnl_format_tag_any) ? NULL
                                                                                          : shape;
}

static void shape_free(dnnl_memory_desc_t *shape) { (void)shape; }
#endif

/* Describes a pass to oneDNN; hint: the description of forward. */
static dnnl_status_t describe(onednn_conv *c, int pass, array_shape image, array_shape weights,
                              array_shape bias, size_t kernel, dnnl_primitive_attr_t attributes,
                              const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    const dnnl_dim_t reach = (dnnl_dim_t)(kernel / 2);
    const dnnl_dims_t one = {1, 1}, none = {0, 0}, pad = {reach, reach};
    const dnnl_alg_kind_t direct = dnnl_convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    switch (pass) {
    case FORWARD:
        return dnnl_convolution_forward_primitive_desc_create(out, c->engine, dnnl_forward_training,
                                                              direct, image, weights, bias, image,
                                                              one, none, pad, pad, attributes);
    case BACKWARD_DATA:
        return dnnl_convolution_backward_data_primitive_desc_create(
            out, c->engine, direct, image, weights, image, one, none, pad, pad, hint, attributes);
    default:
        return dnnl_convolution_backward_weights_primitive_desc_create(
            out, c->engine, direct, image, weights, bias, image, one, none, pad, pad, hint,
            attributes);
    }
#else
    dnnl_convolution_desc_t d;
    dnnl_status_t status;
    (void)none;
    switch (pass) {
    case FORWARD:
        status = dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, direct, image,
                                                    weights, bias, image, one, pad, pad);
        break;
    case BACKWARD_DATA:
        status = dnnl_convolution_backward_data_desc_init(&d, direct, image, weights, image, one,
                                                          pad, pad);
        break;
    default:
        status = dnnl_convolution_backward_weights_desc_init(&d, direct, image, weights, bias,
                                                             image, one, pad, pad);
    }
    return status ? status : dnnl_primitive_desc_create(out, &d, attributes, c->engine, hint);
#endif
}

/* ---- running --------------------------------------------------------------------------------- */

static void run_pass(const onednn_conv *c, const part *p, int pass)
{
    dnnl_exec_arg_t args[MAX_ARGS + 1];
    int count = 0;
    for (; arrays_of[pass][count] != ARRAYS; count++)
        args[count] = (dnnl_exec_arg_t){argument_of[arrays_of[pass][count]],
                                        p->memory[pass][arrays_of[pass][count]]};
    args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, p->scratch[pass]};
    dnnl_primitive_execute(c->pass[pass], p->stream, count, args);
    dnnl_stream_wait(p->stream);
}

/* Runs the active passes on one part. */
static void run_part(void *arg, size_t task, int worker)
{
    const onednn_conv *c = arg;
    (void)worker;
    if (c->limit_threads) c->limit_threads(1);
    for (int pass = 0; pass < PASSES; pass++)
        if (c->active >> pass & 1) run_pass(c, &c->parts[task], pass);
}

static void run_passes(onednn_conv *c, int active)
{
    c->active = active;
    pool_run(c->context->pool, c->count, run_part, c);
}

void onednn_conv_forward(void *conv) { run_passes(conv, 1 << FORWARD); }
void onednn_conv_input_gradient(void *conv) { run_passes(conv, 1 << BACKWARD_DATA); }

static array_shape shape_of(const_dnnl_memory_t memory)
{
    array_shape shape = NULL;
    dnnl_memory_get_memory_desc(memory, &shape);
    return shape;
}

static void add_up(const onednn_conv *c, int array)
{
    void *sum, *other;
    const size_t count =
        dnnl_memory_desc_get_size(shape_of(c->parts[0].memory[BACKWARD_WEIGHTS][array]))
        / sizeof(float);
    dnnl_memory_get_data_handle(c->parts[0].memory[BACKWARD_WEIGHTS][array], &sum);
    for (size_t p = 1; p < c->count; p++) {
        dnnl_memory_get_data_handle(c->parts[p].memory[BACKWARD_WEIGHTS][array], &other);
        for (size_t i = 0; i < count; i++) ((float *)sum)[i] += ((const float *)other)[i];
    }
}

void onednn_conv_train(void *conv)
{
    onednn_conv *c = conv;
    run_passes(c, 1 << FORWARD | 1 << BACKWARD_DATA | 1 << BACKWARD_WEIGHTS);
    add_up(c, DIFF_WEIGHTS);
    add_up(c, DIFF_BIAS);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Memory of oneDNN, filled with small values. */
static int make_memory(const onednn_conv *c, array_shape shape, dnnl_memory_t *memory)
{
    void *data;
    if (dnnl_memory_create(memory, shape, c->engine, DNNL_MEMORY_ALLOCATE)) return 0;
    const size_t bytes = dnnl_memory_desc_get_size(shape);
    if (dnnl_memory_get_data_handle(*memory, &data)) return 0;
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        ((float *)data)[i] = (float)(i % 13) / 13 - 0.5F;
    return 1;
}

static int make_part(const onednn_conv *c, part *p, int pass, const_dnnl_primitive_desc_t of)
{
    static const int query[ARRAYS] = {dnnl_query_src_md,          dnnl_query_weights_md,
                                      dnnl_query_weights_md,      dnnl_query_dst_md,
                                      dnnl_query_diff_src_md,     dnnl_query_diff_weights_md,
                                      dnnl_query_diff_weights_md, dnnl_query_diff_dst_md};
    int good = p->stream || !dnnl_stream_create(&p->stream, c->engine, dnnl_stream_default_flags);
    for (int i = 0; arrays_of[pass][i] != ARRAYS && good; i++) {
        const int array = arrays_of[pass][i], second = array == BIAS || array == DIFF_BIAS;
        good = make_memory(c, dnnl_primitive_desc_query_md(of, (dnnl_query_t)query[array], second),
                           &p->memory[pass][array]);
    }
    return good
           && make_memory(c, dnnl_primitive_desc_query_md(of, dnnl_query_scratchpad_md, 0),
                          &p->scratch[pass]);
}

/* Returns 0 if oneDNN does not support the shape, or is out of memory. */
static int make_passes(onednn_conv *c, const onednn_conv_shape *s)
{
    const dnnl_dim_t H = (dnnl_dim_t)s->channels, side = (dnnl_dim_t)s->kernel;
    const dnnl_dims_t images = {(dnnl_dim_t)(s->batch / c->count), H, (dnnl_dim_t)s->rows,
                                (dnnl_dim_t)s->cols},
                      weights = {H, 1, 1, side, side}, bias = {H};
    dnnl_memory_desc_t shapes[3];
    dnnl_primitive_desc_t forward = NULL, one = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    const array_shape i = any_shape(4, images, &shapes[0]), w = any_shape(5, weights, &shapes[1]),
                      b = any_shape(1, bias, &shapes[2]);
    int good = i && w && b && !dnnl_primitive_attr_create(&attributes)
               && !dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    for (int pass = 0; pass < PASSES && good; pass++) {
        good = !describe(c, pass, i, w, b, s->kernel, attributes, forward, &one)
               && !dnnl_primitive_create(&c->pass[pass], one);
        for (size_t p = 0; p < c->count && good; p++) good = make_part(c, &c->parts[p], pass, one);
        if (pass == FORWARD)
            forward = one;
        else if (one)
            dnnl_primitive_desc_destroy(one);
        one = NULL;
    }
    if (forward) dnnl_primitive_desc_destroy(forward);
    if (attributes) dnnl_primitive_attr_destroy(attributes);
    if (i) shape_free(&shapes[0]);
    if (w) shape_free(&shapes[1]);
    if (b) shape_free(&shapes[2]);
    return good;
}

ssm2d_status onednn_conv_create(ssm2d_context *context, const onednn_conv_shape *shape,
                                onednn_conv **conv, ssm2d_error *error)
{
    ssm2d_status status = onednn_start(context, error);
    if (status) return status;
    onednn_conv *c = mem_alloc(context, sizeof *c);
    if (!c) return fail_memory(error, "oneDNN's convolution");
    *c = (onednn_conv){.context = context, .count = (size_t)ssm2d_context_threads(context)};
    while (shape->batch % c->count) c->count--; /* parts of equal size */
    *(void **)&c->limit_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (c->limit_threads) c->limit_threads(1); /* primitives are compiled for this thread count */
    c->parts = mem_alloc(context, c->count * sizeof *c->parts);
    if (!c->parts || dnnl_engine_create(&c->engine, dnnl_cpu, 0) || !make_passes(c, shape)) {
        onednn_conv_destroy(c);
        return fail(
            error, SSM2D_ERROR_UNSUPPORTED,
            "oneDNN does not support a depthwise convolution of %zu x %zu x %zu x %zu, or is "
            "out of memory",
            shape->batch, shape->rows, shape->cols, shape->channels);
    }
    *conv = c;
    return SSM2D_OK;
}

void onednn_conv_destroy(onednn_conv *c)
{
    if (!c) return;
    for (size_t p = 0; p < c->count && c->parts; p++) {
        for (int i = 0; i < PASSES * ARRAYS; i++)
            if (c->parts[p].memory[i / ARRAYS][i % ARRAYS])
                dnnl_memory_destroy(c->parts[p].memory[i / ARRAYS][i % ARRAYS]);
        for (int i = 0; i < PASSES; i++)
            if (c->parts[p].scratch[i]) dnnl_memory_destroy(c->parts[p].scratch[i]);
        if (c->parts[p].stream) dnnl_stream_destroy(c->parts[p].stream);
    }
    for (int i = 0; i < PASSES; i++)
        if (c->pass[i]) dnnl_primitive_destroy(c->pass[i]);
    if (c->engine) dnnl_engine_destroy(c->engine);
    ssm2d_context *context = c->context;
    mem_free(context, c->parts);
    mem_free(context, c);
}
