/* ssm2d layer - runs a single layer on arrays in files: forward, all gradients, and a comparison
 * with expected results. */
#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/text.h"
#include "layer_case.h"
#include "tools/command.h"
#include "tools/written.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *folder, *out, *algo, *precision;
    int check, allow_nonfinite;
} values;

/* `auto`, then every algorithm of any kind, once. */
static const char *algorithm_at(int i)
{
    const char *seen[16] = {"auto"}, *name;
    int count = 1;
    for (int k = 0; ssm2d_kind_name(k); k++)
        for (int a = 0; (name = ssm2d_kind_algorithm(ssm2d_kind_name(k), a)); a++) {
            int known = 0;
            for (int s = 0; s < count; s++) known |= !strcmp(seen[s], name);
            if (!known && count < 16) seen[count++] = name;
        }
    return i < count ? seen[i] : NULL;
}

static const char *precision_at(int i)
{
    static const char *const names[] = {"float", "double", NULL};
    return names[i];
}

static const option options[] = {
    {"CASE_DIR", OPTION_STRING, offsetof(values, folder), "folder with case.json and the arrays",
     .positional = 1},
    {"out", OPTION_STRING, offsetof(values, out),
     "folder to write the results to; created if it does not exist", .value = "DIR", .letter = 'o'},
    {"algo", OPTION_CHOICE, offsetof(values, algo), "algorithm", .default_value = "auto",
     .choice = algorithm_at},
    {"precision", OPTION_CHOICE, offsetof(values, precision), "floating-point type",
     .default_value = "double", .value = "TYPE", .choice = precision_at},
    {"check", OPTION_FLAG, offsetof(values, check),
     .help = "compare with the expected arrays in CASE_DIR"},
    {"allow_nonfinite", OPTION_FLAG, offsetof(values, allow_nonfinite),
     .help = "accept and write values that are infinite or NaN"},
    {0}};

/* An array of results, of the job's type. */
typedef struct result {
    char name[32];
    int rank;
    size_t shape[SSM2D_PARAM_RANK], count;
    void *data;
} result;

enum { MAX_RESULTS = LAYER_ARRAYS + 4 }; /* K, dK, y and du, and a gradient of each array */

typedef struct job {
    ssm2d_context *context;
    const values *options;
    layer_case input;
    ssm2d_type type;
    size_t element_size; /* bytes of one element */
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    void *params, *u, *dy, *dparams;
    result results[MAX_RESULTS];
    int count, owned; /* the first `owned` results own their data; the others point to dparams */
} job;

/* Returns a copy of n doubles in the job's type, or zeros if from is NULL; NULL if out of
 * memory. */
static void *typed(const job *j, const double *from, size_t n)
{
    void *copy = mem_alloc(j->context, n * j->element_size);
    if (!copy || !from) return copy;
    for (size_t i = 0; i < n; i++) {
        if (j->type == SSM2D_DOUBLE)
            ((double *)copy)[i] = from[i];
        else
            ((float *)copy)[i] = (float)from[i];
    }
    return copy;
}

static double element(const job *j, const void *data, size_t i)
{
    return j->type == SSM2D_DOUBLE ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static result *add_result(job *j, const char *prefix, const char *name, int rank,
                          const size_t *shape, void *data)
{
    result *r = &j->results[j->count++];
    snprintf(r->name, sizeof r->name, "%s%s", prefix, name);
    r->rank = rank;
    r->count = 1;
    for (int i = 0; i < rank; i++) r->count *= r->shape[i] = shape[i];
    r->data = data;
    return r;
}

/* Refuses an array that is not finite, unless --allow-nonfinite is given. A value that is finite in
 * a file may be too large for a float. */
static ssm2d_status check_finite(const job *j, const char *name, const void *data, size_t count,
                                 ssm2d_error *error)
{
    if (j->options->allow_nonfinite) return SSM2D_OK;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(element(j, data, i)))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: %s[%zu] is %g: nothing was written; --allow-nonfinite writes it",
                        text_path(j->options->folder), name, i, element(j, data, i));
    return SSM2D_OK;
}

static size_t product(int rank, const size_t *shape)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= shape[i];
    return count;
}

static ssm2d_status no_memory(const job *j, ssm2d_error *error)
{
    return fail_memory(error, "%s: arrays", text_path(j->input.folder));
}

