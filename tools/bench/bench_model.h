/* bench_model - a model on random images: a training step or inference, with the time that each
 * operator takes. */
#ifndef SSM2D_TOOLS_BENCH_MODEL_H
#define SSM2D_TOOLS_BENCH_MODEL_H

#include "bench.h"
#include "models/model.h"
#include "tools/model_names.h"

typedef struct bench_model bench_model;

/* Creates a model, which the caller destroys, and runs it twice to warm up. In training a run is a
 * step with cross-entropy: forward, backward and AdamW. Otherwise it is inference, with kernels
 * computed beforehand. */
enum { BENCH_INFERENCE, BENCH_TRAINING };
/* Added to these; low memory and tiles to BENCH_TRAINING, 8 bits to BENCH_INFERENCE alone. */
enum { BENCH_LOW_MEMORY = 2, BENCH_BFLOAT16 = 4, BENCH_BFLOAT16_TILES = 8, BENCH_INT8 = 16 };
ssm2d_status bench_model_create(ssm2d_context *context, const model_config *config, size_t batch,
                                int task, bench_model **out, ssm2d_error *error);
void bench_model_run(void *m);
void bench_model_destroy(bench_model *m);

/* Called with the name of an operator (the update of the weights is "adamw") before it runs, and
 * with NULL after the last one. May be NULL. */
typedef void bench_watcher(void *arg, const char *op, int backward);
void bench_model_watch(bench_model *m, bench_watcher *watch, void *arg);

/* All nodes of one operator. Times are those of one run, as means over all runs. */
typedef struct bench_op {
    const char *name;
    int nodes;
    double forward, backward; /* backward includes recomputation */
    double products;          /* multiply-adds of matrix products in one run; 0: it has none */
} bench_op;

enum { BENCH_OPS = 32 };
/* Lists the operators and the update of the weights, slowest first. Returns their count. */
int bench_model_ops(const bench_model *m, bench_op ops[BENCH_OPS]);
/* Names the instructions that multiply bfloat16; NULL: factors are float32. */
const char *bench_model_instructions(const bench_model *m);
/* Returns the multiply-adds of a run's matrix products, counted from the shapes:
 *
 *     linear     m*n*k for y; in training as much for dW, and for dx where it is needed
 *     attention  2*B*T*T*D for q k^T and p v;
 *                in training 5*B*T*T*D more: recomputed scores, dp, dv, dq, dk
 *
 * Everything else (norms, GELU, the mixer, AdamW) is not counted, though it takes time. */
double bench_model_products(const bench_model *m);

/* ---- comparing (bench_compare.c) ------------------------------------------------------------- */

/* Options of `train`, `infer` and `scale`: bench_model_options.def, and those of `train`. */
typedef struct bench_values {
    const char *model, *mixer;
    long batch, image, directions, n_ssm, d_state;
    word_list set;
    int complex, json, quick;
    const char *precision; /* of `train` and `infer` */
    /* of `train` alone */
    long simulate_threads;
    const char *memory;
} bench_values;

#define BENCH_AT(field) offsetof(bench_values, field)

ssm2d_status bench_model_check(const void *values, ssm2d_error *error);
ssm2d_status bench_model_config(const bench_values *o, model_config *config, ssm2d_error *error);

/* Medians over rounds. Each round times the model, the plain model (mixer none) and the machine's
 * peak. */
typedef struct bench_outcome {
    size_t batch;
    int rounds;
    double step, plain, ratio; /* milliseconds; step over plain of the same round */
    double peak;               /* multiply-adds per millisecond */
    double share;              /* of the step's matrix products in the peak of the same round */
    /* with low memory, bfloat16 or int8: time over that without in the same round; else 0 */
    double normal_ratio;
    const char *products; /* bench_model_instructions */
    double rss;    /* highest memory use of the process with this model alone; MB of 10^6 bytes */
    double spread; /* median of `step` over its shortest */
    bench_op ops[BENCH_OPS];
    int op_count;
} bench_outcome;

ssm2d_status bench_compare(ssm2d_context *context, const model_config *config, size_t batch,
                           int task, double seconds, bench_outcome *outcome, ssm2d_error *error);

/* Print the results: `"batch":..,"ops":[..]` within a JSON object that the caller opens and closes;
 * a table; and the line above the table. */
void bench_outcome_json(const bench_outcome *r, int threads);
void bench_outcome_table(const bench_outcome *r, int training);
void bench_outcome_head(ssm2d_context *context, const model_config *config, const char *what,
                        int threads);

#endif
