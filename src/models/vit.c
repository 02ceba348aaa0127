/* vit - the vision transformer, and DeiT, which is one with other settings. Names are timm's.
 * D = dim, T = 1 + patches.
 *
 *     x = [cls; patches W^T + b] + pos                                      [B][T][D]
 *     each block:  x += proj(attention(qkv(norm1(x))));  x += fc2(GELU(fc1(norm2(x))))
 *     logits = head(norm(x[cls]))                                           [B][outputs]
 *
 * After the attention of the last block only CLS is read, so the rest is computed for CLS only. */
#include "models/vit.h"

#include "core/arith.h"
#include "core/status.h"
#include "models/blocks.h"
#include "ops/ops.h"

#include <stddef.h>

_Static_assert(sizeof(vit_config) <= MODEL_OWN, "MODEL_OWN is too small");

enum { CLS = 0 };

/* ---- configuration --------------------------------------------------------------------------- */

static const char *const init_names[] = {
    [VIT_XAVIER] = "xavier", [VIT_TRUNC_NORMAL] = "trunc_normal", NULL};

#define OWN vit_config

static const ssm2d_field fields[] = {
    OWN_FIELD(INT, patch, 1, 1024, "side of a patch in pixels"),
    OWN_FIELD(INT, dim, 1, 16384, "embedding dimension"),
    OWN_FIELD(INT, depth, 1, 1024, "number of blocks"),
    OWN_FIELD(INT, heads, 1, 1024, "attention heads; they divide dim"),
    OWN_FIELD(REAL, mlp_ratio, 0.01, 64, "hidden width of the MLP, as a multiple of dim"),
    OWN_FLAG(qkv_bias, "a bias on q, k and v"),
    OWN_FIELD(REAL, norm_eps, 1e-12, 1, "eps of every LayerNorm except the mixer's"),
    OWN_FLAG(pos_embed, "a learned position embedding"),
    OWN_FIELD(REAL, pos_scale, 0, 10, "deviation of the position embedding's initial values"),
    OWN_FIELD(REAL, drop_path, 0, 0.99,
              "stochastic depth: the rate at which a branch is dropped in training"),
    OWN_FLAG(drop_path_ramp,
             "drop_path is the rate of the last block, growing linearly from 0 in the first, as in "
             "DeiT; otherwise that of every block"),
    OWN_CHOICE(init, init_names,
               "initial weights: xavier (xavier-normal, tokens N(0, 1); after a mixer at "
               "place=attn, q and k are one matrix and v another, as in the paper's code of 2023) "
               "or trunc_normal (deviation 0.02)"),
    {0}};

static const vit_config *own_of(const model_config *c) { return (const void *)c->own; }
static int hidden_of(const vit_config *v) { return (int)(v->dim * v->mlp_ratio); }

enum { SMALL_PATCH = 4 }; /* 8 x 8 patches at 32 and at 64 pixels */

static int fits(const model_config *c, int rows, int cols)
{
    return patches_fit(patch_side(own_of(c)->patch, SMALL_PATCH, rows, cols), rows, cols);
}

static void fill(model_config *c)
{
    vit_config *v = vit_of(c);
    v->patch = patch_side(v->patch, SMALL_PATCH, c->image[0], c->image[1]);
}

static ssm2d_status check(const model_config *c, ssm2d_error *error)
{
    const vit_config *v = own_of(c);
    const ssm2d_status status = check_patch(c, v->patch, error);
    if (status) return status;
    if (v->dim % v->heads)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"heads\" is %d: it must divide \"dim\", which is %d", v->heads, v->dim);
    if (hidden_of(v) < 1)
        return fail(error, SSM2D_ERROR_ARGUMENT, "\"mlp_ratio\" is %g: too small for \"dim\" %d",
                    v->mlp_ratio, v->dim);
    return mixer_config_check(&c->mixer, c->mixer.place == PLACE_FFN ? hidden_of(v) : v->dim,
                              error);
}

/* ---- graph ----------------------------------------------------------------------------------- */

