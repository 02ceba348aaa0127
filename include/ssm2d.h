/* ssm2d.h - the 2-D state-space layer for C and C++ programs.
 *
 * A layer is a configuration and one flat array of parameters that the caller owns. A plan fixes
 * (batch, rows, columns, number type), decides how to compute, and is the only place where a
 * request can be refused. A workspace is the memory of one execution. Executing a plan cannot fail
 * and allocates nothing.
 *
 *     ssm2d_context *ctx;  ssm2d_plan *plan;  ssm2d_workspace *ws;  ssm2d_error err;
 *     ssm2d_config cfg = ssm2d_config_default();          cfg.channels = 192;
 *     ssm2d_plan_options opt = ssm2d_plan_options_default();
 *     opt.batch = 128; opt.rows = opt.cols = 8;
 *     if (ssm2d_context_create(NULL, &ctx, &err) || ssm2d_plan_create(ctx, &cfg, &opt, &plan, &err)
 *         || ssm2d_workspace_create(plan, &ws, &err)) { puts(err.line); ... }
 *     float *params = malloc(ssm2d_param_total(&cfg) * sizeof *params);
 *     ssm2d_params_init(&cfg, SSM2D_INIT_IDENTITY, 42, SSM2D_FLOAT, params, &err);
 *     ssm2d_forward(plan, ws, params, u, y);
 *     ssm2d_backward(plan, ws, params, u, dy, du, dparams);           // adds to du and dparams
 *
 * Threads: a context, a plan and a parameter array may be shared by any number of threads; each
 * thread executes with a workspace of its own, or a stream of its own. Subnormal numbers are taken
 * as zero while the library computes, and the caller's floating-point mode is restored afterwards;
 * neither it nor the number of threads changes a bit of the results. The library never prints or
 * exits; it aborts only where asserts are on and a caller breaks a contract. docs/layer.md has the
 * mathematics and a walk through these functions. MIT licence. */
#ifndef SSM2D_H
#define SSM2D_H

#include <stddef.h>
#include <stdint.h>

#define SSM2D_VERSION_MAJOR 0
#define SSM2D_VERSION_MINOR 2
#define SSM2D_VERSION_PATCH 0
#define SSM2D_VERSION       "0.2.0"

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
    /* a value that can never work; the line names the field and the value */
    SSM2D_ERROR_ARGUMENT,
    SSM2D_ERROR_MEMORY, /* the allocator said no */
    /* a sound request that this build, machine or algorithm cannot serve */
    SSM2D_ERROR_UNSUPPORTED,
    SSM2D_ERROR_SYSTEM /* the operating system said no (a thread could not be started) */
} ssm2d_status;

/* Where a function takes `ssm2d_error *`, NULL is allowed; on failure `line` gets one English
 * sentence, else it is left. */
typedef struct ssm2d_error {
    char line[512];
} ssm2d_error;

SSM2D_API const char *ssm2d_version(void);
SSM2D_API const char *ssm2d_status_name(ssm2d_status status);

/* Structs that may grow. ssm2d_context_options, ssm2d_config and ssm2d_plan_options begin with
 * their own size, by which the library knows the header that a program was compiled with: what
 * later versions add has its default for the program. Start from the ssm2d_*_default() functions,
 * which set it; a size that no version had, 0 among them, is refused. The functions ssm2d_*_init
 * are what those call, and what bindings for other languages call with the size of their struct. */

/* ---- context: threads, memory, instruction set ----------------------------------------------- */

typedef struct ssm2d_context ssm2d_context;

