/* swin - the Swin transformer: attention within windows of a map of tokens, shifted in every other
 * block, in stages that halve the sides of the map and double the channels. Names are timm's.
 * C = dim of the stage, H x W its map.
 *
 *     x = norm(patches W^T + b) + pos                                       [B][H*W][C]
 *     stage s > 0 begins with
 *                  x = reduction(norm(2 x 2 neighbours side by side))       [B][H/2*W/2][2*C]
 *     each block:  x += proj(attention(qkv(norm1(x)))), within windows
 *                  x += fc2(GELU(fc1(norm2(x))))
 *     logits = head(mean of norm(x) over tokens)                            [B][outputs]
 *
 * Any map is accepted: sides that are not a multiple of the window are padded for attention only
 * (swin_windows.h), odd sides by a row or column of zeros before 2 x 2 neighbours are merged. */
#include "models/swin.h"

#include "core/arith.h"
#include "core/status.h"
#include "models/blocks.h"
#include "models/swin_windows.h"
#include "ops/ops.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(swin_config) <= MODEL_OWN, "MODEL_OWN is too small");

/* ---- configuration --------------------------------------------------------------------------- */

static const char *const init_names[] = {
    [SWIN_TRUNC_NORMAL] = "trunc_normal", [SWIN_TORCH] = "torch", NULL};

#define OWN swin_config

static const ssm2d_field fields[] = {
    OWN_FIELD(INT, patch, 1, 1024, "side of a patch in pixels"),
    OWN_FIELD(LIST, dim, 1, 16384,
              "embedding dimension of each stage, twice that of the previous one: [96, 192, 384], "
              "or only the first"),
    OWN_FIELD(LIST, depth, 1, 1024, "number of blocks of each stage: [2, 6, 4]"),
    OWN_FIELD(LIST, heads, 1, 1024,
              "attention heads of each stage, which divide its dim; one number is doubled from "
              "stage to stage"),
    OWN_FIELD(REAL, mlp_ratio, 0.01, 64, "hidden width of the MLP, as a multiple of dim"),
    OWN_FIELD(INT, window, 1, 1024,
              "side of a window of attention in tokens; a smaller map is one window"),
    OWN_FLAG(qkv_bias, "a bias on q, k and v"),
    OWN_FIELD(REAL, norm_eps, 1e-12, 1, "eps of every LayerNorm except the mixer's"),
    OWN_FLAG(pos_embed, "a learned position embedding, besides the relative one of attention"),
    OWN_FLAG(relative_bias,
             "a learned bias of attention for each offset between tokens of a window"),
    OWN_FLAG(patch_norm, "LayerNorm on the embedded patches"),
    OWN_FIELD(REAL, drop_path, 0, 0.99,
              "stochastic depth: the rate at which a branch of the last block is dropped in "
              "training, growing linearly from 0 in the first"),
    OWN_CHOICE(init, init_names,
               "initial weights: trunc_normal (deviation 0.02, biases 0), or torch, as the paper's "
               "code of 2023: PyTorch's defaults, within +-1/sqrt(inputs) with biases; embeddings "
               "deviation 0.02"),
    {0}};

static const swin_config *own_of(const model_config *c) { return (const void *)c->own; }
static int hidden_of(const swin_config *v, int dim) { return (int)(dim * v->mlp_ratio); }

enum { SMALL_PATCH = 2 }; /* 16 x 16 patches at 32 and at 64 pixels */

static int fits(const model_config *c, int rows, int cols)
{
    return patches_fit(patch_side(own_of(c)->patch, SMALL_PATCH, rows, cols), rows, cols);
}

static void fill(model_config *c)
{
    swin_config *v = swin_of(c);
    v->patch = patch_side(v->patch, SMALL_PATCH, c->image[0], c->image[1]);
    stage_list_fill(&v->dim, v->depth.count, 16384);
    stage_list_fill(&v->heads, v->depth.count, 1024);
}

