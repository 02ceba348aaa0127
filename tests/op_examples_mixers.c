/* Examples of the operator `mix`: every kind of layer, three times. */
#include "layer_calls.h"
#include "op_builders.h"

typedef struct tokens {
    size_t batch;
    int channels;
    token_grid grid;
} tokens;

static ssm2d_layer layer_example(int kind, int v, int channels)
{
    const ssm2d_config two = {.channels = channels,
                              .d_state = 3,
                              .n_ssm = 2,
                              .directions = 4,
                              .norm = SSM2D_NORM_RELAXED,
                              .skip = 1,
                              .layer_norm = v == 2,
                              .assign = SSM2D_ASSIGN_DISTINCT};
    const s4nd_config separable = {channels, LAYER_INIT_AUTHORS, 4, 2, 1};
    const ema_config average = {channels, 3, v != 2, 1, v == 2 ? 5 : 0};
    if (kind == 0) return layer_of(&layer_ssm2d, &two);
    return kind == 1 ? layer_of(&layer_s4nd, &separable) : layer_of(&layer_ema, &average);
}

static tensor *mix_example(maker *m, int v)
{
    static const tokens s[] = {
        {2, 5, {1, {2, {3, 4, 1}}}}, {1, 1, {0, {2, {1, 1, 1}}}}, {3, 9, {2, {2, {4, 2, 1}}}}};
    const tokens *t = &s[v % 3];
    const ssm2d_layer layer = layer_example(v / 3, v % 3, t->channels);
    const size_t count = (size_t)t->grid.first + grid_cells(t->grid.shape);
    tensor *x = give(m, SHAPE(t->batch, count, (size_t)t->channels));
    tensor *params = weight(m, "mixer", SHAPE(ssm2d_layer_param_count(&layer)));
    return mix_layer(m->g, x, params, &layer, t->grid);
}

const op_builder mixer_examples[] = {
    {"mix", 9, mix_example},
    {NULL, 0, NULL},
};
