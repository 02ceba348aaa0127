/* onednn_guard - calls oneDNN, which is C++, from C, and catches its exceptions. */
#ifndef SSM2D_TRAIN_ONEDNN_GUARD_H
#define SSM2D_TRAIN_ONEDNN_GUARD_H

#include <oneapi/dnnl/dnnl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The arguments of dnnl_sgemm, with alpha = 1. */
typedef struct onednn_product {
    char transa, transb;
    dnnl_dim_t m, n, k;
    const float *a;
    dnnl_dim_t lda;
    const float *b;
    dnnl_dim_t ldb;
    float beta;
    float *c;
    dnnl_dim_t ldc;
} onednn_product;

/* Returns whether C was computed; 0: out of memory. */
int onednn_guarded_sgemm(const onednn_product *p);

#ifdef __cplusplus
}
#endif

#endif
