/* mega - Mega (moving average equipped gated attention) on the patches of images. Names are those
 * of the authors' code. D = dim, T = patches, P = max_positions.
 *
 *     x = patches W^T + b + pos                                             [B][T][D]
 *     each block:  n = norm(x);  V = SiLU(v_proj(n));  [u|z|r|h] = mx_proj(mixer(n))
 *                  Z = SiLU(z);  q = Z*gamma[0] + beta[0];  k = Z*gamma[1] + beta[1]
 *                  a = attention(q, k, V) with the bias rel_pos_bias[P-1 + key - query], if any
 *                  x += sigmoid(u) * (SiLU(h + h_proj(a * SiLU(r))) - x)
 *                  x += fc2(SiLU(fc1(norm(x))))
 *                  with stochastic depth of the two terms that begin with SiLU(h ..) and fc2
 *     logits = head(mean over tokens of SiLU(out_proj(norm(x))))            [B][outputs]
 *     or with head=lra: head(GELU(out_proj(mean over tokens of norm(x)))) */
#include "models/mega.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "models/blocks.h"
#include "ops/ops.h"

#include <math.h>

_Static_assert(sizeof(mega_config) <= MODEL_OWN, "MODEL_OWN is too small");

/* ---- configuration --------------------------------------------------------------------------- */

static const char *const attention_names[] = {
    [MEGA_LAPLACE] = "laplace", [MEGA_SOFTMAX] = "softmax", NULL};

static const char *const norm_names[] = {
    [MEGA_LAYER_NORM] = "layer", [MEGA_BATCH_NORM] = "batch", NULL};

static const char *const init_names[] = {
    [MEGA_NORMAL] = "normal", [MEGA_AUTHORS] = "authors", NULL};

static const char *const head_names[] = {
    [MEGA_PROJECTION] = "projection", [MEGA_LRA] = "lra", NULL};

#define OWN mega_config

static const ssm2d_field fields[] = {
    OWN_FIELD(INT, patch, 1, 1024, "side of a patch in pixels"),
    OWN_FIELD(INT, dim, 1, 16384, "embedding dimension"),
    OWN_FIELD(INT, depth, 1, 1024, "number of blocks"),
    OWN_FIELD(INT, heads, 1, 1, "attention heads: Mega has 1"),
    OWN_FIELD(INT, z, 1, 16384, "width of queries and keys"),
    OWN_FIELD(INT, v, 1, 16384, "width of values"),
    OWN_FIELD(INT, ffn, 1, 65536, "hidden width of the feed-forward part"),
    OWN_CHOICE(attention, attention_names, "attention function: laplace or softmax"),
    OWN_FLAG(relative_bias, "a learned bias of attention for each distance between tokens"),
    OWN_FIELD(INT, max_positions, 0, 1 << 24,
              "number of tokens that the relative position bias covers; 0: that of the image"),
    OWN_CHOICE(norm, norm_names,
               "norms: layer (LayerNorm) or batch (BatchNorm over all tokens of a batch)"),
    OWN_FIELD(REAL, norm_eps, 1e-12, 1, "eps of every norm except the mixer's"),
    OWN_FLAG(pos_embed, "a learned position embedding"),
    OWN_FIELD(REAL, drop_path, 0, 0.99,
              "stochastic depth: the rate at which a branch of the last block is dropped in "
              "training, growing linearly from 0 in the first"),
    OWN_CHOICE(init, init_names,
               "initial weights: normal (deviation 0.02, biases 0), or authors, as the paper's "
               "code of 2023: the same, except PyTorch's defaults for the patch embedding and "
               "xavier-uniform for the head"),
    OWN_CHOICE(head, head_names,
               "from tokens to logits: projection (Linear and SiLU of every token, mean, Linear), "
               "or lra, as in Mega's runs of the Long Range Arena (mean, Linear to 2*dim, GELU, "
               "Linear without bias; xavier-uniform; embedding N(0, 1), its bias N(0, 0.1^2))"),
    {0}};

static const mega_config *own_of(const model_config *c) { return (const void *)c->own; }

static token_grid grid_of(const model_config *c)
{
    return (token_grid){0, patch_grid(c, own_of(c)->patch)};
}

