/* ssm2d.h - state-space layers over grids for C and C++ programs.
 *
 * A layer is a kind with its settings; its parameters are one flat array that the caller owns. A
 * plan fixes batch, grid and number type and chooses the algorithm; requests that cannot be served
 * are refused when it is created. A workspace is the memory of one execution. Executing a plan
 * allocates nothing, and a call that keeps the contract cannot fail.
 *
 *     ssm2d_context *ctx;  ssm2d_layer *layer;  ssm2d_plan *plan;  ssm2d_workspace *ws;
 *     ssm2d_error err;
 *     ssm2d_plan_options opt = ssm2d_plan_options_default();
 *     opt.batch = 128;
 *     opt.grid = ssm2d_grid_2d(8, 8);
 *     if (ssm2d_context_create(NULL, &ctx, &err)
 *         || ssm2d_layer_create(ctx, "ssm2d", "channels=192 d_state=16 directions=4", &layer, &err)
 *         || ssm2d_plan_create(ctx, layer, &opt, &plan, &err)
 *         || ssm2d_workspace_create(plan, &ws, &err)) { puts(err.line); ... }
 *     float *params = malloc(ssm2d_layer_param_count(layer) * sizeof *params);
 *     ssm2d_params_init(layer, 42, params, &err);
 *     ssm2d_forward(plan, ws, params, u, y);
 *     ssm2d_backward(plan, ws, params, u, dy, du, dparams);           // adds to du and dparams
 *
 * Number types: a function that takes data exists twice, for float and, with the suffix _double,
 * for double. The one whose type is not that of the plan or stream returns SSM2D_ERROR_ARGUMENT.
 *
 * Threads: a context, a layer, a plan and a parameter array may be shared by any number of threads;
 * each thread executes with a workspace of its own, or a stream of its own. Subnormal numbers are
 * treated as zero while the library computes, and the caller's floating-point mode is restored
 * afterwards. Results have the same bits in every such mode and for every number of threads. The
 * library never prints, exits or aborts. docs/layer.md has the mathematics of every kind, its
 * settings, and a walk through these functions.
 *
 * Everything but the last section is stable: programs keep compiling and running with later
 * versions. The last section is experimental and is declared only if SSM2D_EXPERIMENTAL is defined.
 * MIT licence. */
#ifndef SSM2D_H
#define SSM2D_H

#include <stddef.h>
#include <stdint.h>

#define SSM2D_VERSION_MAJOR 0
#define SSM2D_VERSION_MINOR 3
#define SSM2D_VERSION_PATCH 0
#define SSM2D_VERSION       "0.3.0"

#if defined(__GNUC__)
#define SSM2D_API __attribute__((visibility("default")))
#else
#define SSM2D_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---------------------------------------------------------------------------------- */

typedef enum ssm2d_status {
    SSM2D_OK = 0,
    /* a value or a call that can never work; the line names the field and the value */
    SSM2D_ERROR_ARGUMENT,
    SSM2D_ERROR_MEMORY, /* the allocator returned NULL */
    /* a valid request that this build, machine, kind or algorithm cannot serve */
    SSM2D_ERROR_UNSUPPORTED,
    SSM2D_ERROR_SYSTEM /* the operating system refused (a thread could not be started) */
} ssm2d_status;

/* Where a function takes `ssm2d_error *`, NULL is allowed. On failure `line` receives one English
 * sentence; on success it is not changed. This struct will never change. */
typedef struct ssm2d_error {
    char line[512];
} ssm2d_error;

SSM2D_API const char *ssm2d_version(void);
SSM2D_API const char *ssm2d_status_name(ssm2d_status status);

/* Structs that may grow. Option structs begin with their own size, which tells the library which
 * header a program was compiled with; members added by later versions then have their default
 * values. Start from the ssm2d_*_default() functions, which set the size; a size that no version
 * had, such as 0, is refused. Structs that the library fills are passed with their size. The inline
 * functions below do both; bindings for other languages call ssm2d_*_init and ssm2d_*_sized with
 * the size of their own struct. */

/* ---- context: threads, memory, instruction set ----------------------------------------------- */

typedef struct ssm2d_context ssm2d_context;

