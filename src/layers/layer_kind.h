/* layer_kind - what a kind of layer is, and the layer, plan and workspace that all kinds share.
 *
 * To add a kind, write a folder with its settings and parameters (a layer_kind) and its functions
 * for float and double (layer_functions), and a line in kinds.def. Bindings, mixers, the operator,
 * `ssm2d layer`, pictures, exporters and files are derived from these tables. Everything that
 * layer_functions calls is compiled for both number types; a plan's `functions` points to one of
 * them. */
#ifndef SSM2D_LAYERS_LAYER_KIND_H
#define SSM2D_LAYERS_LAYER_KIND_H

#include "core/context.h"
#include "core/field.h"
#include "core/plan_options.h"
#include "core/rng.h"

typedef struct layer_kind layer_kind;
typedef struct layer_functions layer_functions;

/* ---- layer ----------------------------------------------------------------------------------- */

/* The values of a layer's settings: the kind's own struct, which its fields describe. Functions of
 * a kind are given a pointer to it as `config`. */
enum { LAYER_VALUES = 128 };
typedef union layer_values {
    double alignment;
    char bytes[LAYER_VALUES];
} layer_values;

/* Code inside the library may also keep a layer on the stack and copy it. libssm2d_model contains a
 * second copy of this code and receives layers made by libssm2d, so it compares versions, never
 * pointers. */
struct ssm2d_layer {
    const char *version;          /* of the library that made it */
    const ssm2d_context *context; /* frees the layer; NULL: not made by ssm2d_layer_create */
    const layer_kind *kind;
    layer_values values;
};

static inline const void *layer_config(const ssm2d_layer *layer) { return layer->values.bytes; }

/* A layer with the defaults of its kind; the caller must still set the channels. */
ssm2d_layer layer_default(const layer_kind *kind);
/* A layer with these values: config is the kind's own struct. */
ssm2d_layer layer_of(const layer_kind *kind, const void *config);
/* Sets the settings given as words key=value, then checks all settings. */
ssm2d_status layer_parse(const char *settings, ssm2d_layer *layer, ssm2d_error *error);
/* Refuses invalid values and combinations. */
ssm2d_status layer_check(const ssm2d_layer *layer, ssm2d_error *error);
void layer_set_channels(ssm2d_layer *layer, int channels);
/* Sets settings of initial values that are still open to suit a model with this grid. */
void layer_fit(ssm2d_layer *layer, int rows, int cols);

/* ---- plan and workspace ---------------------------------------------------------------------- */

/* The first member of every kind's own plan. */
struct ssm2d_plan {
    ssm2d_context *context;
    const layer_kind *kind;
    const layer_functions *functions;
    ssm2d_plan_options options;
    const char *algorithm; /* its name */
    int channels, rows, cols;
    plane_strides in, out; /* of u and du, of y and dy */
    const void *simd;      /* simd_table of the plan's number type */
    int lanes, vectors;    /* vectors of channels: ceil(channels / lanes) */
    size_t bytes;          /* of a workspace */
};

/* What a workspace holds; this decides which calls are allowed next. */
typedef enum workspace_state { HOLDS_NOTHING, HOLDS_KERNELS, HOLDS_FORWARD } workspace_state;

struct ssm2d_workspace {
    const ssm2d_plan *plan;
    const ssm2d_context *context; /* frees the workspace: the plan may be gone by then */
    char *memory;                 /* plan->bytes */
    workspace_state state;
};

/* While planning: reserves count * size bytes of the workspace and returns their offset, 64-byte
 * aligned and never 0. On overflow plan->bytes stays at SIZE_MAX, and planning fails in the end. */
size_t plan_reserve(ssm2d_plan *plan, size_t count, size_t size);

#define REGION_AT(type, ws, offset) ((type *)(void *)((ws)->memory + (offset)))

/* A scan plan for one row, and the states that are carried from row to row. */
struct ssm2d_stream {
    ssm2d_context *context;
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    void *states;
    size_t bytes; /* of states */
};

/* ---- a kind ---------------------------------------------------------------------------------- */

enum { LAYER_ARRAYS = 24 }; /* parameter arrays of a kind, at most */