typedef struct ssm2d_context_options {
    size_t size; /* of this struct */
    /* 1 to 1024; 0: as many as the process has processors, by its affinity mask and the CPU quota
     * of its control group. More threads than processors are allowed, and only cost time. */
    int threads;
    /* "baseline", "avx2", "avx512"; NULL: the environment's SSM2D_CPU, else the best the machine
     * has */
    const char *cpu;
    /* Memory; NULL: malloc and free; both or neither. Any alignment will do, and the memory need
     * not be zeroed. They are called only by functions named create and destroy, in the thread that
     * calls those. */
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

/* ---- configuration --------------------------------------------------------------------------- */

typedef enum ssm2d_norm {
    SSM2D_NORM_NONE,
    SSM2D_NORM_HALF,
    SSM2D_NORM_RELAXED,
    SSM2D_NORM_PAPER
} ssm2d_norm;

typedef enum ssm2d_values { SSM2D_REAL, SSM2D_POLAR, SSM2D_CARTESIAN } ssm2d_values;

/* Which mirror images two directions are: none and both axes (the paper), or none and columns,
 * which can be streamed. */
typedef enum ssm2d_pair { SSM2D_PAIR_BOTH, SSM2D_PAIR_COLUMNS } ssm2d_pair;

/* Which of the K = directions * n_ssm systems serves channel h of direction r:
 *     authors     (r*H + h) mod K, as published. When K divides H, all directions of a channel use
 *                 one system, and the layer cannot tell left from right or top from bottom.
 *     distinct    (h + r*n_ssm) mod K: the directions of a channel use different systems.
 * With share_directions K is n_ssm and the system is h mod K for either. The row of C is r*H + h
 * with c_per_channel (shared: h), else the number of the system. */
typedef enum ssm2d_assign { SSM2D_ASSIGN_AUTHORS, SSM2D_ASSIGN_DISTINCT } ssm2d_assign;

typedef struct ssm2d_config {
    size_t size;          /* of this struct */
    int channels;         /* H; no default, must be set */
    int d_state;          /* N, coordinates of the state of one system */
    int n_ssm;            /* S, systems per direction */
    int directions;       /* 1: none; 2: see pair; 4: none, rows, columns, both */
    ssm2d_pair pair;      /* read when directions is 2 */
    int average;          /* directions are averaged instead of summed */
    ssm2d_norm norm;      /* of the recursion */
    ssm2d_values values;  /* real, or complex with polar or cartesian B and C */
    int share_directions; /* every direction uses the same systems */
    int c_per_channel;    /* C per direction and channel instead of per system */
    int skip;             /* adds D.u */
    int layer_norm;       /* LayerNorm over channels at the end, eps 1e-5 */
    int trunc_rows;       /* kernel cut to this many rows; 0: as many as the grid has */
    int trunc_cols;
    ssm2d_assign assign; /* which system serves which channel */
} ssm2d_config;

SSM2D_API void ssm2d_config_init(ssm2d_config *config, size_t size);
/* The paper's layer: d_state 16, n_ssm 8, 2 directions, relaxed, real, with skip. channels is 0 and
 * must be set. */
static inline ssm2d_config ssm2d_config_default(void)
{
    ssm2d_config config;
    ssm2d_config_init(&config, sizeof config);
    return config;
}
SSM2D_API ssm2d_status ssm2d_config_check(const ssm2d_config *config, ssm2d_error *error);

/* One field of a configuration, described, so that a program can list, parse, check and print it.
 * The fields of ssm2d_config are integers, flags and choices; the other kinds are there for
 * configurations of programs that use the same description. */
typedef enum ssm2d_kind {
    SSM2D_KIND_INT,    /* int */
    SSM2D_KIND_REAL,   /* double */
    SSM2D_KIND_FLAG,   /* int: 0 false, 1 true */
    SSM2D_KIND_CHOICE, /* int, or an enum: the place of its name in `names` */
    SSM2D_KIND_TEXT,   /* char[SSM2D_TEXT], not empty */
    SSM2D_KIND_PAIR,   /* int[2]: rows and columns; one number stands for both */
    SSM2D_KIND_LIST    /* ssm2d_list */
} ssm2d_kind;

#define SSM2D_TEXT 1024
#define SSM2D_LIST 8
typedef struct ssm2d_list {
    int count, at[SSM2D_LIST];
} ssm2d_list;

typedef struct ssm2d_field {
    const char *name;
    const char *help;
    ssm2d_kind kind;
    size_t offset;             /* in the configuration */
    double minimum, maximum;   /* of numbers, both included */
    const char *default_value; /* as text; NULL: the field has none and must be set */
    const char *const *names;  /* of a choice, ended by NULL */
    const int *allowed; /* when not every integer in between will do: ended by 0; else NULL */
} ssm2d_field;

/* The table ends with a field whose name is NULL; *count, unless NULL, gets how many there are. */
SSM2D_API const ssm2d_field *ssm2d_config_fields(size_t *count);

/* ---- parameters ------------------------------------------------------------------------------ */

typedef struct ssm2d_param {
    const char *name; /* A B C, or A_angle A_radius B_angle .., then D, gamma, beta */
    int rank;
    size_t shape[4];
    size_t offset, size; /* in numbers, from the start of the flat array */
    int decay;           /* whether weight decay is meant to act on it (never on A, B, C) */
    int system; /* whether it is an A, B or C of the systems, which may want a learning rate of
                 * their own */
} ssm2d_param;

/* The i-th parameter array, i from 0; returns 0 when there is no such (or the configuration is not
 * valid). */
SSM2D_API int ssm2d_param_get(const ssm2d_config *config, int i, ssm2d_param *param);
/* numbers in the flat array; 0 when not valid */
SSM2D_API size_t ssm2d_param_total(const ssm2d_config *config);

typedef enum ssm2d_type { SSM2D_FLOAT, SSM2D_DOUBLE } ssm2d_type;

/* IDENTITY: D = 1 and a small C, so that a block starts close to what it was without the layer.
 * AUTHORS: as published. */
typedef enum ssm2d_init { SSM2D_INIT_IDENTITY, SSM2D_INIT_AUTHORS } ssm2d_init;

/* The same seed gives the same values on every machine, and (rounded) in both types. */
SSM2D_API ssm2d_status ssm2d_params_init(const ssm2d_config *config, ssm2d_init init, uint64_t seed,
                                         ssm2d_type type, void *params, ssm2d_error *error);
/* Refuses NaN and infinity, naming the array and the index. Executing does not look. */
SSM2D_API ssm2d_status ssm2d_params_check(const ssm2d_config *config, ssm2d_type type,
                                          const void *params, ssm2d_error *error);

/* ---- plan ------------------------------------------------------------------------------------ */

/* Distances between neighbours, in numbers; negative ones are fine. All zero: dense
 * [batch][rows][cols][channels]. Any slice or permutation of a dense array will do; strides by
 * which cells would share numbers are refused. */
typedef struct ssm2d_strides {
    ptrdiff_t batch, row, col, channel;
} ssm2d_strides;

typedef struct ssm2d_plan_options {
    size_t size; /* of this struct */
    size_t batch, rows, cols;
    ssm2d_type type;
    const char *algorithm; /* "auto", "direct", "fft", "scan"; NULL is "auto" */
    int measure;           /* auto: time the candidates on this machine instead of estimating */
    int inference;         /* no backward will be asked for: less memory */
    /* Refuse plans whose workspace, which has memory for each thread, is larger; 0: no limit. So
     * `auto` may choose another algorithm, with other bits, on another number of threads. */
    size_t max_bytes;
    ssm2d_strides in;  /* of u and du */
    ssm2d_strides out; /* of y and dy */
} ssm2d_plan_options;

typedef struct ssm2d_plan ssm2d_plan;
typedef struct ssm2d_workspace ssm2d_workspace;

SSM2D_API void ssm2d_plan_options_init(ssm2d_plan_options *options, size_t size);
/* batch 1, float, auto; rows and cols must be set */
static inline ssm2d_plan_options ssm2d_plan_options_default(void)
{
    ssm2d_plan_options options;
    ssm2d_plan_options_init(&options, sizeof options);
    return options;
}

SSM2D_API ssm2d_status ssm2d_plan_create(ssm2d_context *context, const ssm2d_config *config,
                                         const ssm2d_plan_options *options, ssm2d_plan **plan,
                                         ssm2d_error *error);
SSM2D_API void ssm2d_plan_destroy(ssm2d_plan *plan);
SSM2D_API const char *ssm2d_plan_algorithm(const ssm2d_plan *plan); /* what was decided */
SSM2D_API size_t ssm2d_plan_bytes(const ssm2d_plan *plan);          /* of one workspace */
/* the i-th algorithm there is, NULL past the last */
SSM2D_API const char *ssm2d_algorithm_name(int i);

SSM2D_API ssm2d_status ssm2d_workspace_create(const ssm2d_plan *plan, ssm2d_workspace **workspace,
                                              ssm2d_error *error);
SSM2D_API void ssm2d_workspace_destroy(ssm2d_workspace *workspace);

/* ---- executing ---------------------------------------------------------------------------------
 * Pointers are to float or double as the plan says and need no more alignment than those types;
 * inputs and outputs must not overlap. What these functions ask of the caller (a workspace of this
 * plan, pointers that are not NULL, the order of calls, no backward on a plan for inference) is
 * checked by assert where the library was built without NDEBUG; in release builds it is not
 * checked, and behaviour is undefined when it does not hold. */

/* y = layer(u). The same as prepare, then apply. */
SSM2D_API void ssm2d_forward(const ssm2d_plan *plan, ssm2d_workspace *workspace, const void *params,
                             const void *u, void *y);
/* Turns parameters into kernels once; apply may then run many times. The workspace keeps what it
 * needs of params. */
SSM2D_API void ssm2d_prepare(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                             const void *params);
SSM2D_API void ssm2d_apply(const ssm2d_plan *plan, ssm2d_workspace *workspace, const void *u,
                           void *y);
/* Adds dLoss/du to du and dLoss/dparams to dparams; either may be NULL. Comes after a forward (or
 * prepare, apply) in the same workspace with the same params and u. The plan must not have been
 * made for inference. */
SSM2D_API void ssm2d_backward(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                              const void *params, const void *u, const void *dy, void *du,
                              void *dparams);
/* kernel[directions][channels][rows][cols]: the causal kernel of each direction and channel,
 * without D and the averaging; what is cut off is 0. This and the next need the workspace for
 * themselves: prepare again before apply or backward. */
SSM2D_API void ssm2d_kernel(const ssm2d_plan *plan, ssm2d_workspace *workspace, const void *params,
                            void *kernel);
/* Adds to dparams the gradient of A, B and C for a given dLoss/dkernel. The plan must not have been
 * made for inference. */
SSM2D_API void ssm2d_kernel_backward(const ssm2d_plan *plan, ssm2d_workspace *workspace,
                                     const void *params, const void *dkernel, void *dparams);

/* ---- stream: the layer as a recurrence over rows, with memory for one row -------------------- */

typedef struct ssm2d_stream ssm2d_stream;

/* Only for directions that look up: directions 1, or 2 with pair `columns`. params is copied, and
 * refused when it is not finite. */
SSM2D_API ssm2d_status ssm2d_stream_create(ssm2d_context *context, const ssm2d_config *config,
                                           size_t batch, size_t cols, ssm2d_type type,
                                           const void *params, ssm2d_stream **stream,
                                           ssm2d_error *error);
/* One thread at a time may use a stream; several streams may run in parallel.
 * Takes the next row u[batch][cols][channels] and gives the layer's output for it,
 * y[batch][cols][channels]. Cannot fail. */
SSM2D_API void ssm2d_stream_push(ssm2d_stream *stream, const void *u, void *y);
SSM2D_API void ssm2d_stream_reset(ssm2d_stream *stream); /* back to before the first row */
SSM2D_API void ssm2d_stream_destroy(ssm2d_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