typedef struct ssm2d_context_options {
    size_t size; /* of this struct */
    /* 1 to 1024; 0: the number of processors that the process may use, by its affinity mask and the
     * CPU quota of its control group. More threads than processors are allowed but slower. */
    int threads;
    /* "baseline", "avx2", "avx512"; NULL: the environment variable SSM2D_CPU if it is set, else the
     * best instruction set of this machine */
    const char *cpu;
    /* The allocator; NULL: malloc and free. Set both or neither. Any alignment is accepted, and
     * memory need not be zeroed. Only functions named create, destroy and import call them, in the
     * calling thread. */
    void *(*allocate)(size_t bytes, void *user);
    void (*release)(void *memory, void *user);
    void *user;
} ssm2d_context_options;

SSM2D_API void ssm2d_context_options_init(ssm2d_context_options *options, size_t size);
/* all processors, the best instruction set, malloc */
static inline ssm2d_context_options ssm2d_context_options_default(void)
{
    ssm2d_context_options options;
    ssm2d_context_options_init(&options, sizeof options);
    return options;
}

/* options may be NULL: the defaults. Everything made from a context must be destroyed before it.
 * All destroy functions accept NULL. */
SSM2D_API ssm2d_status ssm2d_context_create(const ssm2d_context_options *options,
                                            ssm2d_context **context, ssm2d_error *error);
SSM2D_API void ssm2d_context_destroy(ssm2d_context *context);
SSM2D_API int ssm2d_context_threads(const ssm2d_context *context);
/* the instruction set in use */
SSM2D_API const char *ssm2d_context_cpu(const ssm2d_context *context);

/* ---- layer: a kind with its settings --------------------------------------------------------- */

/* The i-th kind of layer, NULL past the last: "ssm2d", the 2-D state-space layer, and the layers
 * that it is compared with: "s4nd", a separable state-space layer, and "ema", Mega's moving
 * average. */
SSM2D_API const char *ssm2d_kind_name(int i);
SSM2D_API const char *ssm2d_kind_help(const char *kind); /* one line; NULL: no such kind */
/* The i-th algorithm that plans of the kind may name, NULL past the last. */
SSM2D_API const char *ssm2d_kind_algorithm(const char *kind, int i);

/* What a kind can do, as bits; 0: no such kind. */
enum {
    SSM2D_CAN_KERNEL = 1,          /* ssm2d_kernel */
    SSM2D_CAN_KERNEL_BACKWARD = 2, /* ssm2d_kernel_backward */
    SSM2D_CAN_STREAM = 4,          /* ssm2d_stream_create */
    SSM2D_CAN_GRID_1D = 16,        /* grids of one axis; below: of two, of three */
    SSM2D_CAN_GRID_2D = 32,
    SSM2D_CAN_GRID_3D = 64
};
SSM2D_API unsigned ssm2d_kind_capabilities(const char *kind);

typedef enum ssm2d_setting_type {
    SSM2D_SETTING_INT,   /* an integer */
    SSM2D_SETTING_REAL,  /* a real number */
    SSM2D_SETTING_FLAG,  /* true or false */
    SSM2D_SETTING_CHOICE /* one of `choices` */
} ssm2d_setting_type;

/* One setting of a kind. Texts belong to the library and are never freed. */
typedef struct ssm2d_setting {
    const char *name, *help;
    ssm2d_setting_type type;
    double minimum, maximum;    /* of int and real; both bounds are allowed */
    const char *default_value;  /* as text; NULL: required, no default */
    const char *const *choices; /* of a choice; the list ends with NULL */
    const int *allowed;         /* the only allowed integers, ended by 0; NULL: all in the bounds */
} ssm2d_setting;

/* The i-th setting of a kind, `channels` first; returns 0 past the last. */
SSM2D_API int ssm2d_kind_setting_sized(const char *kind, int i, ssm2d_setting *setting,
                                       size_t size);
static inline int ssm2d_kind_setting(const char *kind, int i, ssm2d_setting *setting)
{
    return ssm2d_kind_setting_sized(kind, i, setting, sizeof *setting);
}

/* Immutable. Any number of plans, streams and threads may use a layer. Plans and streams copy what
 * they need, so that the layer may be destroyed before them. */
typedef struct ssm2d_layer ssm2d_layer;

/* settings: words key=value, such as "channels=192 d_state=16". Settings that are not given have
 * their defaults. Refused are unknown settings (with a suggestion), values out of bounds, a key
 * that is given twice, and missing `channels`. */