typedef struct layer_array {
    ssm2d_param param;
    int draw; /* how its initial values are drawn; each kind numbers its ways itself */
} layer_array;

/* Parameters of either number type, for code that is compiled once. */
typedef struct layer_element {
    ssm2d_type type;
    void *params;
} layer_element;
double layer_element_get(const layer_element *params, size_t i);
void layer_element_put(layer_element *params, size_t i, double value);

/* Initial values: the choices of the field `init`, which a kind has if it implements both. */
typedef enum layer_init { LAYER_INIT_IDENTITY, LAYER_INIT_AUTHORS } layer_init;
extern const char *const layer_init_names[]; /* "identity", "authors", NULL */
#define LAYER_INIT "init"
#define LAYER_INIT_FIELD(config, value)                                                            \
    {                                                                                              \
        LAYER_INIT, "initial values: identity (close to no mixer), or authors (the paper's code)", \
            SSM2D_KIND_CHOICE, offsetof(config, init), 0, 1, value, layer_init_names, NULL         \
    }

/* The layer as a convolution, for exporters: its kernel, then the operations that follow. */
typedef struct layer_convolution {
    int separable;    /* the kernel is a product of one for rows and one for columns */
    const char *skip; /* name of the array that is added to the kernel at offset 0 */
    const char
        *bias; /* name of the array that is added to the output; not with separable kernels */
    const char *gamma,
        *beta; /* names of the arrays of the LayerNorm that follows if the layer has them */
    int (*silu)(const void *config); /* whether SiLU follows; NULL: no */
} layer_convolution;

struct layer_kind {
    const char *name, *help;
    size_t config_size;        /* of the struct that its fields describe; at most LAYER_VALUES */
    const ssm2d_field *fields; /* `channels` first; ended by a field without a name */
    const char *headline;      /* name of the choice that every description shows; or NULL */
    size_t plan_size;          /* of its own plan */
    /* Supported numbers of grid axes, as bits: 1 << 2 is two. Kinds see rows and columns. */
    unsigned axes;
    int raster; /* whether it sees a sequence in raster order instead of rows and columns */
    /* Refuses invalid combinations, which the bounds of single fields cannot; may be NULL. */
    ssm2d_status (*check)(const void *config, ssm2d_error *error);
    /* Fills the table of arrays in order, without their offsets; returns their number. */
    int (*arrays)(const void *config, layer_array *table);
    /* Draws element k of an array. */
    double (*draw)(const void *config, const layer_array *array, size_t k, rng *r);
    /* Called after all draws: sets values that depend on several arrays; may be NULL. */
    void (*settle)(const void *config, layer_element *params);
    /* Settings besides `init` that affect initial values only; ended by NULL; may be NULL. */
    const char *const *initial;
    /* Sets settings of initial values that are still open to suit the grid; may be NULL. */
    void (*fit)(void *config, int rows, int cols);
    /* Copies the configuration and the sizes derived from it into a new plan. */
    void (*begin)(ssm2d_plan *plan, const void *config);
    const layer_functions *functions[2]; /* for float, for double */
    /* Refuses a layer that cannot be streamed with this many columns; NULL: the kind has no
     * streams. */
    ssm2d_status (*stream_check)(const void *config, size_t cols, ssm2d_error *error);
    /* For pictures. pictures: number of channels with different kernels, before they repeat.
     * picture: the sum of the kernels of channel h without the `skip` array,
     * out[2*rows-1][2*cols-1], indexed by input position - output position; kernels and shape are
     * those of ssm2d_kernel. NULL: the kind has no kernel. */
    int (*pictures)(const void *config);
    void (*picture)(const void *config, const float *kernels, const size_t *shape, int h, int rows,
                    int cols, double *out);
    const layer_convolution *convolution; /* NULL: not a convolution, cannot be exported */
};

/* The table of each kind: layer_NAME. */
#define KIND(name) extern const layer_kind layer_##name;
#include "layers/kinds.def"
#undef KIND

const layer_kind *layer_kind_at(int i); /* NULL past the last */
const layer_kind *layer_kind_find(const char *name);