/* Adds dK, computed by its definition in double; for the 2-D SSM only. */
static ssm2d_status add_dkernel(job *j, int rank, const size_t *shape, ssm2d_error *error)
{
    if (j->input.layer.kind != &layer_ssm2d) return SSM2D_OK;
    const size_t count = product(rank, shape);
    double *dkernel = mem_alloc(j->context, count * sizeof *dkernel);
    if (!dkernel) return no_memory(j, error);
    ssm2d_status status = layer_dkernel(j->context, &j->input, dkernel, error);
    if (!status && !add_result(j, "d", "K", rank, shape, typed(j, dkernel, count))->data)
        status = no_memory(j, error);
    mem_free(j->context, dkernel);
    return status;
}

static ssm2d_status make_plan(job *j, ssm2d_error *error)
{
    size_t shape[4];
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = j->input.batch;
    o.grid = j->input.grid;
    o.type = j->type;
    o.algorithm = j->options->algo;
    layer_case_grid(&j->input, shape, &o.in);
    o.out = o.in;
    ssm2d_status status = ssm2d_plan_create(j->context, &j->input.layer, &o, &j->plan, error);
    return status ? status : ssm2d_workspace_create(j->plan, &j->workspace, error);
}

static ssm2d_status compute(job *j, ssm2d_error *error)
{
    const layer_case *c = &j->input;
    ssm2d_strides strides;
    size_t kernel_shape[SSM2D_KERNEL_RANK], grid_shape[4];
    const int grid_rank = layer_case_grid(c, grid_shape, &strides);
    ssm2d_param a;
    ssm2d_error why;
    ssm2d_status status;

    j->params = typed(j, c->params, c->params_count);
    j->u = typed(j, c->u, c->grid_count);
    j->dy = typed(j, c->dy, c->grid_count);
    j->dparams = typed(j, NULL, c->params_count);
    if (!j->params || !j->u || !j->dy || !j->dparams) return no_memory(j, error);
    if ((status = layer_params_check(&c->layer, j->type, j->params, &why)))
        return fail(error, status, "%s: %s", text_path(c->folder), why.line);
    if ((status = check_finite(j, "u", j->u, c->grid_count, error))) return status;
    if ((status = check_finite(j, "dy", j->dy, c->grid_count, error))) return status;
    if ((status = make_plan(j, error))) return status;
    const int kernel_rank = ssm2d_kernel_shape(j->plan, kernel_shape);
    void *kernel = NULL;
    if (kernel_rank) {
        kernel = typed(j, NULL, product(kernel_rank, kernel_shape));
        add_result(j, "", "K", kernel_rank, kernel_shape, kernel);
    }
    void *y = add_result(j, "", "y", grid_rank, grid_shape, typed(j, NULL, c->grid_count))->data;
    void *du = add_result(j, "", "du", grid_rank, grid_shape, typed(j, NULL, c->grid_count))->data;
    if ((kernel_rank && !kernel) || !y || !du) return no_memory(j, error);
    if (kernel) layer_kernel(j->plan, j->workspace, j->type, j->params, kernel);
    layer_forward(j->plan, j->workspace, j->type, j->params, j->u, y);
    layer_backward(j->plan, j->workspace, j->type, j->params, j->u, j->dy, du, j->dparams);
    if (kernel) status = add_dkernel(j, kernel_rank, kernel_shape, error);
    j->owned = j->count;
    for (int i = 0; !status && layer_case_param(c, i, &a); i++)
        add_result(j, "d", a.name, a.rank, a.shape,
                   (char *)j->dparams + a.offset * j->element_size);
    for (int i = 0; i < j->count && !status; i++)
        status =
            check_finite(j, j->results[i].name, j->results[i].data, j->results[i].count, error);
    return status;
}

static ssm2d_status write_results(const job *j, ssm2d_error *error)
{
    char path[4096];
    ssm2d_status status = folder_make(j->options->out, error);
    for (int i = 0; i < j->count && !status; i++) {
        const result *r = &j->results[i];
        if (snprintf(path, sizeof path, "%s/%s.npy", j->options->out, r->name) >= (int)sizeof path)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long",
                        text_path(j->options->out));
        status = npy_write(j->context, path, j->type == SSM2D_DOUBLE ? NPY_FLOAT64 : NPY_FLOAT32,
                           r->rank, r->shape, r->data, error);
    }
    if (!status) written_print(j->options->out, "%d arrays", j->count);
    return status;
}