SSM2D_API ssm2d_status ssm2d_layer_create(ssm2d_context *context, const char *kind,
                                          const char *settings, ssm2d_layer **layer,
                                          ssm2d_error *error);
SSM2D_API void ssm2d_layer_destroy(ssm2d_layer *layer);
SSM2D_API const char *ssm2d_layer_kind(const ssm2d_layer *layer);
SSM2D_API int ssm2d_layer_channels(const ssm2d_layer *layer);
/* Like snprintf: writes the value of a setting as text of at most size bytes, the final 0
 * included, and returns the length of the whole text without it. Returns -1 if the kind has no such
 * setting. */
SSM2D_API int ssm2d_layer_setting(const ssm2d_layer *layer, const char *key, char *text,
                                  size_t size);
/* Like snprintf: all settings, defaults included, as ssm2d_layer_create takes them. */
SSM2D_API int ssm2d_layer_settings(const ssm2d_layer *layer, char *text, size_t size);

/* ---- parameters ------------------------------------------------------------------------------ */

enum { SSM2D_PARAM_RANK = 5 };

typedef struct ssm2d_param {
    const char *name; /* as in docs/layer.md and in files */
    int rank;
    size_t shape[SSM2D_PARAM_RANK];
    size_t offset, count; /* in elements, from the start of the flat array */
    int decay;            /* whether weight decay should act on it (never on systems) */
    int system;      /* whether it belongs to the recurrence, which may need a separate learning
                      * rate */
    int decay_paper; /* whether weight decay acts on it in the paper's runs (code of June 2023):
                      * only on omega, which is D of the 2-D SSM and omega of EMA */
} ssm2d_param;

/* The i-th parameter array, i from 0; returns 0 past the last. */
SSM2D_API int ssm2d_layer_param_sized(const ssm2d_layer *layer, int i, ssm2d_param *param,
                                      size_t size);
static inline int ssm2d_layer_param(const ssm2d_layer *layer, int i, ssm2d_param *param)
{
    return ssm2d_layer_param_sized(layer, i, param, sizeof *param);
}
/* number of elements of the flat array */
SSM2D_API size_t ssm2d_layer_param_count(const ssm2d_layer *layer);

/* Initial values, chosen by the setting `init` if the kind has one: identity (D = 1 and a small C,
 * so that a block first computes almost the same as without the layer) or authors (as in the
 * paper's code of 2023 and 2024). One seed gives the same values on every machine; float values are
 * the double values, rounded. */
SSM2D_API ssm2d_status ssm2d_params_init(const ssm2d_layer *layer, uint64_t seed, float *params,
                                         ssm2d_error *error);
SSM2D_API ssm2d_status ssm2d_params_init_double(const ssm2d_layer *layer, uint64_t seed,
                                                double *params, ssm2d_error *error);
/* Refuses NaN and infinity; the error names array and index. Execution does not check. */
SSM2D_API ssm2d_status ssm2d_params_check(const ssm2d_layer *layer, const float *params,
                                          ssm2d_error *error);
SSM2D_API ssm2d_status ssm2d_params_check_double(const ssm2d_layer *layer, const double *params,
                                                 ssm2d_error *error);

/* ---- plan ------------------------------------------------------------------------------------ */

typedef enum ssm2d_type { SSM2D_FLOAT, SSM2D_DOUBLE } ssm2d_type;

/* A grid of one to three axes, the slowest first; two axes are rows and columns. Plans refuse
 * grids that the kind cannot take (SSM2D_CAN_GRID_..). */
enum { SSM2D_GRID_AXES = 3 };
typedef struct ssm2d_grid {
    int axes;
    size_t extent[SSM2D_GRID_AXES]; /* those past `axes` are not read */
} ssm2d_grid;

static inline ssm2d_grid ssm2d_grid_1d(size_t cells)
{
    ssm2d_grid grid = {1, {cells, 1, 1}};
    return grid;
}
static inline ssm2d_grid ssm2d_grid_2d(size_t rows, size_t cols)
{
    ssm2d_grid grid = {2, {rows, cols, 1}};
    return grid;
}
static inline ssm2d_grid ssm2d_grid_3d(size_t planes, size_t rows, size_t cols)
{
    ssm2d_grid grid = {3, {planes, rows, cols}};
    return grid;
}