static ssm2d_status check_stages(const swin_config *v, ssm2d_error *error)
{
    const int stages = v->depth.count;
    if (v->dim.count != stages || v->heads.count != stages)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"depth\" has %d stages, \"dim\" %d and \"heads\" %d: give all of them one "
                    "number per stage",
                    stages, v->dim.count, v->heads.count);
    for (int s = 1; s < stages; s++)
        if (v->dim.at[s] != 2 * v->dim.at[s - 1])
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "\"dim\" is %d in stage %d: it must be %d, twice that of the previous one",
                        v->dim.at[s], s, 2 * v->dim.at[s - 1]);
    for (int s = 0; s < stages; s++)
        if (v->dim.at[s] % v->heads.at[s])
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "\"heads\" is %d in stage %d: it must divide \"dim\", which is %d there",
                        v->heads.at[s], s, v->dim.at[s]);
    return SSM2D_OK;
}

static ssm2d_status check(const model_config *c, ssm2d_error *error)
{
    const swin_config *v = own_of(c);
    ssm2d_status status = check_patch(c, v->patch, error);
    if (!status) status = check_stages(v, error);
    if (!status && hidden_of(v, v->dim.at[0]) < 1)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "\"mlp_ratio\" is %g: too small for \"dim\" %d",
                      v->mlp_ratio, v->dim.at[0]);
    for (int s = 0; s < v->depth.count && !status; s++) {
        const int dim = v->dim.at[s];
        status = mixer_config_check(&c->mixer,
                                    c->mixer.place == PLACE_FFN ? hidden_of(v, dim) : dim, error);
    }
    return status;
}

/* ---- graph ----------------------------------------------------------------------------------- */

typedef struct swin_builder {
    builder b;
    const swin_config *v;
    int stage;
    double drop; /* of this block's branches */
} swin_builder;

static const initial_values small = {PARAM_TRUNC_NORMAL, 0.02};

static tensor *relative_table(swin_builder *s, token_grid map)
{
    int side[2];
    swin_window_side(map, s->v->window, side);
    const size_t entries = (size_t)(2 * side[0] - 1) * (size_t)(2 * side[1] - 1);
    const param_spec spec = {.rank = 2,
                             .shape = {entries, (size_t)s->v->heads.at[s->stage]},
                             .group = PARAM_NO_DECAY,
                             .init = small.init,
                             .scale = small.scale,
                             .resize = PARAM_RELATIVE,
                             .grid = {0, ssm2d_grid_2d((size_t)side[0], (size_t)side[1])}};
    return block_param(&s->b, spec, "attn.relative_position_bias_table", "");
}

/* x, y: [B][H*W][C]. q, k and v are computed for the whole map; attention gathers the tokens of its
 * windows. */
static tensor *window_attention(swin_builder *s, tensor *x, int is_shifted)
{
    graph *g = s->b.g;
    const int dim = s->v->dim.at[s->stage];
    swin_windows w;
    if (g->status) return NULL;
    const size_t D = (size_t)dim;
    const token_grid map = x->grid;
    tensor *table = s->v->relative_bias ? relative_table(s, map) : NULL;
    tensor *qkv = keep(g, dense(&s->b, x, 3 * dim, s->v->qkv_bias, "attn.qkv"));
    if (g->status) return NULL;
    if (!swin_windows_make(g->context, map, s->v->window, is_shifted, &w))
        return graph_no_memory(g);
    x = attention_of(g, columns(g, qkv, 0, D), columns(g, qkv, D, D), columns(g, qkv, 2 * D, D),
                     &(attention_options){.heads = s->v->heads.at[s->stage],
                                          .bias = table,
                                          .position = w.position,
                                          .center = w.center,
                                          .order = w.token,
                                          .tokens = w.tokens,
                                          .mask = w.mask,
                                          .mask_of = w.mask_of,
                                          .masks = w.masks,
                                          .groups = w.windows});
    swin_windows_free(g->context, &w);
    return dense(&s->b, keep(g, x), dim, 1, "attn.proj");
}

