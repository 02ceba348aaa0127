/* Examples of mixers: the layer, S4ND and EMA. */
#include "op_builders.h"

static tensor *mix_ssm2d_example(maker *m, int v)
{
    static const struct {
        size_t batch;
        int channels, first, rows, cols, norm;
    } s[] = {{2, 5, 1, 3, 4, 0}, {1, 1, 0, 1, 1, 0}, {3, 9, 2, 4, 2, 1}};
    ssm2d_config c = ssm2d_config_default();
    c.channels = s[v].channels;
    c.d_state = 3;
    c.n_ssm = 2;
    c.layer_norm = s[v].norm;
    tensor *x = give(
        m, SHAPE(s[v].batch, (size_t)(s[v].first + s[v].rows * s[v].cols), (size_t)c.channels));
    return mix_ssm2d(m->g, x, weight(m, "mixer", SHAPE(ssm2d_param_total(&c))), &c, s[v].first,
                     s[v].rows, s[v].cols);
}

typedef struct tokens {
    size_t batch;
    int channels, first, rows, cols;
} tokens;

static const tokens baseline_tokens[] = {{2, 5, 1, 3, 4}, {1, 1, 0, 1, 1}, {3, 9, 2, 4, 2}};

static tensor *give_tokens(maker *m, const tokens *t)
{
    return give(m, SHAPE(t->batch, (size_t)(t->first + t->rows * t->cols), (size_t)t->channels));
}

static tensor *mix_s4nd_example(maker *m, int v)
{
    const tokens *t = &baseline_tokens[v];
    ssm2d_s4nd_config c = ssm2d_s4nd_config_default();
    c.base.channels = t->channels;
    c.d_state = 4;
    c.n_ssm = 2;
    tensor *x = give_tokens(m, t);
    tensor *params = weight(m, "mixer", SHAPE(ssm2d_baseline_param_total(&c.base)));
    return mix_s4nd(m->g, x, params, &c, t->first, t->rows, t->cols);
}

static tensor *mix_ema_example(maker *m, int v)
{
    const tokens *t = &baseline_tokens[v];
    ssm2d_ema_config c = ssm2d_ema_config_default();
    c.base.channels = t->channels;
    c.d_state = 3;
    c.bidirectional = v != 2;
    c.trunc = v == 2 ? 5 : 0;
    tensor *x = give_tokens(m, t);
    tensor *params = weight(m, "mixer", SHAPE(ssm2d_baseline_param_total(&c.base)));
    return mix_ema(m->g, x, params, &c, t->first, t->rows, t->cols);
}

const op_builder mixer_examples[] = {
    {"mix_ema", 3, mix_ema_example},
    {"mix_s4nd", 3, mix_s4nd_example},
    {"mix_ssm2d", 3, mix_ssm2d_example},
    {NULL, 0, NULL},
};
