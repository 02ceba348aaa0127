/* registry - the table of models. A line is a name, a builder and the values a configuration of
 * that name starts from. */
#include "core/status.h"
#include "core/suggest.h"
#include "io/text.h"
#include "models/registry.h"

#include <string.h>

model_builder vit_build;

/* The mixer, when one is asked for: 4 directions, 2 systems each, so that the parameters are as
 * many as the paper counts (K*N = 128 per layer of the small ViT, 32 of DeiT). The rest is the
 * layer's own default. */
#define MIXER(states)                                                                              \
    .mixer = {&mixer_none,                                                                         \
              PLACE_ATTN,                                                                          \
              SSM2D_INIT_IDENTITY,                                                                 \
              {.directions = 4, .n_ssm = 2, .d_state = states}}

#define VIT(patches, dims, depths, head_count, class_count)                                        \
    {                                                                                              \
        .image = {32, 32}, .channels = 3, .patch = patches, .classes = class_count, .dim = dims,   \
        .depth = depths, .heads = head_count, .mlp_ratio = 2, .qkv_bias = 0, .norm_eps = 1e-5,     \
        .pos_embed = 1, MIXER(16)                                                                  \
    }

#define DEIT(dims, depths, head_count)                                                             \
    {                                                                                              \
        .image = {224, 224}, .channels = 3, .patch = 16, .classes = 1000, .dim = dims,             \
        .depth = depths, .heads = head_count, .mlp_ratio = 4, .qkv_bias = 1, .norm_eps = 1e-6,     \
        .pos_embed = 1, MIXER(4)                                                                   \
    }

static const model models[] = {
    {"vit-mini",
     "a small ViT for small images",
     vit_build,
     START_XAVIER,
     VIT(4, 96, 4, 4, 10),
     0,
     {0}},
    {"vit",
     "the paper's ViT for small images",
     vit_build,
     START_XAVIER,
     VIT(0, 192, 9, 12, 100),
     100,
     {2.71, 2.72, 2.73}},
    {"deit-t",
     "DeiT tiny",
     vit_build,
     START_TRUNC_NORMAL,
     DEIT(192, 12, 3),
     40,
     {5.532, 5.537, 5.541}},
    {"deit-s",
     "DeiT small",
     vit_build,
     START_TRUNC_NORMAL,
     DEIT(384, 12, 6),
     40,
     {21.681, 21.688, 21.691}},
    {"deit-b",
     "DeiT base",
     vit_build,
     START_TRUNC_NORMAL,
     DEIT(768, 12, 12),
     40,
     {85.829, 85.841, 85.845}},
    /* not listed: it has no size */
    {"deit", "a DeiT of any size", vit_build, START_TRUNC_NORMAL, DEIT(0, 0, 0), 0, {0}},
};

enum { MODELS = sizeof models / sizeof *models, LISTED = MODELS - 1 };

static const char *const later[] = {"swin", "swin-t", "mega", "mega-t", "mega-lra"};

const model *model_at(int i) { return i >= 0 && i < LISTED ? &models[i] : NULL; }

ssm2d_status model_find(const char *name, const model **found, ssm2d_error *error)
{
    const char *names[MODELS + 1] = {0};
    char shown[40];
    for (int i = 0; i < MODELS; i++) {
        *found = &models[i];
        if (!strcmp(name, models[i].name)) return SSM2D_OK;
        names[i] = models[i].name;
    }
    *found = NULL;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (!strcmp(name, later[i]))
            return fail(error, SSM2D_ERROR_UNSUPPORTED, "model \"%s\" comes later", name);
    const char *near = closest_name(name, names);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT, "there is no model \"%s\": did you mean \"%s\"?",
                    text_show(name, strlen(name), shown, sizeof shown), near);
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "there is no model \"%s\": use vit-mini, vit, deit-t, deit-s, deit-b or deit",
                text_show(name, strlen(name), shown, sizeof shown));
}
