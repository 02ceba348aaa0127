/* graph - a model for one shape: operators in order, and where everything is in memory.
 * Compiled for float and double.
 *
 * Building: tensors are declared, operators append nodes (src/ops/ops.h). The first error is kept
 * and everything after it does nothing, so that a model reads like its formula. Finishing plans the
 * memory of forward and backward: how long each value and gradient lives, what is cheaper to
 * recompute than to keep, and one offset for each in a single block. Running allocates nothing. */
#ifndef SSM2D_GRAPH_GRAPH_H
#define SSM2D_GRAPH_GRAPH_H

#include "core/context.h"
#include "core/element_type.h"
#include "graph/param_spec.h"

#include <stddef.h>
#include <stdint.h>

enum { GRAPH_INPUTS = 6 };

typedef struct graph graph;
typedef struct node node;
typedef struct tensor tensor;
typedef struct op op;
typedef struct name_table name_table;

typedef enum role {
    ROLE_INPUT, /* given by the caller before each run; has no gradient */
    ROLE_PARAM, /* data and grad point into the caller's flat arrays */
    ROLE_VALUE, /* made by a node */
    ROLE_VIEW   /* some columns of another tensor, in its memory */
} role;

/* In C order. A tensor is also seen as a matrix whose columns are the last axis: a row is
 * contiguous, and rows are row_stride elements apart, which is the last axis except for views. */
struct tensor {
    char name[96];
    role role;
    element_type type;
    int rank;
    size_t shape[GRAPH_RANK], count;
    size_t row_stride;
    int needs_grad;
    token_grid grid; /* of its tokens (the axis before the last); outputs inherit it */
    union {          /* the elements; `type` says which member is valid */
        real *data;
        bfloat16 *bf16;
        int8_t *int8;
        void *memory;
    };
    size_t scale_count; /* int8: 1, or the number of rows; else 0 */
    real *scales;       /* int8: after the elements, in the same memory */
    real *grad;         /* real for every type: conversions pass gradients on unchanged */
    node *producer;
    size_t offset; /* parameters: in the flat arrays, in elements of them */
    int index;
    tensor *base;              /* views: the tensor whose columns they are; else NULL */
    size_t column;             /* views: the first column, in base */
    tensor *views, *next_view; /* the list of a tensor's views */
};

/* The tensor whose memory t is in. */
static inline tensor *storage_of(tensor *t) { return t && t->base ? t->base : t; }

/* Bytes of a tensor's elements and scales. */
size_t tensor_bytes(const tensor *t);
/* Sets where they are; callers do it for inputs, before a run. */
void tensor_place(tensor *t, void *memory);

/* One attribute that nodes of an operator were built with, for code that reads a finished graph
 * rather than runs it (src/export): its place in the struct that node.attributes points to. */
typedef struct op_attribute {
    const char *name;
    enum { ATTRIBUTE_SIZE, ATTRIBUTE_REAL, ATTRIBUTE_INTS } type; /* size_t, double, int * */
    size_t offset;
} op_attribute;

/* The descriptor of an operator. backward reads out->grad and writes in[i]->grad for each in[i]
 * that needs_grad, in the order of i: it adds to it where the node's adds[i] is set, and overwrites
 * all of it otherwise. Gradients of parameters are always added to (adds[i] is 1); the optimiser
 * clears them. */