/* The functions of one kind and one number type. */
struct layer_functions {
    size_t size;                     /* of an element */
    const char *(*algorithm)(int i); /* name of algorithm i, NULL past the last */
    /* Plans with algorithm i and reserves its regions; allocates at most a few structs. */
    ssm2d_status (*plan)(ssm2d_plan *plan, int i, ssm2d_error *error);
    /* Refuses an algorithm that `auto` must not choose, though users may name it; may be NULL. */
    ssm2d_status (*auto_check)(const ssm2d_plan *plan, ssm2d_error *error);
    double (*cost)(const ssm2d_plan *plan); /* estimated, in multiply-adds of a forward pass */
    /* Computes the tables that execution needs; called only for plans that are executed; or
     * NULL. */
    ssm2d_status (*finish)(ssm2d_plan *plan, ssm2d_error *error);
    void (*release)(ssm2d_plan *plan); /* frees what plan and finish allocated; may be NULL */
    void (*prepare)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params);
    void (*apply)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *u, void *y);
    void (*backward)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams);
    /* NULL if the kind has no kernels. */
    int (*kernel_shape)(const ssm2d_plan *plan, size_t shape[SSM2D_KERNEL_RANK]);
    void (*kernel)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, void *kernel);
    /* May be NULL. */
    void (*kernel_backward)(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params,
                            const void *dkernel, void *dparams);
    /* NULL if the kind cannot be streamed. stream_elements: elements of state that are carried from
     * row to row; SIZE_MAX on overflow. */
    void (*stream_push)(ssm2d_stream *stream, const void *u, void *y);
    size_t (*stream_elements)(const ssm2d_plan *plan);
};

/* ---- shared by all kinds; layers are complete and checked ------------------------------------ */

/* Fills the table, including offsets, and returns the number of arrays. */
int layer_arrays(const ssm2d_layer *layer, layer_array *table);

/* An entry for a table of arrays. */
layer_array layer_array_of(const char *name, int draw, int rank, const size_t *shape);
#define LAYER_ARRAY(name, draw, ...)                                                               \
    layer_array_of(name, draw, (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)),            \
                   (size_t[]){__VA_ARGS__})

/* The functions of ssm2d.h with the number type as an argument; it must match the plan's. */
ssm2d_status layer_params_init(const ssm2d_layer *layer, uint64_t seed, ssm2d_type type,
                               void *params, ssm2d_error *error);
ssm2d_status layer_params_check(const ssm2d_layer *layer, ssm2d_type type, const void *params,
                                ssm2d_error *error);
ssm2d_status layer_prepare(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                           const void *params);
ssm2d_status layer_apply(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                         const void *u, void *y);
ssm2d_status layer_forward(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                           const void *params, const void *u, void *y);
ssm2d_status layer_backward(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                            const void *params, const void *u, const void *dy, void *du,
                            void *dparams);
ssm2d_status layer_kernel(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                          const void *params, void *kernel);
ssm2d_status layer_kernel_backward(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                                   const void *params, const void *dkernel, void *dparams);
ssm2d_status layer_stream_create(ssm2d_context *context, const ssm2d_layer *layer, size_t batch,
                                 size_t cols, ssm2d_type type, const void *params,
                                 ssm2d_stream **stream, ssm2d_error *error);
ssm2d_status layer_stream_push(ssm2d_stream *stream, ssm2d_type type, const void *u, void *y);

/* plan_chooser.c: creates a plan with the algorithm that the options name, or with the cheapest one
 * by estimate or measurement. request: a plan without an algorithm. */
ssm2d_status plan_choose(const ssm2d_plan *request, const ssm2d_layer *layer, ssm2d_plan **plan,
                         ssm2d_error *error);

/* layer_wisdom.c: writes the request as it stands in a line of wisdom (core/wisdom.h). */
void layer_wisdom_request(const ssm2d_plan *request, const ssm2d_layer *layer, char *text);

/* The table of SIMD functions of a number type. */
const void *layer_simd_f32(cpu_level level, int *lanes);
const void *layer_simd_f64(cpu_level level, int *lanes);

#endif
