#include "swin_oracle.h"

#include "layers/ssm2d/ssm2d_config.h"
#include "models/swin.h"
#include "oracle.h"
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A map of one image: x[rows][cols][dim]. */
typedef struct map {
    int rows, cols, dim;
    double *x;
} map;

typedef struct net {
    const weights *w;
    const double *params;
    model_config c;
    swin_config v;
    char block[64];
} net;

static map map_make(int rows, int cols, int dim)
{
    return (map){rows, cols, dim, doubles((size_t)rows * (size_t)cols * (size_t)dim)};
}

static double *cell(map m, int i, int j) { return m.x + ((size_t)i * m.cols + j) * m.dim; }

/* NULL if the model has no such array. */
static const double *array(const net *n, const char *format, const char *part)
{
    char name[160];
    snprintf(name, sizeof name, format, n->block, part);
    const param_array *a = weights_find(n->w, name);
    return a ? n->params + a->offset : NULL;
}

static const double *in_block(const net *n, const char *part) { return array(n, "%s.%s", part); }
static const double *outside(const net *n, const char *part) { return array(n, "%.0s%s", part); }

/* y = W x + b */
static void affine(double *y, int out, const double *x, int in, const double *w, const double *b)
{
    for (int o = 0; o < out; o++) {
        y[o] = b ? b[o] : 0;
        for (int k = 0; k < in; k++) y[o] += w[(size_t)o * in + k] * x[k];
    }
}

static map affine_map(map m, int out, const double *w, const double *b)
{
    map y = map_make(m.rows, m.cols, out);
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++) affine(cell(y, i, j), out, cell(m, i, j), m.dim, w, b);
    return y;
}

static map normed(const net *n, map m, const double *gamma, const double *beta)
{
    map y = map_make(m.rows, m.cols, m.dim);
    for (int t = 0; t < m.rows * m.cols; t++) {
        const double *x = m.x + (size_t)t * m.dim;
        double mean = 0, variance = 0;
        for (int d = 0; d < m.dim; d++) mean += x[d] / m.dim;
        for (int d = 0; d < m.dim; d++) variance += (x[d] - mean) * (x[d] - mean) / m.dim;
        for (int d = 0; d < m.dim; d++)
            y.x[(size_t)t * m.dim + d] =
                (x[d] - mean) / sqrt(variance + n->v.norm_eps) * gamma[d] + beta[d];
    }
    return y;
}

/* Replaces *m by `with`. */
static void become(map *m, map with)
{
    free(m->x);
    *m = with;
}