struct op {
    const char *name;
    unsigned reads_in; /* bit i: backward reads in[i]->data */
    int reads_out;     /* backward reads out->data */
    int cheap;         /* out is recomputed before backward instead of being kept */
    int affordable;    /* the same where the graph saves memory: it costs time */
    /* bit i: the gradient of in[i] is that of out, so that they may share memory; see op add */
    unsigned passes;
    unsigned strided_in; /* bit i: in[i] may be a view, its gradient as well */
    /* The types that in[i] and out may have, as sums of ELEMENT_BIT; 0: the build's real alone. */
    unsigned takes[GRAPH_INPUTS], gives;
    /* bytes kept from forward to backward; may be NULL */
    size_t (*saved)(const graph *g, const node *n);
    /* bytes for one run; may be NULL */
    size_t (*scratch)(const graph *g, const node *n, int backward);
    /* called once, when the graph is finished; may be NULL */
    ssm2d_status (*prepare)(graph *g, node *n, ssm2d_error *error);
    /* once, when memory is planned, with graph.sgemm: computes a product of each shape that a run
     * will have, so that the library has compiled its code and had its memory; may be NULL */
    ssm2d_status (*warm_up)(graph *g, const node *n, ssm2d_error *error);
    void (*forward)(const graph *g, const node *n);
    void (*backward)(const graph *g, const node *n); /* NULL: it has no gradient */
    /* For operators each row of whose output needs only the same row of some inputs (bit i of
     * rows_in: of in[i]), with the same bits whichever rows are computed together: makes
     * `rows` rows. `in` and `out` are where the first of them are, rows as far apart as those of
     * the tensors are; of the other inputs, all of it. Called by several threads at once, in
     * inference; before_rows (may be NULL) once before. NULL: forward alone. Not called for int8
     * tensors, whose rows have scales elsewhere. */
    void (*rows)(const graph *g, const node *n, size_t rows, const void *const *in, void *out);
    void (*before_rows)(const graph *g, const node *n);
    unsigned rows_in;
    void (*destroy)(graph *g, node *n); /* of what prepare made; may be NULL */
    /* multiply-adds of matrix products in one forward or backward; NULL: it has none */
    double (*products)(const node *n, int backward);
    const op_attribute *attributes; /* a list that ends without a name; NULL: there are none */
};

struct node {
    const op *op;
    int index, inputs;
    tensor *in[GRAPH_INPUTS], *out;
    int adds[GRAPH_INPUTS];
    int recompute;    /* out is recomputed before backward: cheap, or asked for */
    int recomputing;  /* forward is run once more before backward: state must not change again */
    void *attributes; /* the operator's own struct, which does not change after building */
    void *object;     /* the operator's own state, made by prepare */
    void *saved, *scratch; /* of the operator's own types, on whole cache lines */
};

/* A matrix product by another library, on the thread that calls it: C = A' B' + beta C, row by row
 * in memory, A' being m x k and B' k x n, either as it is or the transpose of what is given.
 * Returns 0 if out of memory; C is unchanged then. */
typedef struct sgemm_args {
    int a_transposed, b_transposed;
    size_t m, n, k;
    const real *a, *b;
    real *c;
    size_t a_row, b_row, c_row; /* elements from one row in memory to the next */
    int adds;                   /* beta is 1, not 0 */
} sgemm_args;
typedef int sgemm_function(const sgemm_args *args);

struct gemm_table; /* ops/simd/gemm_table.h */

struct graph {
    ssm2d_context *context;
    /* Used in training by operators for products that it is faster at; set before building. NULL:
     * they use their own. */
    sgemm_function *sgemm;
    /* The table of matrix products for training, and the type that it rounds their factors to where
     * they are multiplied; sums, and everything else, stay real. NULL: that of the context's
     * instruction set, with real factors. Set before building; sgemm is not used then. */
    const struct gemm_table *gemm;
    /* In inference: the linear layers that are computed with 8-bit factors; borrowed, set before
     * building. NULL: none. */
    const struct quantization *quantization;
    /* Nodes are run one at a time, so that a watcher finds the inputs of each in memory: set before
     * finishing. */
    int one_by_one;
    /* Whether values that backward reads are kept in bfloat16 where models ask for it (keep, in
     * ops/ops.h). Set before building. */
    int keeps_bfloat16;
    /* Whether sgemm was out of memory in a run, which computed nothing useful then. Computing the
     * product another way would change the bits of a run unseen. The caller checks it. */
    _Atomic int out_of_memory;
    /* whether backward will be run; operators that only act in training are left out otherwise */
    int training;
    /* whether dropout and stochastic depth act, and BatchNorm goes by the batch; as training,
     * unless set before building */
    int random;
    /* they draw from (seed, step, node); step also tells operators that keep something made from
     * the parameters when these have changed: set it before each run */
    uint64_t seed, step;
    /* Whether outputs of operators that are affordable are recomputed before backward, but for
     * small ones; set before finishing. No bit of a result changes. */
    int saves_memory;
    /* A batch may be run in slices, one after the other or by several processes: this is the index
     * of the slice, from 0, with which each image draws what it would in the whole batch. */
    uint64_t slice;
    /* Unless NULL, called after each visit (of a chain, after its last) with the visit's index; a
     * result other than 0 abandons the run. Training uses it to send gradients that are complete
     * while backward goes on. */
    int (*after_visit)(void *user, int visit);
    void *after_visit_user;
    node **nodes;
    tensor **tensors;
    int node_count, tensor_count, view_count;
    size_t node_capacity, tensor_capacity;
    name_table *names;
    size_t param_count;  /* elements of the flat arrays */
    param_array *arrays; /* of the parameters, in the order of their declaration */
    param_block *blocks;
    int array_count, block_count;
    size_t array_capacity, block_capacity;
    char *memory; /* the block that holds all values, gradients and scratch */
    size_t bytes;
    void *plan;          /* memory.c */
    ssm2d_status status; /* the first error while building */
    ssm2d_error error;
};

