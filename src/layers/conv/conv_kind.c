/* conv_kind - settings and parameters of the depthwise convolution, as ConvNeXt has it: each
 * channel by itself, zeros beyond the edges, an output for every cell. With r = (kernel-1)/2,
 *     y[i][j] = bias + sum over a, b of weight[a][b] * u[i + a - r][j + b - r] */
#include "core/arith.h"
#include "layers/conv/conv_layer.h"

enum { MAX_CHANNELS = 1 << 20, MAX_KERNEL = 31 };

/* Kernels have a centre. */
static const int odd[] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 0};

#define PLACE(name) offsetof(conv_config, name)

static const ssm2d_field fields[] = {
    {"channels", "channels of the input, each filtered by itself", SSM2D_KIND_INT, PLACE(channels),
     1, MAX_CHANNELS, NULL, NULL, NULL},
    {"kernel", "rows and columns of the kernel: an odd number", SSM2D_KIND_INT, PLACE(kernel), 1,
     MAX_KERNEL, "7", NULL, odd},
    {"bias", "adds a bias to each channel", SSM2D_KIND_FLAG, PLACE(bias), 0, 1, "true", NULL, NULL},
    {0}};

enum { WEIGHT, BIAS };

static int arrays(const void *config, layer_array *table)
{
    const conv_config *c = config;
    const size_t H = (size_t)c->channels, side = (size_t)c->kernel;
    table[WEIGHT] = LAYER_ARRAY("weight", WEIGHT, H, 1, side, side);
    table[WEIGHT].param.decay = table[WEIGHT].param.decay_paper = 1;
    if (c->bias) table[BIAS] = LAYER_ARRAY("bias", BIAS, H);
    return 1 + c->bias;
}

/* As ConvNeXt begins. */
static double draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    (void)config, (void)k;
    return array->draw == WEIGHT ? 0.02 * rng_normal(r) : 0;
}

static void begin(ssm2d_plan *plan, const void *config)
{
    ((conv_layer_plan *)plan)->config = *(const conv_config *)config;
}

static int pictures(const void *config) { return ((const conv_config *)config)->channels; }

/* Kernels are by offsets of the input from the output, as pictures are, but may be smaller. */
static void picture(const void *config, const float *kernels, const size_t *shape, int h, int rows,
                    int cols, double *out)
{
    const int side = ((const conv_config *)config)->kernel, width = 2 * cols - 1, r = side / 2;
    const float *k = kernels + (size_t)h * shape[1] * shape[2];
    for (int i = 0; i < 2 * rows - 1; i++)
        for (int j = 0; j < width; j++) {
            const int a = i - (rows - 1) + r, b = j - (cols - 1) + r;
            const int inside = a >= 0 && a < side && b >= 0 && b < side;
            out[row_major(i, width, j)] = inside ? (double)k[row_major(a, side, b)] : 0;
        }
}

const layer_kind layer_conv = {.name = "conv",
                               .help = "a depthwise convolution, as in ConvNeXt",
                               .config_size = sizeof(conv_config),
                               .fields = fields,
                               .plan_size = sizeof(conv_layer_plan),
                               .axes = 1U << 2,
                               .arrays = arrays,
                               .draw = draw,
                               .begin = begin,
                               .functions = {&conv_functions_f32, &conv_functions_f64},
                               .pictures = pictures,
                               .picture = picture};