/* Distances between neighbours, in elements; they may be negative. All zero: dense
 * [batch][axes of the grid ..][channels]. Any slice or permutation of a dense array is accepted;
 * strides with which two cells would share an element are refused. */
typedef struct ssm2d_strides {
    ptrdiff_t batch, axis[SSM2D_GRID_AXES], channel;
} ssm2d_strides;

typedef struct ssm2d_plan_options {
    size_t size; /* of this struct */
    size_t batch;
    ssm2d_grid grid;
    ssm2d_type type;
    const char *algorithm; /* "auto", or one of ssm2d_kind_algorithm; NULL is "auto" */
    int measure;           /* auto: time the candidates on this machine instead of estimating */
    int inference;         /* backward will not be called: less memory */
    /* Refuse plans with a larger workspace; 0: no limit. A workspace has memory for each thread, so
     * that with a limit `auto` may choose another algorithm, whose results differ in rounding, for
     * another number of threads. */
    size_t max_bytes;
    ssm2d_strides in;  /* of u and du */
    ssm2d_strides out; /* of y and dy */
} ssm2d_plan_options;

typedef struct ssm2d_plan ssm2d_plan;
typedef struct ssm2d_workspace ssm2d_workspace;

SSM2D_API void ssm2d_plan_options_init(ssm2d_plan_options *options, size_t size);
/* batch 1, float, auto; the grid must be set */
static inline ssm2d_plan_options ssm2d_plan_options_default(void)
{
    ssm2d_plan_options options;
    ssm2d_plan_options_init(&options, sizeof options);
    return options;
}

SSM2D_API ssm2d_status ssm2d_plan_create(ssm2d_context *context, const ssm2d_layer *layer,
                                         const ssm2d_plan_options *options, ssm2d_plan **plan,
                                         ssm2d_error *error);
SSM2D_API void ssm2d_plan_destroy(ssm2d_plan *plan);
SSM2D_API const char *ssm2d_plan_algorithm(const ssm2d_plan *plan); /* the chosen one */
SSM2D_API size_t ssm2d_plan_bytes(const ssm2d_plan *plan);          /* of one workspace */

SSM2D_API ssm2d_status ssm2d_workspace_create(const ssm2d_plan *plan, ssm2d_workspace **workspace,
                                              ssm2d_error *error);
SSM2D_API void ssm2d_workspace_destroy(ssm2d_workspace *workspace);

/* ---- executing ---------------------------------------------------------------------------------
 * Pointers need no more alignment than their type; inputs and outputs must not overlap. A call
 * returns SSM2D_OK, or changes nothing and returns an error. SSM2D_ERROR_ARGUMENT: NULL where an
 * array is needed, a plan of the other number type, a workspace of another plan, apply before
 * prepare, backward before forward or on a plan for inference. SSM2D_ERROR_UNSUPPORTED: a kernel or
 * its gradient, of a kind that has none. Sizes of arrays and overlap cannot be checked. */

/* y = layer(u). The same as prepare, then apply. */
SSM2D_API ssm2d_status ssm2d_forward(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                     const float *params, const float *u, float *y);
SSM2D_API ssm2d_status ssm2d_forward_double(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                            const double *params, const double *u, double *y);
/* Computes kernels from parameters once; apply may then run many times. The workspace copies what
 * it needs of params. */
SSM2D_API ssm2d_status ssm2d_prepare(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                     const float *params);
SSM2D_API ssm2d_status ssm2d_prepare_double(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                            const double *params);
SSM2D_API ssm2d_status ssm2d_apply(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                   const float *u, float *y);
SSM2D_API ssm2d_status ssm2d_apply_double(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                          const double *u, double *y);
/* Adds dLoss/du to du and dLoss/dparams to dparams; either may be NULL. Call it after forward (or
 * prepare and apply) with the same workspace, params and u. */
SSM2D_API ssm2d_status ssm2d_backward(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                      const float *params, const float *u, const float *dy,
                                      float *du, float *dparams);
SSM2D_API ssm2d_status ssm2d_backward_double(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                             const double *params, const double *u,
                                             const double *dy, double *du, double *dparams);