/* ---- building -------------------------------------------------------------------------------- */

ssm2d_status graph_create(ssm2d_context *context, int training, graph **out, ssm2d_error *error);
void graph_destroy(graph *g);

/* All return NULL after an error, and accept NULL tensors then. */
tensor *graph_input(graph *g, const char *name, int rank, const size_t *shape);
/* Gives a tensor that was just made (an input, or the output of graph_add) another type than real;
 * `scales` is the number of scales of int8: 1, or the number of rows. Returns t; NULL after an
 * error, such as a type that the operator does not give. */
tensor *graph_set_type(graph *g, tensor *t, element_type type, size_t scales);
/* A parameter; its name is formatted. The same name and shape again gives the same tensor. One of
 * the group PARAM_STATE has no gradient; operators change it in forward runs. Types other than real
 * are refused in training; they take whole elements of the flat array, with int8's scales. */
tensor *graph_param(graph *g, const param_spec *spec, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Several arrays as one tensor of one axis, called BLOCK.mixer; in files BLOCK.mixer.NAME; with
 * b->part instead of "mixer" where it is given. `b` has name, fill, owner, channels and grid. The
 * same name again gives the same tensor. */
tensor *graph_param_block(graph *g, const param_block *b, int count, const param_spec *specs);
/* For operators: a node with its output; shape may be NULL for that of in[0]. `bytes` of attributes
 * are copied into memory of the node; where attributes is NULL they are zero, for the operator to
 * fill. */
node *graph_add(graph *g, const op *op, int inputs, tensor *const *in, int rank,
                const size_t *shape, const void *attributes, size_t bytes);
/* Columns [first, first + count) of x: a tensor in the memory of x, with the rows of x. Gradients
 * go to where they belong in that of x. Only operators that say so (op.strided_in) take it. */
tensor *columns(graph *g, tensor *x, size_t first, size_t count);
/* Recomputes x before backward instead of keeping it, to save memory where that is not cheap.
 * Returns x. */
tensor *graph_recompute(tensor *x);
/* Keep the first error; return NULL. */
void *graph_no_memory(graph *g);
tensor *graph_fail(graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
tensor *graph_find(const graph *g, const char *name); /* NULL when there is none */

/* Attributes of a node by name, which its operator must have declared with this type. Arrays belong
 * to the node. */
size_t node_size(const node *n, const char *name);
double node_real(const node *n, const char *name);
const int *node_ints(const node *n, const char *name);

/* Plans and allocates memory; `out` (the loss, or what a caller reads) lives to the end. Nothing
 * can be added to the graph afterwards. */
ssm2d_status graph_finish(graph *g, tensor *out, ssm2d_error *error);

/* ---- running --------------------------------------------------------------------------------- */

/* Sets the caller's flat array of parameters (and of gradients, in training): param_count elements
 * each. */
void graph_bind(graph *g, real *params, real *grads);
/* Inputs' data pointers are set by the caller: tensor->data. */
void graph_forward(graph *g);
/* Runs backward from `out`, whose gradient the caller has filled (a loss: 1), and adds to the
 * gradients of the parameters. */
void graph_backward(graph *g);
/* Returns the index of the last visit that adds to the gradients of the parameters [first, first +
 * count) of the flat array; -1: none does. */
int graph_last_gradient(const graph *g, size_t first, size_t count);
/* Runs forward and backward once more (out's gradient is still there), looking at each value and
 * gradient as it is made. Returns the name of the first one that holds a NaN or an infinity, or
 * NULL. The gradients of the parameters are invalid afterwards. */
const char *graph_find_bad(graph *g);

/* Seconds spent in each node's forward and backward are kept when times is not NULL:
 * [node_count][2]. */
void graph_time(graph *g, double *times);
/* For measuring: `watch` is called before each visit of a node, forward or backward (what is
 * recomputed or cleared for it included), and with NULL at the end of a run. NULL: none. */
typedef void graph_watcher(void *arg, const node *n, int backward);
void graph_watch(graph *g, graph_watcher *watch, void *arg);

#endif