static double drop_rate(const vit_config *v, int block)
{
    return v->drop_path_ramp ? v->drop_path * block / max_int(v->depth - 1, 1) : v->drop_path;
}

/* cls_only: after attention, compute CLS only. */
static tensor *block(builder *b, tensor *x, int index, int cls_only)
{
    const vit_config *v = own_of(b->c);
    const int dim = v->dim, hidden = hidden_of(v);
    const double rate = drop_rate(v, index);
    if (b->g->status) return NULL;
    const token_grid grid = x->grid;
    x = mix_at(b, x, PLACE_BLOCK);
    tensor *y = mix_at(b, norm(b, x, "norm1"), PLACE_ATTN);
    /* after a mixer, the paper's code has q and k as one matrix and v as another */
    const int first = b->c->mixer.kind != &mixer_none && b->c->mixer.place == PLACE_ATTN;
    y = dense_of_two(b, y, 3 * dim, first ? 2 * dim : 0, v->qkv_bias, "attn.qkv");
    y = keep(b->g, attention(b->g, keep(b->g, y), v->heads));
    if (cls_only) {
        x = take_token(b->g, x, CLS);
        y = take_token(b->g, y, CLS);
    }
    x = add(b->g, x, drop_path(b->g, dense(b, y, dim, 1, "attn.proj"), rate));
    y = dense(b, norm(b, x, "norm2"), hidden, 1, "mlp.fc1");
    if (!cls_only)
        y = mix_at(b, y, PLACE_FFN);
    else if (b->c->mixer.place == PLACE_FFN) /* it does not affect CLS, but the weights have it */
        mixer_params(b->g, &b->c->mixer, hidden, grid, b->block);
    y = dense(b, gelu(b->g, keep_narrow(b->g, y)), dim, 1, "mlp.fc2");
    return add(b->g, x, drop_path(b->g, y, rate));
}

static builder builder_of(graph *g, const model_config *c)
{
    const initial_values small = {PARAM_TRUNC_NORMAL, 0.02}, xavier = {PARAM_XAVIER_NORMAL, 1};
    return (builder){.g = g,
                     .c = c,
                     .weights = own_of(c)->init == VIT_TRUNC_NORMAL ? small : xavier,
                     .norm_eps = own_of(c)->norm_eps,
                     .part = PARAM_BODY};
}

/* Patch embedding with the class token and positions, and the first `blocks` blocks. cls_only: the
 * model's last block computes CLS only. */
static tensor *body(builder *b, tensor *images, int blocks, int cls_only)
{
    const vit_config *v = own_of(b->c);
    const int trunc = v->init == VIT_TRUNC_NORMAL;
    const initial_values tokens = {trunc ? PARAM_TRUNC_NORMAL : PARAM_NORMAL, trunc ? 0.02 : 1};
    const initial_values positional = {tokens.init, v->pos_scale};
    const token_grid grid = {1, patch_grid(b->c, v->patch)};
    const param_spec token = {.rank = 3,
                              .shape = {1, 1, (size_t)v->dim},
                              .init = tokens.init,
                              .scale = tokens.scale,
                              .role = PARAM_TOKEN};
    tensor *cls = block_param(b, token, "cls_token", "");
    tensor *pos = v->pos_embed ? positions(b, grid, v->dim, positional, "pos_embed") : NULL;
    tensor *x = embed(b->g, embed_patches(b, images, v->patch, v->dim), cls, pos);
    for (int i = 0; i < blocks; i++) {
        builder_enter(b, "blocks.%d", i);
        x = block(b, x, i, cls_only && i + 1 == v->depth);
    }
    builder_enter(b, "%s", "");
    return x;
}

static tensor *build(graph *g, const model_config *c, tensor *images)
{
    builder b = builder_of(g, c);
    tensor *x = norm(&b, body(&b, images, own_of(c)->depth, 1), "norm");
    b.part = PARAM_HEAD;
    return dense(&b, x, c->outputs, 1, "head");
}

static int depth(const model_config *c) { return own_of(c)->depth; }

