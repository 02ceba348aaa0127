/* convnext - ConvNeXt: blocks of a token mixer and an MLP, in stages that halve the sides of the
 * map. Names are timm's. C = dim of the stage, H x W its map.
 *
 *     x = norm(patches W^T + b)                                             [B][H*W][C]
 *     stage s > 0 begins with
 *                  x = convolution of 2 x 2 cells of norm(x), stride 2      [B][H/2*W/2][C']
 *     each block:  x += gamma * fc2(GELU(fc1(norm(mixer(x)))))
 *     logits = fc(norm(mean of x over tokens))                              [B][outputs]
 *
 * The default mixer is `conv`, a depthwise convolution of 7 x 7; layers of other kinds may replace
 * it. An odd side loses its last row or column between stages, as in timm. */
#include "core/arith.h"
#include "core/status.h"
#include "models/blocks.h"
#include "ops/ops.h"

#include <stddef.h>

/* ---- configuration --------------------------------------------------------------------------- */

/* Lists have one entry for each stage. */
typedef struct convnext_config {
    int patch; /* side in pixels */
    ssm2d_list dim, depth;
    double mlp_ratio, norm_eps, layer_scale, drop_path;
} OWN_CONFIG convnext_config;

_Static_assert(sizeof(convnext_config) <= MODEL_OWN, "MODEL_OWN is too small");

#define OWN convnext_config

static const ssm2d_field fields[] = {
    OWN_FIELD(INT, patch, 1, 1024, "side of a patch in pixels"),
    OWN_FIELD(LIST, dim, 1, 16384,
              "channels of each stage: [96, 192, 384]; one number is doubled from stage to stage"),
    OWN_FIELD(LIST, depth, 1, 1024, "number of blocks of each stage: [3, 9, 3]"),
    OWN_FIELD(REAL, mlp_ratio, 0.01, 64, "hidden width of the MLP, as a multiple of dim"),
    OWN_FIELD(REAL, norm_eps, 1e-12, 1, "eps of every LayerNorm except the mixer's"),
    OWN_FIELD(REAL, layer_scale, 1e-12, 1000,
              "layer scale: initial value of the factors of a block's branch, one per channel"),
    OWN_FIELD(REAL, drop_path, 0, 0.99,
              "stochastic depth: the rate at which the branch of the last block is dropped in "
              "training, growing linearly from 0 in the first"),
    {0}};

static const convnext_config *own_of(const model_config *c) { return (const void *)c->own; }
static int hidden_of(const convnext_config *v, int dim) { return (int)(dim * v->mlp_ratio); }

static int fits(const model_config *c, int rows, int cols)
{
    return patches_fit(own_of(c)->patch, rows, cols);
}

static void fill(model_config *c)
{
    convnext_config *v = (convnext_config *)(void *)c->own;
    stage_list_fill(&v->dim, v->depth.count, 16384);
}

/* The map of every stage must have a cell. */
static ssm2d_status check_maps(const model_config *c, ssm2d_error *error)
{
    const convnext_config *v = own_of(c);
    const int rows = c->image[0] / v->patch, cols = c->image[1] / v->patch;
    const int halvings = v->depth.count - 1;
    if (rows >> halvings && cols >> halvings) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "\"depth\" has %d stages: a map of %d x %d patches cannot be halved %d times",
                v->depth.count, rows, cols, halvings);
}

static ssm2d_status check(const model_config *c, ssm2d_error *error)
{
    const convnext_config *v = own_of(c);
    ssm2d_status status = check_patch(c, v->patch, error);
    if (status) return status;
    if (v->dim.count != v->depth.count)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"depth\" has %d stages and \"dim\" %d: give both one number per stage",
                    v->depth.count, v->dim.count);
    if (c->mixer.kind != &mixer_none && c->mixer.place != PLACE_ATTN)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"mixer.place\" is not attn: in a ConvNeXt the mixer replaces the "
                    "convolution; leave it out");
    for (int s = 0; s < v->dim.count && !status; s++)
        if (hidden_of(v, v->dim.at[s]) < 1)
            status =
                fail(error, SSM2D_ERROR_ARGUMENT, "\"mlp_ratio\" is %g: too small for \"dim\" %d",
                     v->mlp_ratio, v->dim.at[s]);
        else
            status = mixer_config_check(&c->mixer, v->dim.at[s], error);
    return status ? status : check_maps(c, error);
}

/* ---- graph ----------------------------------------------------------------------------------- */

/* The convolution has timm's name in files. */
static tensor *mixed(builder *b, tensor *x)
{
    const mixer_config *m = &b->c->mixer;
    return m->kind == &layer_conv ? mix_as(b->g, x, m, b->block, "conv_dw")
                                  : mix(b->g, x, m, b->block);
}

static tensor *block(builder *b, tensor *x, int dim, double rate)
{
    const convnext_config *v = own_of(b->c);
    const param_spec scale_spec = {
        .rank = 1, .shape = {(size_t)dim}, .init = PARAM_CONSTANT, .scale = v->layer_scale};
    tensor *gamma = block_param(b, scale_spec, "gamma", "");
    tensor *y = norm(b, mixed(b, x), "norm");
    y = gelu(b->g, keep_narrow(b->g, dense(b, y, hidden_of(v, dim), 1, "mlp.fc1")));
    y = scale_shift(b->g, dense(b, y, dim, 1, "mlp.fc2"), gamma, NULL, 0);
    return add(b->g, x, drop_path(b->g, y, rate));
}

