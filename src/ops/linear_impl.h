/* linear_impl - what the files of the operator linear share: how its products are cut into tasks,
 * and which of them go to graph.sgemm. */
#ifndef SSM2D_OPS_LINEAR_IMPL_H
#define SSM2D_OPS_LINEAR_IMPL_H

#include "graph/graph.h"
#include "ops/simd/gemm_table.h"

/* ---- y = x W^T and dx = dy W, which have a row for each row of x (linear_products.c) --------- */

enum { LINEAR_TASKS_PER_THREAD = 4 };

static inline size_t linear_threads(const graph *g)
{
    return (size_t)pool_threads(g->context->pool);
}

static inline const gemm_table *linear_gemm(const graph *g)
{
    return g->gemm ? g->gemm : gemm_for(g->context->cpu);
}

typedef struct packed_job {
    const gemm_table *gemm;
    gemm_packed_args product;
    gemm_pack_args packing;
    /* Where y is bfloat16 (product.y is not used then), with LINEAR_NARROW_ROWS rows of y as real
     * for each worker; else NULL. */
    bfloat16 *narrow;
    real *narrow_scratch;
    cpu_level cpu;
    size_t rows, cols, across; /* of a task; tasks side by side: set by the functions below */
    int pack;                  /* whether a task has to pack its columns first; likewise */
} packed_job;

/* Rows that are computed before they are rounded. */
enum { LINEAR_NARROW_ROWS = 48 };

void linear_pack(const graph *g, packed_job *j);
/* is_packed: the weights have been packed before. */
void linear_multiply(const graph *g, packed_job *j, int is_packed);

/* ---- dW = dy^T x (linear_parts.c) ------------------------------------------------------------ */

/* Columns of x that a task packs at once, so that they stay in the second cache. */
enum { LINEAR_PART_COLS = 256 };

/* The rows of x and dy are cut into ranges, each of which has sums of its own (the first one dW
 * itself), and a range into slabs of `depth` rows: both by the shape, since the last bits depend on
 * them. dW is cut into parts of rows x cols, `across` of them side by side. */
typedef struct weights_grid {
    size_t ranges, depth;
    size_t rows, cols, across, parts;
} weights_grid;

weights_grid linear_cut_weights(const graph *g, const node *nd);

/* ---- products by another library, graph.sgemm (linear_sgemm.c) ------------------------------- */

typedef enum linear_product { LINEAR_Y = 1, LINEAR_DX = 2, LINEAR_DW = 4 } linear_product;

/* Whether one of the products (bits of linear_product) goes there. Its bits depend on how it is
 * cut, so that it has to be cut by the shape alone. */
int linear_by_sgemm(const graph *g, int products);

/* y or dx, which have a row for each row of x: tasks have some of the rows. */
typedef struct sgemm_job {
    const graph *g;     /* set by sgemm_job_run */
    sgemm_args product; /* of all rows */
    const real *bias;   /* what c begins with, where product.adds; or NULL */
    size_t rows;        /* of a task; set there, too */
} sgemm_job;

sgemm_job sgemm_job_of_y(const node *nd);
sgemm_job sgemm_job_of_dx(const node *nd);
void sgemm_job_run(const graph *g, sgemm_job *j);

/* The shape of a part of dW from `a`'s rows of x and dy, without its matrices. */
sgemm_args sgemm_part_of_dw(const gemm_tn_args *a, const gemm_tn_part *part);
/* A product in a run: the graph notes when it was out of memory. */
void sgemm_or_note(const graph *g, const sgemm_args *p);

/* op.warm_up */
ssm2d_status linear_warm_up(graph *g, const node *nd, ssm2d_error *error);

#endif
