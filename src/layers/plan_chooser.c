/* plan_chooser - chooses the algorithm for a request by estimated or measured cost. A draft is a
 * plan that knows its workspace and cost but has no tables yet. */
#include "core/clock.h"
#include "core/reserve.h"
#include "core/status.h"
#include "core/wisdom.h"
#include "layers/layer_kind.h"

#include <assert.h>
#include <string.h>

/* Candidates whose estimate exceeds the cheapest by this factor are not measured: it would take
 * long and not change the choice. */
enum { HOPELESS = 10 };

static const double NEVER = 1e300; /* cost of a rejected candidate */

enum { CANDIDATES = 4 }; /* largest number of algorithms of a kind */

/* The remaining candidates with their estimated or measured cost. */
typedef struct candidates {
    int count;
    ssm2d_plan *draft[CANDIDATES];
    double cost[CANDIDATES];
    int short_of_memory; /* a candidate could not be measured: out of memory */
} candidates;

/* Arrays to measure a plan with. u, du, y and dy point to the first cell. */
typedef struct measure_arrays {
    void *params, *dparams, *u, *du, *y, *dy;
} measure_arrays;

/* Refuses a workspace whose size overflows or exceeds max_bytes. */
static ssm2d_status check_bytes(const ssm2d_plan *p, ssm2d_error *error)
{
    const ssm2d_plan_options *o = &p->options;
    if (p->bytes == SIZE_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "rows=%d, cols=%d: algorithm %s needs a workspace of more than SIZE_MAX bytes",
                    p->rows, p->cols, p->algorithm);
    if (o->max_bytes && p->bytes > o->max_bytes)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "max_bytes=%zu: algorithm %s needs a workspace of %zu bytes", o->max_bytes,
                    p->algorithm, p->bytes);
    return SSM2D_OK;
}

/* Creates a draft with algorithm i. */
static ssm2d_status make_draft(const ssm2d_plan *request, int i, ssm2d_plan **out,
                               ssm2d_error *error)
{
    ssm2d_plan *p = mem_alloc(request->context, request->kind->plan_size);
    if (!p) return fail_memory(error, "plan");
    memcpy(p, request, request->kind->plan_size);
    p->algorithm = p->functions->algorithm(i);
    ssm2d_status status = p->functions->plan(p, i, error);
    if (!status) status = check_bytes(p, error);
    if (status)
        ssm2d_plan_destroy(p);
    else
        *out = p;
    return status;
}

