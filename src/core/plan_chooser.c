#include "core/plan_chooser.h"

#include "core/clock.h"
#include "core/plan_options.h"
#include "core/reserve.h"
#include "core/status.h"

#include <assert.h>
#include <string.h>

/* Candidates whose estimate is so many times that of the cheapest are not measured: that would take
 * long and change nothing. */
enum { HOPELESS = 10 };

static const double NEVER = 1e300; /* the cost of a candidate that is not taken */

/* The candidates that are left, with their estimated or measured cost. */
typedef struct candidates {
    int count;
    void *draft[PLAN_CANDIDATES];
    double cost[PLAN_CANDIDATES];
} candidates;

ssm2d_status plan_bytes_check(const ssm2d_plan_options *o, const char *algorithm, size_t bytes,
                              ssm2d_error *error)
{
    if (bytes == SIZE_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "rows=%zu, cols=%zu: algorithm %s needs more memory than can be counted",
                    o->rows, o->cols, algorithm);
    if (o->max_bytes && bytes > o->max_bytes)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "max_bytes=%zu: algorithm %s needs a workspace of %zu bytes", o->max_bytes,
                    algorithm, bytes);
    return SSM2D_OK;
}

static void *draft_at(const plan_request *r, void *drafts, int i)
{
    return (char *)drafts + (size_t)i * r->functions->plan_size;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* *memory becomes the block that holds all of them. */
static ssm2d_status arrays_make(const plan_request *r, plan_arrays *a, void **memory,
                                ssm2d_error *error)
{
    const ssm2d_plan_options *o = r->options;
    const size_t n_in = plan_options_extent(o, r->channels, o->in);
    const size_t n_out = plan_options_extent(o, r->channels, o->out);
    const size_t back = !o->inference; /* gradients are for backward alone */
    const size_t counts[] = {r->params, back * r->params, n_in, back * n_in, n_out, back * n_out};
    size_t bytes = 0, at[6];
    for (int i = 0; i < 6; i++) at[i] = reserve_bytes(&bytes, counts[i], r->number_size);
    if (bytes == SIZE_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "measure=1: arrays with these strides are larger than can be counted; use "
                    "measure 0");
    char *block = mem_alloc(r->context, bytes);
    if (!block)
        return fail(error, SSM2D_ERROR_MEMORY,
                    "measure=1: no memory for the %zu bytes of arrays to measure with; use "
                    "measure 0",
                    bytes);
    const size_t in = r->number_size * plan_options_origin(o, r->channels, o->in);
    const size_t out = r->number_size * plan_options_origin(o, r->channels, o->out);
    *a = (plan_arrays){.params = block + at[0],
                       .dparams = block + at[1],
                       .u = block + at[2] + in,
                       .du = block + at[3] + back * in,
                       .y = block + at[4] + out,
                       .dy = block + at[5] + back * out};
    *memory = block;
    return SSM2D_OK;
}

/* Seconds of one execution, the best of three. */
static ssm2d_status measure(const plan_request *r, void *draft, const plan_arrays *a,
                            double *seconds, ssm2d_error *error)
{
    const plan_functions *f = r->functions;
    void *workspace = NULL;
    ssm2d_status status = f->finish(draft, error);
    if (!status) status = f->workspace_create(draft, &workspace, error);
    if (status) return status;
    *seconds = NEVER;
    for (int round = 0; round < 3; round++) {
        const double start = clock_seconds();
        f->execute(draft, workspace, a);
        const double time = clock_seconds() - start;
        if (time < *seconds) *seconds = time;
    }
    f->workspace_destroy(workspace);
    return SSM2D_OK;
}

static double lowest_cost(const candidates *c)
{
    double cost = NEVER;
    for (int i = 0; i < c->count; i++)
        if (c->cost[i] < cost) cost = c->cost[i];
    return cost;
}

static int may_go_on(ssm2d_status status) { return !status || status == SSM2D_ERROR_MEMORY; }

/* Puts measured costs, in seconds, in the place of estimated ones. A candidate for whose tables or
 * workspace there is no memory is not taken, and those that are hopeless only if none of the others
 * is; when there is no memory for any, that is the reason. */
static ssm2d_status measure_all(const plan_request *r, candidates *c, ssm2d_error *error)
{
    const double hopeless = HOPELESS * lowest_cost(c);
    double estimate[PLAN_CANDIDATES];
    plan_arrays arrays;
    void *memory = NULL;
    ssm2d_status status = arrays_make(r, &arrays, &memory, error);
    if (status) return status;
    for (int i = 0; i < c->count; i++) {
        estimate[i] = c->cost[i];
        c->cost[i] = NEVER;
    }
    status = r->functions->params_init(r->request, arrays.params, error);
    for (int last = 0; last < 2 && lowest_cost(c) == NEVER; last++)
        for (int i = 0; i < c->count && may_go_on(status); i++)
            if ((estimate[i] > hopeless) == last)
                status = measure(r, c->draft[i], &arrays, &c->cost[i], error);
    mem_free(r->context, memory);
    return lowest_cost(c) < NEVER && may_go_on(status) ? SSM2D_OK : status;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* A draft for `auto`. */
static ssm2d_status draft_auto(const plan_request *r, int i, void *draft, ssm2d_error *error)
{
    const plan_functions *f = r->functions;
    ssm2d_status status = f->draft(r->request, i, draft, error);
    if (status || !f->auto_check) return status;
    status = f->auto_check(draft, error);
    if (status) f->release(draft);
    return status;
}

/* Drafts every algorithm. Those that are refused are left out; when all are, the last one's reason
 * is given. */
static ssm2d_status draft_all(const plan_request *r, void *drafts, candidates *c,
                              ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; r->functions->algorithm(r->request, i); i++) {
        assert(i < PLAN_CANDIDATES);
        void *draft = draft_at(r, drafts, i);
        status = draft_auto(r, i, draft, error);
        if (status == SSM2D_ERROR_MEMORY) return status;
        if (status) continue;
        c->cost[c->count] = r->functions->cost(draft);
        c->draft[c->count++] = draft;
    }
    return c->count ? SSM2D_OK : status;
}

/* The candidate with the least estimated, or measured, cost. */
static ssm2d_status choose_cheapest(const plan_request *r, void *drafts, void **plan,
                                    ssm2d_error *error)
{
    const plan_functions *f = r->functions;
    candidates c = {.count = 0};
    ssm2d_error reason;
    ssm2d_status status = draft_all(r, drafts, &c, &reason);
    if (!status && r->options->measure) status = measure_all(r, &c, &reason);
    const double cost = lowest_cost(&c);
    void *best = NULL;
    for (int i = 0; i < c.count; i++)
        if (!status && !best && c.cost[i] == cost)
            best = c.draft[i];
        else
            f->release(c.draft[i]);
    if (!status && !r->options->measure) {
        status = f->finish(best, &reason);
        if (status) f->release(best);
    }
    if (!status)
        *plan = best;
    else if (error) /* not before: a refusal that does not matter leaves the line as it was */
        *error = reason;
    return status;
}

/* The plan with the algorithm that the caller names. */
static ssm2d_status choose_named(const plan_request *r, void *draft, void **plan,
                                 ssm2d_error *error)
{
    const plan_functions *f = r->functions;
    const char *name;
    char names[128] = "auto";
    for (int i = 0; (name = f->algorithm(r->request, i)); i++) {
        if (!strcmp(name, r->options->algorithm)) {
            ssm2d_status status = f->draft(r->request, i, draft, error);
            if (status) return status;
            status = f->finish(draft, error);
            if (status)
                f->release(draft);
            else
                *plan = draft;
            return status;
        }
        strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, name, sizeof names - strlen(names) - 1);
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "algorithm=%s: %s has %s", r->options->algorithm,
                r->name, names);
}

ssm2d_status plan_choose(const plan_request *r, void *drafts, void **plan, ssm2d_error *error)
{
    const char *name = r->options->algorithm;
    return name && strcmp(name, "auto") ? choose_named(r, drafts, plan, error)
                                        : choose_cheapest(r, drafts, plan, error);
}
