/* examples/reference.c beside the library: kernels, forward and every gradient of the layer in
 * double; and the gradient of its network beside finite differences. SIZES are compiled in. */
#include <ssm2d.h>

int reference_main(void);
#define main reference_main
#include "../examples/reference.c"
#undef main

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const double TOLERANCE = 1e-12; /* relative to the largest element */

static void fill(double *x, size_t count, double deviation)
{
    for (size_t i = 0; i < count; i++) x[i] = uniform(deviation);
}

static void check_close(const char *what, const double *x, const double *reference, size_t count)
{
    double largest = 0, error = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(reference[i]));
        error = fmax(error, fabs(x[i] - reference[i]));
    }
    assert_true(largest > 0);
    if (!(error <= TOLERANCE * largest)) fail_msg("%s is off by %g of %g", what, error, largest);
}

typedef struct library {
    ssm2d_context *context;
    ssm2d_layer *layer;
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
} library;

static library library_open(const char *algorithm)
{
    library l = {0};
    ssm2d_error error;
    char settings[128];
    ssm2d_plan_options options = ssm2d_plan_options_default();
    options.grid = ssm2d_grid_2d(L1, L2);
    options.type = SSM2D_DOUBLE;
    options.algorithm = algorithm;
    snprintf(settings, sizeof settings, "channels=%d d_state=%d n_ssm=%d directions=%d", H, N, S,
             R);
    if (ssm2d_context_create(NULL, &l.context, &error)
        || ssm2d_layer_create(l.context, "ssm2d", settings, &l.layer, &error)
        || ssm2d_plan_create(l.context, l.layer, &options, &l.plan, &error)
        || ssm2d_workspace_create(l.plan, &l.workspace, &error))
        fail_msg("%s", error.line);
    return l;
}

static void library_close(library *l)
{
    ssm2d_workspace_destroy(l->workspace);
    ssm2d_plan_destroy(l->plan);
    ssm2d_layer_destroy(l->layer);
    ssm2d_context_destroy(l->context);
}

/* The same array of parameters, so that gradients are compared array by array at once. */
static void same_layer(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"direct", "fft", "scan"};
    static ssm p, dp, dp_library;
    static grid k[K], dk[K];
    static signal u, y, dy, du, y_library, du_library;
    static grid k_library[R][H];
    fill((double *)&p, sizeof p / sizeof(double), 1);
    fill(flat(u), VALUES, 1);
    fill(flat(dy), VALUES, 1);
    kernels(k, &p);
    layer(y, k, &p, u);
    memset(&dp, 0, sizeof dp);
    memset(dk, 0, sizeof dk);
    memset(du, 0, sizeof du);
    layer_back(du, dk, &dp, dy, k, &p, u);
    kernels_back(&dp, dk, &p);

    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        library l = library_open(algorithms[i]);
        const double *params = (const double *)&p;
        assert_int_equal(ssm2d_layer_param_count(l.layer), sizeof p / sizeof(double));
        memset(&dp_library, 0, sizeof dp);
        memset(du_library, 0, sizeof du);
        assert_int_equal(
            ssm2d_forward_double(l.plan, l.workspace, params, flat(u), flat(y_library)), SSM2D_OK);
        assert_int_equal(ssm2d_backward_double(l.plan, l.workspace, params, flat(u), flat(dy),
                                               flat(du_library), (double *)&dp_library),
                         SSM2D_OK);
        check_close("y", flat(y), flat(y_library), VALUES);
        check_close("du", flat(du), flat(du_library), VALUES);
        check_close("dA", &dp.A[0][0][0], &dp_library.A[0][0][0], 4 * K * N);
        check_close("dB", &dp.B[0][0][0], &dp_library.B[0][0][0], 2 * K * N);
        check_close("dC", &dp.C[0][0][0], &dp_library.C[0][0][0], 2 * K * N);
        check_close("dD", dp.D, dp_library.D, H);
        assert_int_equal(ssm2d_kernel_double(l.plan, l.workspace, params, &k_library[0][0][0][0]),
                         SSM2D_OK);
        for (int r = 0; r < R; r++)
            for (int h = 0; h < H; h++)
                check_close("kernel", &k[(h + r * S) % K][0][0], &k_library[r][h][0][0], CELLS);
        library_close(&l);
    }
}

static double network_loss(model *w, grid image, int label)
{
    int right;
    kernels(k1, &w->layer1);
    kernels(k2, &w->layer2);
    return loss_of(NULL, w, image, label, &right);
}

/* Central differences of every parameter; their error is about 1e-16 / step + step^2. */
static void network_gradient(void **state)
{
    (void)state;
    static model w, d;
    const double step = 1e-5;
    grid image;
    int right;
    init(&w);
    const int label = draw(image);
    memset(&d, 0, sizeof d);
    memset(dk1, 0, sizeof dk1);
    memset(dk2, 0, sizeof dk2);
    kernels(k1, &w.layer1);
    kernels(k2, &w.layer2);
    loss_of(&d, &w, image, label, &right);
    kernels_back(&d.layer1, dk1, &w.layer1);
    kernels_back(&d.layer2, dk2, &w.layer2);
    double *weight = (double *)&w, *slope = (double *)&d, largest = 0;
    for (int i = 0; i < PARAMETERS; i++) largest = fmax(largest, fabs(slope[i]));
    for (int i = 0; i < PARAMETERS; i++) {
        const double before = weight[i];
        weight[i] = before + step;
        const double above = network_loss(&w, image, label);
        weight[i] = before - step;
        const double below = network_loss(&w, image, label);
        weight[i] = before;
        const double expected = (above - below) / (2 * step);
        if (!(fabs(slope[i] - expected) <= 1e-8 * fmax(largest, 1)))
            fail_msg("parameter %d of %d: %g instead of %g", i, (int)PARAMETERS, slope[i],
                     expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_layer),
        cmocka_unit_test(network_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
