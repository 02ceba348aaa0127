/* linear_products - the products of a Linear layer that have a row for each row of x, y = x W^T and
 * dx = dy W, cut into tasks; and which products of it another library does. */
#ifndef SSM2D_OPS_LINEAR_PRODUCTS_H
#define SSM2D_OPS_LINEAR_PRODUCTS_H

#include "graph/graph.h"
#include "ops/simd/simd_ops.h"

enum { LINEAR_TASKS_PER_THREAD = 4 };

static inline size_t linear_threads(const graph *g)
{
    return (size_t)pool_threads(g->context->pool);
}

static inline const simd_ops *linear_simd(const graph *g) { return simd_ops_for(g->context->cpu); }

/* ---- by packed weights ----------------------------------------------------------------------- */

typedef struct packed_job {
    const simd_ops *simd;
    gemm_packed_args product;
    gemm_pack_args packing;
    size_t rows, cols, across; /* of a task; tasks side by side: set by the functions below */
    int pack;                  /* whether a task has to pack its columns first; likewise */
} packed_job;

void linear_pack(const graph *g, packed_job *j);
/* is_packed: the weights have been packed before. */
void linear_multiply(const graph *g, packed_job *j, int is_packed);

/* ---- by graph.sgemm -------------------------------------------------------------------------- */

typedef enum linear_product { LINEAR_Y = 1, LINEAR_DX = 2, LINEAR_DW = 4 } linear_product;

/* Whether a product goes there. Its bits depend on how it is cut, so that it has to be cut by the
 * shape alone. */
int linear_by_sgemm(const graph *g, linear_product product);

typedef struct sgemm_job {
    sgemm_function *sgemm; /* set by the function below */
    sgemm_args product;    /* of all rows */
    const real *bias;      /* or NULL */
    size_t rows;           /* of a task; set below, too */
} sgemm_job;

void linear_multiply_sgemm(const graph *g, sgemm_job *j);

#endif