static void mix_oracle(net *n, map *m, mixer_place place)
{
    if (n->c.mixer.kind != &layer_ssm2d || n->c.mixer.place != (int)place) return;
    layer_values values = n->c.mixer.values;
    ssm2d_config layer = *ssm2d_config_of(&values);
    layer.channels = m->dim;
    ssm2d_param first;
    char part[64];
    param_get(&layer, 0, &first);
    snprintf(part, sizeof part, "mixer.%s", first.name);
    map y = map_make(m->rows, m->cols, m->dim);
    oracle_forward(&layer, in_block(n, part), 1, (size_t)m->rows, (size_t)m->cols, m->x, y.x);
    become(m, y);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Position of a cell of the padded map along one axis: its window, its index in the window, its
 * region. */
typedef struct spot {
    int window, place, region;
} spot;

static spot spot_of(int at, int side, int window, int odd)
{
    const int w = window < side ? window : side, padded = (side + w - 1) / w * w;
    const int s = odd && side > window ? window / 2 : 0,
              rolled = ((at - s) % padded + padded) % padded;
    spot p = {rolled / w, rolled % w, 0};
    if (s) p.region = rolled < padded - w ? 0 : rolled < padded - s ? 1 : 2;
    if (at >= side) p.region = 3;
    return p;
}

static int padded_side(int side, int window)
{
    const int w = window < side ? window : side;
    return (side + w - 1) / w * w;
}

/* The output of one head for query (i, j): out[width]. qkv: of the padded map. */
static void attend_oracle(const net *n, map m, map qkv, const double *table, int heads, int h,
                          int odd, int i, int j, double *out)
{
    const int D = m.dim, width = D / heads, window = n->v.window;
    const int across = 2 * (window < m.cols ? window : m.cols) - 1;
    const int reach[] = {(window < m.rows ? window : m.rows) - 1, (across - 1) / 2};
    const spot qr = spot_of(i, m.rows, window, odd), qc = spot_of(j, m.cols, window, odd);
    const double *q = cell(qkv, i, j) + h * width;
    double sum = 0;
    for (int d = 0; d < width; d++) out[d] = 0;
    for (int a = 0; a < qkv.rows; a++)
        for (int b = 0; b < qkv.cols; b++) {
            const spot kr = spot_of(a, m.rows, window, odd), kc = spot_of(b, m.cols, window, odd);
            if (kr.window != qr.window || kc.window != qc.window) continue;
            const double *k = cell(qkv, a, b) + D + h * width, *v = k + D;
            const int padding = kr.region == 3 || kc.region == 3;
            double score = 0;
            for (int d = 0; d < width; d++) score += q[d] * k[d] / sqrt(width);
            if (table)
                score += table[((qr.place - kr.place + reach[0]) * across + qc.place - kc.place
                                + reach[1])
                                   * heads
                               + h];
            if (padding || kr.region != qr.region || kc.region != qc.region) score -= 100;
            sum += exp(score);
            for (int d = 0; d < width; d++) out[d] += exp(score) * v[d];
        }
    for (int d = 0; d < width; d++) out[d] /= sum;
}

static map attention_oracle(const net *n, map m, int heads, int odd)
{
    const double *table = in_block(n, "attn.relative_position_bias_table");
    map wide = map_make(padded_side(m.rows, n->v.window), padded_side(m.cols, n->v.window), m.dim),
        y = map_make(m.rows, m.cols, m.dim);
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            memcpy(cell(wide, i, j), cell(m, i, j), (size_t)m.dim * sizeof(double));
    become(&wide, affine_map(wide, 3 * m.dim, in_block(n, "attn.qkv.weight"),
                             in_block(n, "attn.qkv.bias")));
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            for (int h = 0; h < heads; h++)
                attend_oracle(n, m, wide, table, heads, h, odd, i, j,
                              cell(y, i, j) + h * (m.dim / heads));
    become(&y,
           affine_map(y, m.dim, in_block(n, "attn.proj.weight"), in_block(n, "attn.proj.bias")));
    free(wide.x);
    return y;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_to(map x, map y)
{
    for (int k = 0; k < x.rows * x.cols * x.dim; k++) x.x[k] += y.x[k];
    free(y.x);
}

static void block_oracle(net *n, map *x, int heads, int odd)
{
    mix_oracle(n, x, PLACE_BLOCK);
    map y = normed(n, *x, in_block(n, "norm1.weight"), in_block(n, "norm1.bias"));
    mix_oracle(n, &y, PLACE_ATTN);
    become(&y, attention_oracle(n, y, heads, odd));
    add_to(*x, y);
    y = normed(n, *x, in_block(n, "norm2.weight"), in_block(n, "norm2.bias"));
    become(&y, affine_map(y, (int)(x->dim * n->v.mlp_ratio), in_block(n, "mlp.fc1.weight"),
                          in_block(n, "mlp.fc1.bias")));
    mix_oracle(n, &y, PLACE_FFN);
    for (int k = 0; k < y.rows * y.cols * y.dim; k++) y.x[k] *= (1 + erf(y.x[k] / sqrt(2))) / 2;
    become(&y, affine_map(y, x->dim, in_block(n, "mlp.fc2.weight"), in_block(n, "mlp.fc2.bias")));
    add_to(*x, y);
}

static void merge_oracle(net *n, map *x)
{
    map wide = map_make((x->rows + 1) / 2, (x->cols + 1) / 2, 4 * x->dim);
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->cols; j++)
            memcpy(cell(wide, i / 2, j / 2) + (i % 2 + 2 * (j % 2)) * x->dim, cell(*x, i, j),
                   (size_t)x->dim * sizeof(double));
    become(&wide, normed(n, wide, in_block(n, "norm.weight"), in_block(n, "norm.bias")));
    become(x, affine_map(wide, 2 * x->dim, in_block(n, "reduction.weight"), NULL));
    free(wide.x);
}

static map patches_oracle(const net *n, const double *image)
{
    const int p = n->v.patch, channels = n->c.channels, rows = n->c.image[0], cols = n->c.image[1];
    map raw = map_make(rows / p, cols / p, channels * p * p);
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                cell(raw, i / p, j / p)[(c * p + i % p) * p + j % p] =
                    image[((size_t)c * rows + i) * cols + j];
    map x = affine_map(raw, n->v.dim.at[0], outside(n, "patch_embed.proj.weight"),
                       outside(n, "patch_embed.proj.bias"));
    free(raw.x);
    return x;
}

static void image_oracle(net *n, const double *image, double *logits)
{
    map x = patches_oracle(n, image);
    const double *pos = outside(n, "absolute_pos_embed");
    if (n->v.patch_norm)
        become(&x, normed(n, x, outside(n, "patch_embed.norm.weight"),
                          outside(n, "patch_embed.norm.bias")));
    for (int k = 0; pos && k < x.rows * x.cols * x.dim; k++) x.x[k] += pos[k];
    for (int s = 0; s < n->v.depth.count; s++) {
        snprintf(n->block, sizeof n->block, "layers.%d.downsample", s);
        if (s) merge_oracle(n, &x);
        for (int i = 0; i < n->v.depth.at[s]; i++) {
            snprintf(n->block, sizeof n->block, "layers.%d.blocks.%d", s, i);
            block_oracle(n, &x, n->v.heads.at[s], i % 2);
        }
    }
    become(&x, normed(n, x, outside(n, "norm.weight"), outside(n, "norm.bias")));
    map mean = map_make(1, 1, x.dim);
    for (int t = 0; t < x.rows * x.cols; t++)
        for (int d = 0; d < x.dim; d++) mean.x[d] += x.x[(size_t)t * x.dim + d] / (x.rows * x.cols);
    affine(logits, n->c.outputs, mean.x, x.dim, outside(n, "head.fc.weight"),
           outside(n, "head.fc.bias"));
    free(mean.x), free(x.x);
}

void swin_oracle(const weights *w, const double *params, size_t batch, const double *images,
                 double *logits)
{
    net n = {.w = w, .params = params, .c = w->config};
    memcpy(&n.v, n.c.own, sizeof n.v);
    const size_t pixels = (size_t)(n.c.channels * n.c.image[0] * n.c.image[1]);
    for (size_t b = 0; b < batch; b++)
        image_oracle(&n, images + b * pixels, logits + b * (size_t)n.c.outputs);
}
