#include "train/onednn_guard.h"

/* An exception must not reach the frames of C: they have no unwind tables to be relied on, and the
 * process would be aborted. oneDNN throws std::bad_alloc, and std::system_error from its locks. */
int onednn_guarded_sgemm(const onednn_product *p)
{
    try {
        return dnnl_sgemm(p->transa, p->transb, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb,
                          p->beta, p->c, p->ldc)
               == dnnl_success;
    } catch (...) {
        return 0;
    }
}