static tensor *tokens(graph *g, const model_config *c, tensor *images, int blocks)
{
    builder b = builder_of(g, c);
    return body(&b, images, blocks, 0);
}

/* ---- models ---------------------------------------------------------------------------------- */

extern const model_family family_vit;

/* 4 directions with 2 systems each give the paper's parameter counts: K*N = 128 in a layer of the
 * small ViT, 32 in one of DeiT. Each direction of a channel has its own system. The layer and S4ND
 * are before the norm of a block, not after it as the authors have them, and S4ND starts close to
 * the plain model, as the layer does: all of this learns better (docs/RESULTS.md). */
static const mixer_preset vit_mixers[] = {
    {"ssm2d", "directions=4 n_ssm=2 d_state=16 assign=distinct place=block"},
    {"ssm2d_selective", "directions=4 n_ssm=2 d_state=16 assign=distinct place=block"},
    {"s4nd", "n_ssm=8 d_state=16 init=identity place=block"},
    {"ema", "d_state=16"},
    {0}};
static const mixer_preset deit_mixers[] = {
    {"ssm2d", "directions=4 n_ssm=2 d_state=4 assign=distinct place=block"},
    {"ssm2d_selective", "directions=4 n_ssm=2 d_state=4 assign=distinct place=block"},
    {"s4nd", "init=identity place=block"},
    {0}};

#define VIT_COMMON                                                                                 \
    .mlp_ratio = 2, .norm_eps = 1e-5, .pos_embed = 1, .pos_scale = 0.02, .init = VIT_XAVIER
#define DEIT_COMMON                                                                                \
    .patch = 16, .mlp_ratio = 4, .qkv_bias = 1, .norm_eps = 1e-6, .pos_embed = 1,                  \
    .pos_scale = 0.02, .init = VIT_TRUNC_NORMAL

static const vit_config vit_mini = {VIT_COMMON, .patch = 4, .dim = 96, .depth = 4, .heads = 4};
static const vit_config vit_small = {VIT_COMMON, .dim = 192, .depth = 9, .heads = 12};
static const vit_config deit_tiny = {DEIT_COMMON, .dim = 192, .depth = 12, .heads = 3};
static const vit_config deit_small = {DEIT_COMMON, .dim = 384, .depth = 12, .heads = 6};
static const vit_config deit_base = {DEIT_COMMON, .dim = 768, .depth = 12, .heads = 12};
static const vit_config deit_any = {DEIT_COMMON};

/* clang-format off */
static const model models[] = {
    {.name = "vit-mini", .help = "a small ViT for small images", .family = &family_vit,
     .image = 32, .channels = 3, .outputs = 10, .own = &vit_mini, .mixers = vit_mixers},
    {.name = "vit", .help = "the paper's ViT for small images", .family = &family_vit,
     .image = 32, .channels = 3, .outputs = 100, .own = &vit_small, .mixers = vit_mixers},
    {.name = "deit-t", .help = "DeiT tiny", .family = &family_vit,
     .image = 224, .channels = 3, .outputs = 1000, .own = &deit_tiny, .mixers = deit_mixers},
    {.name = "deit-s", .help = "DeiT small", .family = &family_vit,
     .image = 224, .channels = 3, .outputs = 1000, .own = &deit_small, .mixers = deit_mixers},
    {.name = "deit-b", .help = "DeiT base", .family = &family_vit,
     .image = 224, .channels = 3, .outputs = 1000, .own = &deit_base, .mixers = deit_mixers},
    {.name = "deit", .help = "a DeiT of any size", .family = &family_vit,
     .image = 224, .channels = 3, .outputs = 1000, .own = &deit_any, .mixers = deit_mixers,
     .hidden = 1},
    {0}};
/* clang-format on */

const model_family family_vit = {.name = "vit",
                                 .own_size = sizeof(vit_config),
                                 .fields = fields,
                                 .models = models,
                                 .fits = fits,
                                 .fill = fill,
                                 .check = check,
                                 .build = build,
                                 .depth = depth,
                                 .tokens = tokens};