static tensor *add_branch(swin_builder *s, tensor *x, tensor *branch)
{
    return add(s->b.g, x, drop_path(s->b.g, branch, s->drop));
}

static tensor *block(swin_builder *s, tensor *x, int is_shifted)
{
    builder *b = &s->b;
    const int dim = s->v->dim.at[s->stage];
    x = mix_at(b, x, PLACE_BLOCK);
    tensor *y = mix_at(b, norm(b, x, "norm1"), PLACE_ATTN);
    x = add_branch(s, x, window_attention(s, y, is_shifted));
    y = dense(b, norm(b, x, "norm2"), hidden_of(s->v, dim), 1, "mlp.fc1");
    y = gelu(b->g, keep_narrow(b->g, mix_at(b, y, PLACE_FFN)));
    return add_branch(s, x, dense(b, y, dim, 1, "mlp.fc2"));
}

static tensor *downsample(swin_builder *s, tensor *x)
{
    if (s->b.g->status) return NULL;
    builder_enter(&s->b, "layers.%d.downsample", s->stage);
    x = norm(&s->b, merge(s->b.g, x, grid_rows(x->grid.shape), grid_cols(x->grid.shape)), "norm");
    return dense(&s->b, x, s->v->dim.at[s->stage], 0, "reduction");
}

static int depth(const model_config *c) { return stage_list_sum(&own_of(c)->depth); }

static swin_builder builder_of(graph *g, const model_config *c)
{
    const initial_values torch = {PARAM_FAN_IN, 1};
    return (swin_builder){.b = {.g = g,
                                .c = c,
                                .weights = own_of(c)->init == SWIN_TORCH ? torch : small,
                                .norm_eps = own_of(c)->norm_eps,
                                .part = PARAM_BODY},
                          .v = own_of(c)};
}

/* Patch embedding, positions, and the first `blocks` blocks, counted over all stages. */
static tensor *body(swin_builder *s, tensor *images, int blocks)
{
    const model_config *c = s->b.c;
    const swin_config *v = s->v;
    const token_grid grid = {0, patch_grid(c, v->patch)};
    int done = 0;
    tensor *pos =
        v->pos_embed ? positions(&s->b, grid, v->dim.at[0], small, "absolute_pos_embed") : NULL;
    tensor *x = embed_patches(&s->b, images, v->patch, v->dim.at[0]);
    if (v->patch_norm) x = norm(&s->b, x, "patch_embed.norm");
    if (pos) x = embed(s->b.g, x, NULL, pos);
    for (s->stage = 0; s->stage < v->depth.count && done < blocks; s->stage++) {
        if (s->stage) x = downsample(s, x);
        for (int i = 0; i < v->depth.at[s->stage] && done < blocks; i++, done++) {
            builder_enter(&s->b, "layers.%d.blocks.%d", s->stage, i);
            s->drop = v->drop_path * done / max_int(depth(c) - 1, 1);
            x = block(s, x, i % 2);
        }
    }
    builder_enter(&s->b, "%s", "");
    return x;
}

static tensor *build(graph *g, const model_config *c, tensor *images)
{
    swin_builder s = builder_of(g, c);
    tensor *x = mean_tokens(g, norm(&s.b, body(&s, images, depth(c)), "norm"));
    s.b.part = PARAM_HEAD;
    return dense(&s.b, x, c->outputs, 1, "head.fc");
}

static tensor *tokens(graph *g, const model_config *c, tensor *images, int blocks)
{
    swin_builder s = builder_of(g, c);
    return body(&s, images, blocks);
}

static int token_side(const model_config *c, int blocks)
{
    return stage_token_side(&own_of(c)->depth, own_of(c)->patch, blocks);
}

/* ---- names in files -------------------------------------------------------------------------- */

static int ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

/* Files of Swin's authors, and of timm before version 0.9, have each downsample at the end of the
 * previous stage, the head without `fc`, and index and mask of attention besides the parameters. */
