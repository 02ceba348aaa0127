#include "conv/conv_impl.h"

#include "core/arith.h"
#include "core/reserve.h"
#include "core/status.h"

#include <string.h>

/* All algorithms; each is a file and a line here. */
static const conv_algorithm *const algorithms[] = {&conv_direct, &conv_fft};

enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

const char *conv_algorithm_name(int i)
{
    return i >= 0 && i < ALGORITHMS ? algorithms[i]->name : NULL;
}

size_t conv_reserve(conv_plan *p, size_t count, size_t size)
{
    return reserve_bytes(&p->bytes, count, size);
}

ssm2d_status conv_plan_draft(const conv_problem *problem, const char *algorithm, conv_plan **out,
                             ssm2d_error *error)
{
    const conv_algorithm *a = NULL;
    *out = NULL;
    for (int i = 0; i < ALGORITHMS; i++)
        if (!strcmp(algorithms[i]->name, algorithm)) a = algorithms[i];
    if (!a)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "algorithm=%s: unknown algorithm of the convolution", algorithm);
    conv_plan *p = mem_alloc(problem->context, sizeof *p);
    void *own = p ? mem_alloc(problem->context, a->own_size) : NULL;
    if (!own) {
        mem_free(problem->context, p);
        return fail_memory(error, "plan");
    }
    p->problem = *problem;
    p->algorithm = a;
    p->simd = simd_for(problem->context->cpu);
    p->lanes = p->simd->lanes;
    p->vectors = div_up(problem->channels, p->lanes);
    p->layout = (two_sided){problem->trunc_rows, problem->trunc_cols, p->lanes};
    p->own = own;
    a->plan(p);
    *out = p;
    return SSM2D_OK;
}

ssm2d_status conv_plan_finish(conv_plan *p, ssm2d_error *error)
{
    return p->algorithm->finish ? p->algorithm->finish(p, error) : SSM2D_OK;
}

void conv_plan_destroy(conv_plan *p)
{
    if (!p) return;
    if (p->algorithm->release) p->algorithm->release(p);
    const ssm2d_context *context = p->problem.context;
    mem_free(context, p->own);
    mem_free(context, p);
}

double conv_plan_cost(const conv_plan *p) { return p->algorithm->cost(p); }
int conv_plan_error_of_largest(const conv_plan *p) { return p->algorithm->error_of_largest; }
size_t conv_plan_bytes(const conv_plan *p) { return p->bytes; }
const two_sided *conv_plan_layout(const conv_plan *p) { return &p->layout; }

void conv_prepare(const conv_plan *p, void *memory, const real *k2)
{
    p->algorithm->prepare(p, memory, k2);
}

void conv_apply(const conv_plan *p, void *memory, const real *u, const real *bias, real *y)
{
    p->algorithm->apply(p, memory, u, bias, y);
}

void conv_backward(const conv_plan *p, void *memory, const real *k2, const real *u, const real *dy,
                   real *du, real *dk2)
{
    p->algorithm->backward(p, memory, k2, u, dy, du, dk2);
}