/* Compares one array with the expected one and prints a line; *beyond counts failures. */
static ssm2d_status check_result(const job *j, const result *r, int *beyond, ssm2d_error *error)
{
    double tolerance = j->type == SSM2D_DOUBLE ? 1e-11 : 3e-5, largest = 0, difference = 0;
    char shape[96];
    npy_array expected;
    ssm2d_status status =
        layer_case_array(j->context, j->input.folder, r->name, r->rank, r->shape, &expected, error);
    if (status) return status;
    double *reference = mem_alloc(j->context, r->count * sizeof *reference);
    if (!reference) {
        npy_free(j->context, &expected);
        return fail_memory(error, "%s: comparing %s", text_path(j->input.folder), r->name);
    }
    npy_to_double(&expected, reference);
    npy_free(j->context, &expected);
    for (size_t i = 0; i < r->count; i++) {
        double d = fabs(element(j, r->data, i) - reference[i]);
        largest = fmax(largest, fabs(reference[i]));
        if (!(d <= difference)) difference = d; /* a NaN, too, which ends the loop */
        if (isnan(difference)) break;
    }
    mem_free(j->context, reference);
    /* for an array of zeros the difference is absolute */
    double relative = largest > 0 ? difference / largest : difference;
    int good = relative <= tolerance;
    *beyond += !good;
    printf("%-10s %-18s largest %.3e  error %.2e  tolerance %.0e  %s\n", r->name,
           npy_shape_text(r->rank, r->shape, shape, sizeof shape), largest, relative, tolerance,
           good ? "ok" : "FAIL");
    return SSM2D_OK;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (!o->out && !o->check)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "give --out DIR to write the results, or --check, or both");
    if (o->out && file_is_same(o->out, o->folder))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--out %s: is the folder of the case, whose arrays would be replaced: use "
                    "another folder",
                    text_path(o->out));
    return SSM2D_OK;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    job j = {.context = context, .options = v};
    int beyond = 0;
    j.type = strcmp(j.options->precision, "float") ? SSM2D_DOUBLE : SSM2D_FLOAT;
    j.element_size = j.type == SSM2D_FLOAT ? sizeof(float) : sizeof(double);
    ssm2d_status status = layer_case_read(context, j.options->folder, &j.input, error);
    if (!status) status = compute(&j, error);
    for (int i = 0; i < j.count && !status && j.options->check; i++)
        status = check_result(&j, &j.results[i], &beyond, error);
    if (!status && j.options->out) status = write_results(&j, error);
    if (!status && beyond)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: %d of %d arrays are beyond tolerance",
                      text_path(j.options->folder), beyond, j.count);
    for (int i = 0; i < (j.owned ? j.owned : j.count); i++) mem_free(context, j.results[i].data);
    mem_free(context, j.params);
    mem_free(context, j.u);
    mem_free(context, j.dy);
    mem_free(context, j.dparams);
    ssm2d_workspace_destroy(j.workspace);
    ssm2d_plan_destroy(j.plan);
    layer_case_free(context, &j.input);
    return status;
}

static const char about[] =
    "Runs one case of a layer. CASE_DIR/case.json has the configuration and the \"kind\" of layer, "
    "see "
    "docs/layers.md. There is one .npy file per parameter (D of ssm2d is omega.npy); u.npy is "
    "the input and dy.npy the gradient of the loss with respect to the output, both (batch, "
    "channels, rows, columns), or for ema (cells, batch, channels).\n"
    "\n"
    "Writes to DIR: K, the kernels; y, the output; and the gradients du, d<name> for every "
    "parameter, and for ssm2d dK. Kernels are (directions, channels, rows, columns) for ssm2d, "
    "(systems, row offsets, column offsets) for s4nd, and (channels, cells) for ema, twice as many "
    "channels when it is bidirectional.\n"
    "\n"
    "--check prints one line per array, and fails when an array differs from the expected one "
    "in CASE_DIR by more than 1e-11 (double) or 3e-5 (float) of its largest value.\n"
    "\n"
    "Parameters must be finite. When an input or a result is infinite or NaN, nothing "
    "is written and the command fails, unless --allow-nonfinite is given.";

const command command_layer = {"layer",
                               "run a single layer on arrays in files: results, gradients",
                               about,
                               options,
                               check_values,
                               run,
                               0};