/* Shape of the array that ssm2d_kernel writes; returns its rank, 0 if the kind has no kernel. */
enum { SSM2D_KERNEL_RANK = 4 };
SSM2D_API int ssm2d_kernel_shape(const ssm2d_plan *plan, size_t shape[SSM2D_KERNEL_RANK]);
/* The convolution kernels of the layer, without the skip connection (D, omega) and before
 * averaging over directions:
 *     ssm2d   [directions][channels][rows][cols], causal; 0 where it is truncated
 *     s4nd    [n_ssm][2*rows-1][2*cols-1], offset (o1, o2) at (o1+rows-1, o2+cols-1)
 *     ema     [channels, or twice that when bidirectional][cells], truncated to `trunc` cells
 * This function and the next overwrite the workspace: prepare again before apply or backward. */
SSM2D_API ssm2d_status ssm2d_kernel(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                    const float *params, float *kernel);
SSM2D_API ssm2d_status ssm2d_kernel_double(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                           const double *params, double *kernel);
/* Adds to dparams the gradient for a given dLoss/dkernel. Kinds with SSM2D_CAN_KERNEL_BACKWARD have
 * it, so far only ssm2d. The plan must not be for inference. */
SSM2D_API ssm2d_status ssm2d_kernel_backward(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                             const float *params, const float *dkernel,
                                             float *dparams);
SSM2D_API ssm2d_status ssm2d_kernel_backward_double(const ssm2d_plan *plan,
                                                    ssm2d_workspace *workspace,
                                                    const double *params, const double *dkernel,
                                                    double *dparams);

/* ---- stream: the layer as a recurrence over rows, with memory for one row -------------------- */

typedef struct ssm2d_stream ssm2d_stream;

/* Only for kinds with SSM2D_CAN_STREAM, and directions that need no later row: for ssm2d,
 * directions=1, or directions=2 with pair=columns. params is copied, and refused unless finite. */
SSM2D_API ssm2d_status ssm2d_stream_create(ssm2d_context *context, const ssm2d_layer *layer,
                                           size_t batch, size_t cols, const float *params,
                                           ssm2d_stream **stream, ssm2d_error *error);
SSM2D_API ssm2d_status ssm2d_stream_create_double(ssm2d_context *context, const ssm2d_layer *layer,
                                                  size_t batch, size_t cols, const double *params,
                                                  ssm2d_stream **stream, ssm2d_error *error);
/* One thread at a time may use a stream; several streams may run in parallel.
 * Takes the next row u[batch][cols][channels] and writes the layer's output for it,
 * y[batch][cols][channels]. Fails only with SSM2D_ERROR_ARGUMENT, for NULL or a stream of the other
 * number type. */
SSM2D_API ssm2d_status ssm2d_stream_push(ssm2d_stream *stream, const float *u, float *y);
SSM2D_API ssm2d_status ssm2d_stream_push_double(ssm2d_stream *stream, const double *u, double *y);
SSM2D_API ssm2d_status ssm2d_stream_reset(ssm2d_stream *stream); /* to before the first row */
SSM2D_API void ssm2d_stream_destroy(ssm2d_stream *stream);

/* ---- experimental: may change or be removed in any version ---------------------------------- */
#ifdef SSM2D_EXPERIMENTAL

/* Wisdom: the algorithms that `measure` has chosen, to be saved and loaded, so that a later run
 * chooses the same without measuring and its results have the same bits. One line per decision:
 *
 *     ssm2d channels=192 .. | batch=128 grid=8x8 in=.. out=.. type=float inference=0 max_bytes=0 \
 *     cpu=avx2 threads=4 | fft
 *
 * A plan with `measure` uses a matching line if there is one; otherwise it measures and adds one.
 * Any number of threads may call these functions. */

/* Like snprintf: writes all lines, in a fixed order, and returns their length without the 0. */
SSM2D_API size_t ssm2d_wisdom_export(const ssm2d_context *context, char *text, size_t size);
/* Adds lines to the context's wisdom, replacing decisions for the same request. If a line is
 * malformed, none is added, and the error gives its line number. Empty lines and lines that begin
 * with # are skipped. */
SSM2D_API ssm2d_status ssm2d_wisdom_import(ssm2d_context *context, const char *text,
                                           ssm2d_error *error);

#endif

#ifdef __cplusplus
}
#endif
#endif
