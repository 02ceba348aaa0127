#include "optim/optimizer.h"

#include "core/arith.h"
#include "optim/flat.h"

#define OPTIMIZER(name) extern const optimizer optimizer_##name;
#include "optim/optimizers.def"
#undef OPTIMIZER

static const optimizer *const optimizers[] = {
#define OPTIMIZER(name) &optimizer_##name,
#include "optim/optimizers.def"
#undef OPTIMIZER
};

const char *const optimizer_names[] = {
#define OPTIMIZER(name) #name,
#include "optim/optimizers.def"
#undef OPTIMIZER
    NULL};

enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

const optimizer *optimizer_at(int i) { return i >= 0 && i < OPTIMIZERS ? optimizers[i] : NULL; }

int optimizer_arrays(const optimizer *o)
{
    int count = 0;
    while (o->arrays[count]) count++;
    return count;
}

typedef struct job {
    const optimizer *optimizer;
    const optimizer_step *step;
} job;

static void update_piece(void *arg, size_t piece, int worker)
{
    const job *j = arg;
    const optimizer_step *s = j->step;
    const size_t first = flat_piece_start(piece), end = flat_piece_end(piece, s->count);
    (void)worker;
    for (size_t i = 0; i < s->span_count; i++) {
        const param_span *span = &s->spans[i];
        const size_t from = max_size(span->offset, first),
                     to = min_size(span->offset + span->count, end);
        if (from < to) j->optimizer->update(s, span, from, to - from);
    }
}

void optimizer_update(const ssm2d_context *context, const optimizer *o, const optimizer_step *step)
{
    job j = {o, step};
    pool_run(context->pool, flat_pieces(step->count), update_piece, &j);
}
