/* bench_model - a model of the registry on random images: its training step, or running it, with
 * what each operator took. */
#ifndef SSM2D_TOOLS_BENCH_MODEL_H
#define SSM2D_TOOLS_BENCH_MODEL_H

#include "bench.h"
#include "models/model.h"

typedef struct bench_model bench_model;

/* Training: forward, backward and AdamW with cross-entropy. Otherwise the graph of inference,
 * kernels made beforehand. Runs twice, so that all is warm. */
ssm2d_status bench_model_create(ssm2d_context *context, const model_config *config, size_t batch,
                                int training, bench_model **out, ssm2d_error *error);
void bench_model_run(void *m);
void bench_model_destroy(bench_model *m);

/* All nodes of one kind. Times are means over all runs, of one run. */
typedef struct bench_op {
    const char *name;
    int nodes;
    double forward, backward; /* backward: with what is computed again for it */
    /* multiply-adds of matrix products in one run; 0 for operators that have none */
    double products;
} bench_op;

enum { BENCH_OPS = 32 };
/* What took longest comes first; the update of the weights is one of them. Returns how many. */
int bench_model_ops(const bench_model *m, bench_op ops[BENCH_OPS]);
/* Multiply-adds of a run's matrix products, from the shapes:
 *     linear     m*n*k for y; in training as much for dW, and for dx where it is wanted
 *     attention  2*B*T*T*D for q k^T and p v; in training 5*B*T*T*D more: the scores again, dp, dv,
 *                dq, dk
 * Everything else (norms, GELU, the mixer, AdamW) counts as nothing, though it takes time. */
double bench_model_products(const bench_model *m);

/* ---- comparing (bench_compare.c) ------------------------------------------------------------- */

/* Options of the parts `train` and `infer`. */
typedef struct bench_values {
    const char *model, *mixer;
    long batch, image, directions, n_ssm, d_state;
    word_list set;
    int complex, json, quick;
} bench_values;

extern const option bench_model_options[];
ssm2d_status bench_model_check(const void *values, ssm2d_error *error);
ssm2d_status bench_model_config(const bench_values *o, model_config *config, ssm2d_error *error);

/* Medians over rounds, in each of which the model, the plain model (mixer none) and the machine's
 * peak had their turn. */
typedef struct bench_outcome {
    size_t batch;
    int rounds;
    double step, plain, ratio; /* milliseconds; step over plain of the same round */
    double peak;               /* multiply-adds per millisecond */
    double share;              /* of the peak of the same round */
    /* the most memory of the process, before anything but the model was there; MB of 10^6 bytes */
    double rss;
    double spread;
    bench_op ops[BENCH_OPS];
    int op_count;
} bench_outcome;

ssm2d_status bench_compare(ssm2d_context *context, const model_config *config, size_t batch,
                           int training, double seconds, bench_outcome *outcome,
                           ssm2d_error *error);

/* `"batch":..,"ops":[..]` of an object that the caller opens and closes; a table. */
void bench_outcome_json(const bench_outcome *r, int threads);
void bench_outcome_table(const bench_outcome *r, int training);
void bench_outcome_head(ssm2d_context *context, const model_config *config, const char *what);

#endif