static ssm2d_status finish(ssm2d_plan *p, ssm2d_error *error)
{
    return p->functions->finish ? p->functions->finish(p, error) : SSM2D_OK;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* *memory receives the block that holds all arrays. params: number of parameters. */
static ssm2d_status make_arrays(const ssm2d_plan *r, size_t params, measure_arrays *a,
                                void **memory, ssm2d_error *error)
{
    const ssm2d_plan_options *o = &r->options;
    const size_t n_in = plan_options_extent(o, r->channels, o->in);
    const size_t n_out = plan_options_extent(o, r->channels, o->out);
    const size_t size = r->functions->size;
    const size_t back = !o->inference; /* inference needs no gradients */
    const size_t counts[] = {params, back * params, n_in, back * n_in, n_out, back * n_out};
    size_t bytes = 0, at[6];
    for (int i = 0; i < 6; i++) at[i] = reserve_bytes(&bytes, counts[i], size);
    if (bytes == SIZE_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "measure=1: arrays with these strides are larger than can be counted; use "
                    "measure 0");
    char *block = mem_alloc(r->context, bytes);
    if (!block)
        return fail_memory(error, "measure=1: %zu bytes of arrays to measure with; use measure 0",
                           bytes);
    const size_t in = size * plan_options_origin(o, r->channels, o->in);
    const size_t out = size * plan_options_origin(o, r->channels, o->out);
    *a = (measure_arrays){.params = block + at[0],
                          .dparams = block + at[1],
                          .u = block + at[2] + in,
                          .du = block + at[3] + back * in,
                          .y = block + at[4] + out,
                          .dy = block + at[5] + back * out};
    *memory = block;
    return SSM2D_OK;
}

/* Values of the magnitude of initial parameters; the time does not depend on them. */
static void fill_params(const ssm2d_plan *r, size_t params, void *values)
{
    rng random = rng_seed(1);
    for (size_t i = 0; i < params; i++) {
        const double value = rng_uniform(&random, -0.5, 0.5);
        if (r->options.type == SSM2D_DOUBLE)
            ((double *)values)[i] = value;
        else
            ((float *)values)[i] = (float)value;
    }
}

/* Seconds of one execution, the minimum of three. */
static ssm2d_status measure(ssm2d_plan *p, const measure_arrays *a, double *seconds,
                            ssm2d_error *error)
{
    ssm2d_workspace *workspace = NULL;
    ssm2d_status status = finish(p, error);
    if (!status) status = ssm2d_workspace_create(p, &workspace, error);
    if (status) return status;
    *seconds = NEVER;
    for (int round = 0; round < 3; round++) {
        const double start = clock_seconds();
        layer_forward(p, workspace, p->options.type, a->params, a->u, a->y);
        if (!p->options.inference)
            layer_backward(p, workspace, p->options.type, a->params, a->u, a->dy, a->du,
                           a->dparams);
        const double time = clock_seconds() - start;
        if (time < *seconds) *seconds = time;
    }
    ssm2d_workspace_destroy(workspace);
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

/* Replaces estimated costs by measured ones, in seconds. A candidate whose tables or workspace
 * cannot be allocated is rejected; a hopeless one is used only if all others were rejected. Fails
 * with out of memory if no candidate could be allocated. */
static ssm2d_status measure_all(const ssm2d_plan *r, size_t params, candidates *c,
                                ssm2d_error *error)
{
    const double hopeless = HOPELESS * lowest_cost(c);
    double estimate[CANDIDATES];
    measure_arrays arrays = {0};
    void *memory = NULL;
    ssm2d_status status = make_arrays(r, params, &arrays, &memory, error);
    if (status) return status;
    fill_params(r, params, arrays.params);
    for (int i = 0; i < c->count; i++) {
        estimate[i] = c->cost[i];
        c->cost[i] = NEVER;
    }
    for (int last = 0; last < 2 && lowest_cost(c) == NEVER; last++)
        for (int i = 0; i < c->count && may_go_on(status); i++)
            if ((estimate[i] > hopeless) == last) {
                status = measure(c->draft[i], &arrays, &c->cost[i], error);
                c->short_of_memory |= status == SSM2D_ERROR_MEMORY;
            }
    mem_free(r->context, memory);
    return lowest_cost(c) < NEVER && may_go_on(status) ? SSM2D_OK : status;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Creates a draft that `auto` may choose. */
static ssm2d_status make_auto_draft(const ssm2d_plan *r, int i, ssm2d_plan **draft,
                                    ssm2d_error *error)
{
    ssm2d_status status = make_draft(r, i, draft, error);
    if (status || !r->functions->auto_check) return status;
    status = r->functions->auto_check(*draft, error);
    if (status) ssm2d_plan_destroy(*draft);
    return status;
}

/* Drafts all algorithms, or only the one named `only`. Refused algorithms are left out; if all are
 * refused, the error is that of the last. */
static ssm2d_status draft_all(const ssm2d_plan *r, const char *only, candidates *c,
                              ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; r->functions->algorithm(i); i++) {
        ssm2d_plan *draft;
        assert(i < CANDIDATES);
        if (only && strcmp(only, r->functions->algorithm(i))) continue;
        status = make_auto_draft(r, i, &draft, error);
        if (status == SSM2D_ERROR_MEMORY) return status;
        if (status) continue;
        c->cost[c->count] = r->functions->cost(draft);
        c->draft[c->count++] = draft;
    }
    return c->count ? SSM2D_OK : status;
}

/* Drafts the algorithm that wisdom knows for the request, measured or imported; if there is none or
 * it is refused, drafts all. known: whether it came from wisdom. */
static ssm2d_status draft(const ssm2d_plan *r, const char *request, candidates *c, int *known,
                          ssm2d_error *error)
{
    char name[WISDOM_NAME];
    *known = r->options.measure && wisdom_find(r->context, request, name);
    if (!*known) return draft_all(r, NULL, c, error);
    const ssm2d_status status = draft_all(r, name, c, error);
    *known = c->count > 0;
    return status && status != SSM2D_ERROR_MEMORY ? draft_all(r, NULL, c, error) : status;
}

/* Chooses the candidate with the lowest estimated or measured cost. */
static ssm2d_status choose_cheapest(const ssm2d_plan *r, const ssm2d_layer *layer,
                                    ssm2d_plan **plan, ssm2d_error *error)
{
    candidates c = {.count = 0};
    ssm2d_error reason;
    char request[WISDOM_LINE];
    int known;
    if (r->options.measure) layer_wisdom_request(r, layer, request);
    ssm2d_status status = draft(r, request, &c, &known, &reason);
    const int measures = r->options.measure && !known;
    if (!status && measures) status = measure_all(r, ssm2d_layer_param_count(layer), &c, &reason);
    const double cost = lowest_cost(&c);
    ssm2d_plan *best = NULL;
    for (int i = 0; i < c.count; i++)
        if (!status && !best && c.cost[i] == cost)
            best = c.draft[i];
        else
            ssm2d_plan_destroy(c.draft[i]);
    if (!status && !measures) status = finish(best, &reason);
    if (!status && measures && !c.short_of_memory)
        status = wisdom_add(r->context, request, best->algorithm, &reason);
    if (status) ssm2d_plan_destroy(best);
    if (!status)
        *plan = best;
    else if (error) /* only now: the caller's error stays unchanged on success */
        *error = reason;
    return status;
}

/* Creates the plan with the algorithm that the caller named. */
static ssm2d_status choose_named(const ssm2d_plan *r, ssm2d_plan **plan, ssm2d_error *error)
{
    const char *name;
    char names[128] = "auto";
    for (int i = 0; (name = r->functions->algorithm(i)); i++) {
        if (!strcmp(name, r->options.algorithm)) {
            ssm2d_plan *draft;
            ssm2d_status status = make_draft(r, i, &draft, error);
            if (status) return status;
            status = finish(draft, error);
            if (status)
                ssm2d_plan_destroy(draft);
            else
                *plan = draft;
            return status;
        }
        strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, name, sizeof names - strlen(names) - 1);
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "algorithm=%s: %s has %s", r->options.algorithm,
                r->kind->name, names);
}

ssm2d_status plan_choose(const ssm2d_plan *r, const ssm2d_layer *layer, ssm2d_plan **plan,
                         ssm2d_error *error)
{
    const char *name = r->options.algorithm;
    return name && strcmp(name, "auto") ? choose_named(r, plan, error)
                                        : choose_cheapest(r, layer, plan, error);
}
