/* embed - the 2-D SSM layer in a program of your own: forward, backward, and the same layer row by
 * row.
 *
 * Valid as C and as C++. Prints a short result, and exits with 0 when its checks hold. */
#include <ssm2d.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, ROWS = 6, COLS = 5, CHANNELS = 8, COUNT = BATCH * ROWS * COLS * CHANNELS };

static float u[COUNT], y[COUNT], dy[COUNT], du[COUNT]; /* [batch][row][col][channel] */

/* Ends the program with a message unless the status is SSM2D_OK. */
static void must(ssm2d_status status, const ssm2d_error *error)
{
    if (status == SSM2D_OK) return;
    fprintf(stderr, "%s\n", error->line);
    exit(1);
}

/* Pushes the rows of u one after the other; returns the largest difference from y. A stream needs
 * memory for one row of states only. */
static float run_stream(ssm2d_context *context, const ssm2d_layer *layer, const float *params)
{
    ssm2d_error error;
    ssm2d_stream *stream = NULL;
    must(ssm2d_stream_create(context, layer, BATCH, COLS, params, &stream, &error), &error);
    float in[BATCH * COLS * CHANNELS], out[BATCH * COLS * CHANNELS], worst = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int k = 0; k < BATCH * COLS * CHANNELS; k++) {
            int b = k / (COLS * CHANNELS), rest = k % (COLS * CHANNELS);
            in[k] = u[(b * ROWS + row) * COLS * CHANNELS + rest];
        }
        ssm2d_stream_push(stream, in, out);
        for (int k = 0; k < BATCH * COLS * CHANNELS; k++) {
            int b = k / (COLS * CHANNELS), rest = k % (COLS * CHANNELS);
            float difference = fabsf(out[k] - y[(b * ROWS + row) * COLS * CHANNELS + rest]);
            if (!(difference <= worst)) worst = difference;
        }
    }
    ssm2d_stream_destroy(stream);
    return worst;
}

int main(void)
{
    ssm2d_error error;
    ssm2d_context *context = NULL;
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    ssm2d_layer *layer = NULL;

    /* pair=columns: no direction depends on later rows, so that rows can be streamed */
    const char *settings = "channels=8 directions=2 pair=columns init=authors";
    ssm2d_plan_options options = ssm2d_plan_options_default();
    options.batch = BATCH;
    options.grid = ssm2d_grid_2d(ROWS, COLS);
    must(ssm2d_context_create(NULL, &context, &error), &error);
    must(ssm2d_layer_create(context, "ssm2d", settings, &layer, &error), &error);
    must(ssm2d_plan_create(context, layer, &options, &plan, &error), &error);
    must(ssm2d_workspace_create(plan, &workspace, &error), &error);

    size_t total = ssm2d_layer_param_count(layer);
    float *params = (float *)calloc(total, sizeof *params),
          *dparams = (float *)calloc(total, sizeof *dparams);
    if (!params || !dparams) return 1;
    must(ssm2d_params_init(layer, 42, params, &error), &error);
    for (int k = 0; k < COUNT; k++) {
        u[k] = sinf(0.7f * (float)k);
        dy[k] = cosf(0.3f * (float)k);
    }

    ssm2d_forward(plan, workspace, params, u, y);
    /* backward adds to du and dparams, which are zero here */
    ssm2d_backward(plan, workspace, params, u, dy, du, dparams);

    /* Without LayerNorm y is linear in u, so that <dy, y> = <du, u>. */
    double left = 0, right = 0, size = 0, norm2 = 0; /* norm2: of dparams, squared */
    for (int k = 0; k < COUNT; k++) {
        left += (double)dy[k] * y[k];
        right += (double)du[k] * u[k];
        size += fabs((double)dy[k] * y[k]);
    }
    for (size_t k = 0; k < total; k++) norm2 += (double)dparams[k] * dparams[k];
    float worst = run_stream(context, layer, params);

    printf("ssm2d %s, %zu parameters, algorithm %s, %s\n", ssm2d_version(), total,
           ssm2d_plan_algorithm(plan), ssm2d_context_cpu(context));
    printf("<dy, y> = %.6f   <du, u> = %.6f   |dparams| = %.6f\n", left, right, sqrt(norm2));
    printf("stream against plan: largest difference %.1e\n", worst);
    int good = size > 0 && fabs(left - right) <= 1e-5 * size && worst <= 1e-4f && norm2 > 0;
    puts(good ? "checks passed" : "CHECKS FAILED");

    free(params);
    free(dparams);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    ssm2d_layer_destroy(layer);
    ssm2d_context_destroy(context);
    return good ? 0 : 1;
}