static long long tokens_of(const model_config *c)
{
    return (long long)grid_cells(grid_of(c).shape);
}

enum { SMALL_PATCH = 4 }; /* 8 x 8 patches at 32 and at 64 pixels */

static int fits(const model_config *c, int rows, int cols)
{
    return patches_fit(patch_side(own_of(c)->patch, SMALL_PATCH, rows, cols), rows, cols);
}

static void fill(model_config *c)
{
    mega_config *m = mega_of(c);
    m->patch = patch_side(m->patch, SMALL_PATCH, c->image[0], c->image[1]);
}

/* Enlarges the relative position bias if there are more tokens than it covers. */
static void adapt(model_config *c)
{
    mega_config *m = mega_of(c);
    const long long count = m->patch ? tokens_of(c) : 0;
    if (m->max_positions && m->max_positions < count && count <= 1 << 24)
        m->max_positions = (int)count;
}

static ssm2d_status check(const model_config *c, ssm2d_error *error)
{
    const mega_config *m = own_of(c);
    ssm2d_status status = check_patch(c, m->patch, error);
    if (status) return status;
    if (tokens_of(c) > 1 << 24)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"patch\" is %d: an image of %d x %d has too many such patches", m->patch,
                    c->image[0], c->image[1]);
    if (m->max_positions && m->max_positions < tokens_of(c))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"max_positions\" is %d, but there are %lld tokens: use 0, or at least that",
                    m->max_positions, tokens_of(c));
    return mixer_config_check(&c->mixer, c->mixer.place == PLACE_FFN ? m->ffn : m->dim, error);
}

enum { LONG_SEQUENCE = 512 }; /* tokens */

static const double deviation = 0.02; /* of initial weights */

/* ---- graph ----------------------------------------------------------------------------------- */

/* The bias of query i and key j is entry P-1 + j-i of the table. */
static tensor *attend(builder *b, tensor *q, tensor *k, tensor *v)
{
    const int count = (int)tokens_of(b->c), P = max_int(own_of(b->c)->max_positions, count);
    const int laplace = own_of(b->c)->attention == MEGA_LAPLACE;
    const param_spec spec = {.rank = 1,
                             .shape = {2 * (size_t)P - 1},
                             .group = PARAM_NO_DECAY,
                             .init = PARAM_NORMAL,
                             .scale = deviation,
                             .resize = PARAM_OFFSETS,
                             .grid = grid_of(b->c)};
    int *position = mem_alloc(b->g->context, (size_t)count * sizeof *position);
    if (!position) return graph_no_memory(b->g);
    for (int i = 0; i < count; i++) position[i] = -i;
    tensor *bias = own_of(b->c)->relative_bias
                       ? block_param(b, spec, "mega_layer.rel_pos_bias", ".rel_pos_bias")
                       : NULL;
    const attention_options o = {.heads = 1,
                                 .scale = laplace ? 1.0 / count : 0,
                                 .scores = laplace ? ATTENTION_LAPLACE : ATTENTION_SOFTMAX,
                                 .bias = bias,
                                 .position = position,
                                 .center = P - 1};
    tensor *y = attention_of(b->g, q, k, v, &o);
    mem_free(b->g->context, position);
    return y;
}

/* With long sequences, tensors inside a block are recomputed in backward: kept, they would be most
 * of the memory of a step, while attention is most of its time. */
static tensor *inside(builder *b, tensor *y)
{
    return tokens_of(b->c) > LONG_SEQUENCE ? graph_recompute(y) : y;
}

static tensor *inner(builder *b, tensor *x, int out, const char *part)
{
    return inside(b, dense(b, x, out, 1, part));
}

static tensor *mixed(builder *b, tensor *x, mixer_place place)
{
    tensor *y = mix_at(b, x, place);
    return y == x ? x : inside(b, y);
}

static tensor *norm_of(builder *b, tensor *x, const char *part)
{
    return own_of(b->c)->norm == MEGA_BATCH_NORM ? norm_by_batch(b, x, part) : norm(b, x, part);
}