static tensor *downsample(builder *b, tensor *x, int dim)
{
    enum { SIDE = 2 };
    x = norm(b, x, "downsample.0");
    if (b->g->status) return NULL;
    x = token_patches(b->g, x, grid_rows(x->grid.shape), grid_cols(x->grid.shape), SIDE);
    return patch_convolution(b, x, SIDE, dim, "downsample.1");
}

static int depth(const model_config *c) { return stage_list_sum(&own_of(c)->depth); }

static builder builder_of(graph *g, const model_config *c)
{
    return (builder){.g = g,
                     .c = c,
                     .weights = {PARAM_TRUNC_NORMAL, 0.02},
                     .norm_eps = own_of(c)->norm_eps,
                     .part = PARAM_BODY};
}

/* Patch embedding and the first `blocks` blocks, counted over all stages. */
static tensor *body(builder *b, tensor *images, int blocks)
{
    const convnext_config *v = own_of(b->c);
    int done = 0;
    tensor *x =
        patch_convolution(b, patches(b->g, images, v->patch), v->patch, v->dim.at[0], "stem.0");
    x = norm(b, x, "stem.1");
    for (int stage = 0; stage < v->depth.count && done < blocks; stage++) {
        builder_enter(b, "stages.%d", stage);
        if (stage) x = downsample(b, x, v->dim.at[stage]);
        for (int i = 0; i < v->depth.at[stage] && done < blocks; i++, done++) {
            builder_enter(b, "stages.%d.blocks.%d", stage, i);
            x = block(b, x, v->dim.at[stage], v->drop_path * done / max_int(depth(b->c) - 1, 1));
        }
    }
    builder_enter(b, "%s", "");
    return x;
}

static tensor *build(graph *g, const model_config *c, tensor *images)
{
    builder b = builder_of(g, c);
    tensor *x = norm(&b, mean_tokens(g, body(&b, images, depth(c))), "head.norm");
    b.part = PARAM_HEAD;
    return dense(&b, x, c->outputs, 1, "head.fc");
}

static tensor *tokens(graph *g, const model_config *c, tensor *images, int blocks)
{
    builder b = builder_of(g, c);
    return body(&b, images, blocks);
}

static int token_side(const model_config *c, int blocks)
{
    return stage_token_side(&own_of(c)->depth, own_of(c)->patch, blocks);
}

/* ---- models ---------------------------------------------------------------------------------- */

extern const model_family family_convnext;

/* As the authors run it on CIFAR-100 with real systems. The layer replaces the convolution, so its
 * initial values are not close to the identity; D is off, although they count its parameters. */
static const mixer_preset mixers[] = {
    {"ssm2d", "directions=4 n_ssm=2 d_state=16 c_per_channel=true assign=authors init=authors "
              "skip=false trunc_rows=9 trunc_cols=9"},
    {"s4nd", "n_ssm=2 d_state=16 init=authors"},
    {"ema", "d_state=16"},
    {0}};

#define CONVNEXT_COMMON .mlp_ratio = 4, .norm_eps = 1e-6, .layer_scale = 1e-6

static const convnext_config mini = {CONVNEXT_COMMON, .patch = 2, .dim = STAGE_LIST(48, 96, 192),
                                     .depth = STAGE_LIST(2, 2, 2)};
static const convnext_config small = {CONVNEXT_COMMON, .patch = 1,
                                      .dim = STAGE_LIST(64, 128, 256, 512),
                                      .depth = STAGE_LIST(2, 2, 2, 2)};
static const convnext_config tiny = {CONVNEXT_COMMON, .patch = 4,
                                     .dim = STAGE_LIST(96, 192, 384, 768),
                                     .depth = STAGE_LIST(3, 3, 9, 3)};

/* clang-format off */
static const model models[] = {
    {.name = "convnext-mini", .help = "a small ConvNeXt for small images",
     .family = &family_convnext, .image = 32, .channels = 3, .outputs = 10, .own = &mini,
     .mixers = mixers, .mixer = &layer_conv},
    {.name = "convnext-small", .help = "the authors' ConvNeXt for small images",
     .family = &family_convnext, .image = 32, .channels = 3, .outputs = 100, .own = &small,
     .mixers = mixers, .mixer = &layer_conv},
    {.name = "convnext", .help = "ConvNeXt tiny", .family = &family_convnext,
     .image = 224, .channels = 3, .outputs = 1000, .own = &tiny, .mixers = mixers,
     .mixer = &layer_conv},
    {0}};
/* clang-format on */

const model_family family_convnext = {.name = "convnext",
                                      .own_size = sizeof(convnext_config),
                                      .fields = fields,
                                      .models = models,
                                      .fits = fits,
                                      .fill = fill,
                                      .check = check,
                                      .build = build,
                                      .depth = depth,
                                      .tokens = tokens,
                                      .token_side = token_side};
