/* test_export [FOLDER] - every operator of ops.def is exported to ONNX in each of its examples, or
 * refused by name. With FOLDER the files are kept there, with inputs and expected outputs, for
 * export_check.py: OP-VARIANT.onnx, OP-VARIANT.in.NAME.npy, OP-VARIANT.out.npy. */
#define _GNU_SOURCE /* mkdtemp */
#include "core/context.h"
#include "core/rng.h"
#include "export/onnx_graph.h"
#include "io/npy.h"
#include "op_examples.h"
#include "ops/ops.h"
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssm2d_context *context;
static ssm2d_error error;
static const char *folder; /* NULL: files are not kept */
static char own[64], path[512];

enum { NO_ONNX, ONNX };

static const struct {
    const char *name;
    int has_exporter;
} ops[] = {
#define OP(name, exported, ...) {#name, exported},
#include "ops/ops.def"
#undef OP
};

/* Some operators act only in training and do not occur in inference graphs. */
static int is_in(const graph *g, const char *name)
{
    for (int i = 0; i < g->node_count; i++)
        if (!strcmp(g->nodes[i]->op->name, name)) return 1;
    return 0;
}

static const char *in_folder(const char *name, int variant, const char *end)
{
    snprintf(path, sizeof path, "%s/%s-%d.%s", folder ? folder : own, name, variant, end);
    return path;
}

static void save(const char *name, int variant, const char *end, const tensor *t, const float *data)
{
    in_folder(name, variant, end);
    if (folder && npy_write(context, path, NPY_FLOAT32, t->rank, t->shape, data, &error))
        fail_msg("%s", error.line);
}

static ssm2d_status write_graph(const trial *t, const char *to)
{
    const onnx_output out = {"out", t->out};
    const onnx_file file = {.path = to, .name = "example", .outputs = 1, .output = &out};
    return onnx_graph_write(context, t->graph, t->params, &file, &error);
}

static void save_numbers(trial *t, const char *name, int variant)
{
    double *params = doubles(t->param_count), *out = doubles(t->out_count);
    rng r = rng_seed(9);
    for (size_t i = 0; i < t->param_count; i++) params[i] = (float)(0.8 * rng_normal(&r));
    trial_f32.run(t, params, NULL, out, NULL);
    const graph *g = t->graph;
    char end[128];
    save(name, variant, "out.npy", t->out, ((const tensor *)t->out)->data);
    for (int i = 0; i < g->tensor_count; i++) {
        const tensor *x = g->tensors[i];
        if (x->role != ROLE_INPUT) continue;
        snprintf(end, sizeof end, "in.%.90s.npy", x->name);
        save(name, variant, end, x, x->data);
    }
    free(params);
    free(out);
}

static void test_every_operator_is_exported_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const char *name = ops[i].name;
        for (int v = 0; v < trial_f32.variants(name); v++) {
            trial *t = trial_f32.open(context, name, v, INFERENCE);
            save_numbers(t, name, v);
            const ssm2d_status status = write_graph(t, in_folder(name, v, "onnx"));
            if (!ops[i].has_exporter && is_in(t->graph, name)) {
                assert_int_equal(status, SSM2D_ERROR_UNSUPPORTED);
                assert_non_null(strstr(error.line, name));
                assert_int_equal(access(path, F_OK), -1); /* no file */
            } else if (status) {
                fail_msg("%s, variant %d: %s", name, v, error.line);
            } else if (!folder) {
                assert_int_equal(unlink(path), 0);
            }
            trial_f32.close(t);
        }
    }
}

/* A training graph has random nodes, and BatchNorm with batch statistics. */
static void test_training_is_refused(void **state)
{
    (void)state;
    trial *t = trial_f32.open(context, "batch_norm", 0, OF_PARAMS);
    assert_int_equal(write_graph(t, in_folder("training", 0, "onnx")), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "training"));
    assert_int_equal(access(path, F_OK), -1);
    trial_f32.close(t);
}

static int setup(void **state)
{
    (void)state;
    /* in memory, if possible: files are synced */
    const char *where = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(own, sizeof own, "%s/ssm2d-export-XXXXXX", where);
    if (!folder && !mkdtemp(own)) return -1;
    return ssm2d_context_create(NULL, &context, NULL) ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    return folder ? 0 : rmdir(own); /* empty */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operator_is_exported_or_refused),
        cmocka_unit_test(test_training_is_refused),
    };
    folder = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, setup, teardown);
}