/* As gated_update, with stochastic depth of the candidate that replaces x. */
static tensor *update(builder *b, tensor *x, tensor *u, tensor *h, tensor *p, double rate)
{
    graph *g = b->g;
    if (!g->random || rate == 0) return gated_update(g, x, u, h, p);
    tensor *y = inside(b, add(g, contiguous(g, h), p));
    y = inside(b, add(g, drop_path(g, silu(g, y), rate), scale(g, x, -1)));
    return add(g, x, gate(g, inside(b, sigmoid(g, u)), y));
}

static tensor *gated_attention(builder *b, tensor *x, double rate)
{
    graph *g = b->g;
    const mega_config *m = own_of(b->c);
    const int dim = m->dim, z = m->z, v = m->v;
    const param_spec gamma_spec = {
        .rank = 2, .shape = {2, (size_t)z}, .init = PARAM_NORMAL, .scale = deviation};
    const param_spec beta_spec = {
        .rank = 2, .shape = {2, (size_t)z}, .group = PARAM_NO_DECAY, .init = PARAM_ZEROS};
    tensor *gamma = block_param(b, gamma_spec, "mega_layer.gamma", "");
    tensor *beta = block_param(b, beta_spec, "mega_layer.beta", "");
    tensor *n = norm_of(b, x, "mega_layer.norm.norm");
    tensor *value = silu(g, inner(b, n, v, "mega_layer.v_proj"));
    tensor *all = inner(b, mixed(b, n, PLACE_ATTN), 2 * dim + z + v, "mega_layer.mx_proj");
    if (g->status) return NULL;
    tensor *u = columns(g, all, 0, (size_t)dim), *shared = columns(g, all, (size_t)dim, (size_t)z),
           *r = columns(g, all, (size_t)(dim + z), (size_t)v),
           *h = columns(g, all, (size_t)(dim + z + v), (size_t)dim);
    shared = silu(g, shared);
    tensor *q = scale_shift(g, shared, gamma, beta, 0), *k = scale_shift(g, shared, gamma, beta, 1);
    tensor *y = silu_gate(g, attend(b, q, k, value), r);
    return update(b, x, u, h, inner(b, y, dim, "mega_layer.h_proj"), rate);
}

static tensor *block(builder *b, tensor *x, double rate)
{
    const mega_config *m = own_of(b->c);
    x = gated_attention(b, mixed(b, x, PLACE_BLOCK), rate);
    tensor *y = inner(b, norm_of(b, x, "nffn.norm.norm"), m->ffn, "nffn.fc1");
    y = silu(b->g, mixed(b, y, PLACE_FFN));
    return add(b->g, x, drop_path(b->g, dense(b, y, m->dim, 1, "nffn.fc2"), rate));
}

static builder start(graph *g, const model_config *c)
{
    return (builder){.g = g,
                     .c = c,
                     .weights = {PARAM_NORMAL, deviation},
                     .norm_eps = own_of(c)->norm_eps,
                     .part = PARAM_BODY};
}

static tensor *embedding(builder *b, tensor *images)
{
    const mega_config *m = own_of(b->c);
    const initial_values usual = b->weights, ones = {PARAM_NORMAL, 1}, tenths = {PARAM_NORMAL, 0.1},
                         torch = {PARAM_FAN_IN, 1};
    if (m->head == MEGA_LRA) {
        b->weights = ones;
        b->embed_bias = tenths;
    } else if (m->init == MEGA_AUTHORS)
        b->weights = torch;
    tensor *x = embed_patches(b, images, m->patch, m->dim);
    b->weights = usual;
    return x;
}

/* The tokens after the first `blocks` blocks. */
static tensor *body(builder *b, tensor *images, int blocks)
{
    const mega_config *m = own_of(b->c);
    const initial_values positional = {PARAM_TRUNC_NORMAL, 1 / sqrt(m->dim)};
    tensor *pos =
        m->pos_embed ? positions(b, grid_of(b->c), m->dim, positional, "pos_embed") : NULL;
    tensor *x = embedding(b, images);
    if (pos) x = embed(b->g, x, NULL, pos);
    for (int i = 0; i < blocks; i++) {
        builder_enter(b, "blocks.%d", i);
        x = block(b, x, m->drop_path * i / max_int(m->depth - 1, 1));
    }
    builder_enter(b, "%s", "");
    return x;
}