static int rename_array(const array_names *names, const char *name, char ours[PARAM_NAME])
{
    static const char layers[] = "layers.", first[] = "layers.0.downsample.reduction.weight";
    const char *index = name + strlen(layers);
    int stage, end = 0;
    if (!strcmp(name, "head.weight") || !strcmp(name, "head.bias"))
        snprintf(ours, PARAM_NAME, "head.fc%s", strchr(name, '.'));
    if (strncmp(name, layers, strlen(layers)) || *index < '0' || *index > '9') return 1;
    if (sscanf(index, "%1d.downsample.%n", &stage, &end) == 1 && end
        && names->has(names->file, first))
        snprintf(ours, PARAM_NAME, "layers.%d.downsample.%s", stage + 1, index + end);
    return !ends_with(name, ".attn.relative_position_index") && !ends_with(name, ".attn_mask");
}

/* ---- models ---------------------------------------------------------------------------------- */

extern const model_family family_swin;

/* The parameter counts are those of the paper: for the small Swin with C per direction and channel,
 * which only the paper's code of 2024 has (no known settings of the code of 2023 have so many); for
 * Swin-T with K*N = 16 in a layer. Each direction of a channel has its own system, as in ViT. The
 * layer is before the norm of a block. The authors have it after the norm, where its amplification
 * reaches attention, and training collapses at the paper's learning rates (docs/complex.md). S4ND
 * has the same place, and also starts close to the plain model. */
static const mixer_preset small_mixers[] = {
    {"ssm2d", "directions=4 n_ssm=2 d_state=4 c_per_channel=true assign=distinct place=block"},
    {"s4nd", "n_ssm=8 d_state=16 init=identity place=block"},
    {"ema", "d_state=16"},
    {0}};
static const mixer_preset tiny_mixers[] = {
    {"ssm2d", "directions=4 n_ssm=1 d_state=4 assign=distinct place=block"},
    {"s4nd", "n_ssm=8 d_state=16 init=identity place=block"},
    {"ema", "d_state=16"},
    {0}};

#define SWIN_COMMON .qkv_bias = 1, .norm_eps = 1e-5, .relative_bias = 1, .patch_norm = 1
#define SMALL_COMMON                                                                               \
    SWIN_COMMON, .heads = STAGE_LIST(3, 6, 12), .mlp_ratio = 2, .window = 4, .pos_embed = 1

static const swin_config swin_mini = {SMALL_COMMON, .patch = 2, .dim = STAGE_LIST(48, 96, 192),
                                      .depth = STAGE_LIST(2, 2, 2)};
static const swin_config swin_small = {SMALL_COMMON, .dim = STAGE_LIST(96, 192, 384),
                                       .depth = STAGE_LIST(2, 6, 4)};
static const swin_config swin_tiny = {SWIN_COMMON,
                                      .patch = 4,
                                      .dim = STAGE_LIST(96, 192, 384, 768),
                                      .depth = STAGE_LIST(2, 2, 6, 2),
                                      .heads = STAGE_LIST(3, 6, 12, 24),
                                      .mlp_ratio = 4,
                                      .window = 7};

/* clang-format off */
static const model models[] = {
    {.name = "swin-mini", .help = "a small Swin for small images", .family = &family_swin,
     .image = 32, .channels = 3, .outputs = 10, .own = &swin_mini, .mixers = small_mixers},
    {.name = "swin", .help = "the paper's Swin for small images", .family = &family_swin,
     .image = 32, .channels = 3, .outputs = 100, .own = &swin_small, .mixers = small_mixers},
    {.name = "swin-t", .help = "Swin tiny", .family = &family_swin,
     .image = 224, .channels = 3, .outputs = 1000, .own = &swin_tiny, .mixers = tiny_mixers},
    {0}};
/* clang-format on */

const model_family family_swin = {.name = "swin",
                                  .own_size = sizeof(swin_config),
                                  .fields = fields,
                                  .models = models,
                                  .fits = fits,
                                  .fill = fill,
                                  .check = check,
                                  .build = build,
                                  .depth = depth,
                                  .tokens = tokens,
                                  .token_side = token_side,
                                  .rename = rename_array};
