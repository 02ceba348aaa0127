#include "train/precision.h"

#include "core/arith.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/float_mode.h"
#include "core/status.h"
#include "ops/simd/gemm_table.h"

enum { SIDE = 256, ROUNDS = 7, CANDIDATES = 1 + GEMM_ORDERS * GEMM_BODIES };
/* A step has more than products: what they gain has to be worth the lower precision. */
static const double worth = 0.8;

typedef struct candidate {
    gemm_body body;
    train_precision precision;
    double time; /* the shortest */
} candidate;

static void run_once(candidate *c, const float *x, float *packed, float *y)
{
    const gemm_table *gemm = c->body.table;
    const gemm_packed_args product = {.m = SIDE,
                                      .n = SIDE,
                                      .k = SIDE,
                                      .x = x,
                                      .x_row = SIDE,
                                      .packed = packed,
                                      .y = y,
                                      .y_row = SIDE};
    const gemm_pack_args packing = {SIDE, SIDE, x, 1, SIDE, packed};
    gemm->gemm_pack(&packing, 0, SIDE);
    const double start = clock_seconds();
    gemm->gemm_packed(&product, 0, SIDE);
    const double took = clock_seconds() - start;
    if (!c->time || took < c->time) c->time = took;
}

/* Times all candidates in turns: the factors are square matrices. */
static ssm2d_status measure(const ssm2d_context *context, candidate *list, int count,
                            ssm2d_error *error)
{
    const size_t elements = SIDE * SIDE;
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size = max_size(size, list[i].body.table->gemm_packed_size(SIDE, SIDE));
    float *x = mem_alloc(context, elements * sizeof *x),
          *y = mem_alloc(context, elements * sizeof *y),
          *packed = mem_alloc(context, size * sizeof *packed);
    const int done = x && y && packed;
    const float_mode before = float_mode_set();
    for (size_t i = 0; i < elements && done; i++) x[i] = (float)(i % 7) - 3;
    for (int round = 0; round < ROUNDS && done; round++)
        for (int i = 0; i < count; i++) run_once(&list[i], x, packed, y);
    float_mode_restore(before);
    mem_free(context, x);
    mem_free(context, y);
    mem_free(context, packed);
    return done ? SSM2D_OK : fail_memory(error, "matrix products of %d x %d", SIDE, SIDE);
}

static int list_bodies(const ssm2d_context *context, train_precision precision, candidate *list)
{
    const gemm_order order = precision == TRAIN_PRECISION_BF16 ? GEMM_PAIRS : GEMM_TILES;
    gemm_body bodies[GEMM_BODIES];
    const int count = gemm_bfloat16_bodies(context->cpu, order, bodies);
    for (int i = 0; i < count; i++) list[i] = (candidate){bodies[i], precision, 0};
    return count;
}

static const candidate *fastest(const candidate *list, int count)
{
    const candidate *best = list;
    for (int i = 1; i < count; i++)
        if (list[i].time < best->time) best = &list[i];
    return best;
}

ssm2d_status precision_choose(const ssm2d_context *context, int *precision, ssm2d_error *error)
{
    candidate list[CANDIDATES] = {
        {{"float32", gemm_for(context->cpu), 0}, TRAIN_PRECISION_FLOAT32, 0}};
    if (*precision != TRAIN_PRECISION_AUTO) return SSM2D_OK;
    int count = 1 + list_bodies(context, TRAIN_PRECISION_BF16, list + 1);
    const int tiles = list_bodies(context, TRAIN_PRECISION_BF16_TILES, list + count);
    if (tiles && !list[count + tiles - 1].body.emulates) count += tiles;
    const ssm2d_status status = measure(context, list, count, error);
    if (status) return status;
    const candidate *best = fastest(list + 1, count - 1);
    *precision = best->time < worth * list->time ? best->precision : TRAIN_PRECISION_FLOAT32;
    return SSM2D_OK;
}

ssm2d_status precision_use(graph *g, train_precision precision, const char **name,
                           ssm2d_error *error)
{
    candidate list[GEMM_BODIES];
    if (name) *name = NULL;
    if (precision == TRAIN_PRECISION_FLOAT32) return SSM2D_OK;
    const int count = list_bodies(g->context, precision, list);
    const ssm2d_status status = count > 1 ? measure(g->context, list, count, error) : SSM2D_OK;
    if (status) return status;
    const candidate *best = fastest(list, count);
    g->gemm = best->body.table;
    g->keeps_bfloat16 = 1;
    if (name) *name = best->body.name;
    return SSM2D_OK;
}