static tensor *build(graph *g, const model_config *c, tensor *images)
{
    const mega_config *m = own_of(c);
    builder b = start(g, c);
    tensor *x = body(&b, images, m->depth);
    const int is_lra = m->head == MEGA_LRA;
    const initial_values xavier = {PARAM_XAVIER_UNIFORM, 1};
    x = norm_of(&b, x, "final_norm.norm");
    if (is_lra) {
        b.weights = xavier;
        x = gelu(g, dense(&b, mean_tokens(g, x), 2 * m->dim, 1, "out_proj.fc"));
    } else {
        x = mean_tokens(g, silu(g, dense(&b, x, m->dim, 1, "out_proj.fc")));
    }
    if (m->init == MEGA_AUTHORS) b.weights = xavier;
    b.part = PARAM_HEAD;
    return dense(&b, x, c->outputs, !is_lra, "head");
}

static int depth(const model_config *c) { return own_of(c)->depth; }

static tensor *tokens(graph *g, const model_config *c, tensor *images, int blocks)
{
    builder b = start(g, c);
    return body(&b, images, blocks);
}

/* ---- models ---------------------------------------------------------------------------------- */

extern const model_family family_mega;

/* 4 directions with 8 systems each, as the paper counts. Each direction of a channel has its own
 * system, which learns better. Gates are computed from the mixer's output, so unlike in ViT it is
 * better not to start close to the identity (docs/differences.md). */
static const mixer_preset mixers[] = {
    {"ssm2d", "directions=4 n_ssm=8 d_state=16 assign=distinct init=authors"}, {0}};

#define MEGA(patches, dims, depths, z_width, v_width, ffn_width)                                   \
    &(const mega_config)                                                                           \
    {                                                                                              \
        .patch = patches, .dim = dims, .depth = depths, .heads = 1, .z = z_width, .v = v_width,    \
        .ffn = ffn_width, .attention = MEGA_LAPLACE, .norm_eps = 1e-5, .pos_embed = 1,             \
        .relative_bias = 1                                                                         \
    }

/* A sequence of pixels, as in Mega's own experiments: BatchNorm, and no position embedding, because
 * the EMA and the relative bias depend on positions. */
static const mega_config lra = {.patch = 1,
                                .dim = 160,
                                .depth = 8,
                                .heads = 1,
                                .z = 96,
                                .v = 320,
                                .ffn = 320,
                                .attention = MEGA_LAPLACE,
                                .relative_bias = 1,
                                .norm = MEGA_BATCH_NORM,
                                .norm_eps = 1e-5,
                                .head = MEGA_LRA};

/* clang-format off */
static const model models[] = {
    {.name = "mega-mini", .help = "a small Mega for small images", .family = &family_mega,
     .image = 32, .channels = 3, .outputs = 10, .own = MEGA(4, 96, 4, 64, 96, 96),
     .mixers = mixers, .mixer = &layer_ema},
    {.name = "mega", .help = "the paper's Mega for small images", .family = &family_mega,
     .image = 32, .channels = 3, .outputs = 100, .own = MEGA(0, 192, 9, 192, 192, 192),
     .mixers = mixers, .mixer = &layer_ema},
    {.name = "mega-t", .help = "Mega for images of 224 pixels", .family = &family_mega,
     .image = 224, .channels = 3, .outputs = 1000, .own = MEGA(16, 192, 12, 64, 384, 384),
     .mixers = mixers, .mixer = &layer_ema},
    {.name = "mega-lra", .help = "Mega for the Long Range Arena's images: pixels are tokens",
     .family = &family_mega, .image = 32, .channels = 1, .keeps_channels = 1, .outputs = 10,
     .own = &lra, .missing = "head=projection", .mixers = mixers, .mixer = &layer_ema},
    {0}};
/* clang-format on */

const model_family family_mega = {.name = "mega",
                                  .own_size = sizeof(mega_config),
                                  .fields = fields,
                                  .models = models,
                                  .fits = fits,
                                  .fill = fill,
                                  .check = check,
                                  .build = build,
                                  .depth = depth,
                                  .tokens = tokens,
                                  .adapt = adapt};
