#include "train/recipes.h"

#include "core/status.h"
#include "core/suggest.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

/* Warm-ups are fractions, so that they scale with `epochs` when the user changes it. */

/* Lee et al., "Vision Transformer for Small-Size Datasets", as the authors of 2-D SSM use it. Their
 * code's repeated augmentation is three passes over the images. The learning rate is that of the
 * code; the paper says 3e-3. ConvNeXt follows the code of 2024: weight decay 0.1, and the same
 * stochastic depth with and without the layer. */
static const recipe_part small[] = {
    {RECIPE_ALWAYS, "epochs=100 batch=128 lr=0.001 schedule=cosine warmup=0.1 lr_start=1e-06 "
                    "lr_final=1e-06 decay=0.05 beta1=0.9 beta2=0.999 eps=1e-08 smoothing=0.1"},
    {RECIPE_ALWAYS, "flip=true crop_padding=4 autoaugment=cifar"},
    {RECIPE_TINY_IMAGENET, "autoaugment=imagenet"},
    {RECIPE_ALWAYS, "erasing=0.25 erasing_area=0.4 erasing_fill=mean erasing_ratio=uniform "
                    "erasing_tries=100"},
    {RECIPE_ALWAYS, "mixup=1 cutmix=1 mix_probability=0.5 mix_switch=0.5 mix_partner=permutation "
                    "repeats=3 repeat_kind=passes drop_path=0.1"},
    {RECIPE_SSM2D, "drop_path=0.2"},
    {RECIPE_MEGA, "drop_path=0"},
    {RECIPE_CONVNEXT, "decay=0.1 drop_path=0.1"},
    {0}};

/* Shared by deit and celeba: the optimiser, augmentation and regularisation of DeiT. */
static const char deit_optimizer[] =
    "batch=64 lr=0.0005 lr_batch=512 schedule=cosine schedule_start=run lr_every=epoch "
    "lr_start=1e-06 lr_final=1e-05 decay=0.05 decay_of=matrices beta1=0.9 beta2=0.999 eps=1e-08 "
    "ema=0.99996 smoothing=0.1";
static const char deit_images[] =
    "interpolation=bicubic resized_crop=0.08 resized_crop_ratio=1.3333333333333333 "
    "reduced_decoding=true flip=true randaugment=2 randaugment_magnitude=9 randaugment_std=0.5 "
    "randaugment_probability=0.5 erasing=0.25 erasing_area=0.3333333333333333 erasing_fill=pixel "
    "erasing_ratio=log-uniform erasing_tries=10 mixup=0.8 cutmix=1 mix_probability=1 "
    "mix_switch=0.5 mix_partner=reversed repeats=3 repeat_kind=images drop_path=0.1 "
    "drop_path_ramp=true";

/* The warm-up is 5 of 300 epochs, for Swin and Mega 20. DeiT's code has an option for 10 cooldown
 * epochs, but ends before them. Mega's batch of 1024 images is cut into slices to save memory. */
static const recipe_part deit[] = {
    {RECIPE_ALWAYS, "epochs=300 cooldown_epochs=0 warmup=0.016666666666666666"},
    {RECIPE_ALWAYS, deit_optimizer},
    {RECIPE_ALWAYS, deit_images},
    {RECIPE_SWIN, "warmup=0.06666666666666667 lr_scaled=all schedule_start=warmup lr_every=step "
                  "lr_start=5e-07 lr_final=5e-06 clip=5 repeats=1 ema=0 drop_path=0.2"},
    {RECIPE_MEGA, "warmup=0.06666666666666667 batch=1024 slices=16 ema=0 drop_path=0.2 "
                  "erasing_clip=2 lr=0.002 lr_batch=0 beta2=0.98 clip=1 lr_start=1e-05 "
                  "lr_final=1e-06"},
    {RECIPE_ALWAYS, "eval_crop=0.875"},
    {0}};

/* The warm-up is 5 of 20 epochs, and every model uses the settings of DeiT, as in the paper. The
 * faces are already cropped, so evaluation uses the whole image. */
static const recipe_part celeba[] = {{RECIPE_ALWAYS, "epochs=20 cooldown_epochs=0 warmup=0.25"},
                                     {RECIPE_ALWAYS, deit_optimizer},
                                     {RECIPE_ALWAYS, deit_images},
                                     {RECIPE_ALWAYS, "eval_crop=0 binary_smoothing=0"},
                                     {0}};

/* As in the paper's code of 2023: 5,000 of the 50,000 images are held out to choose the best epoch;
 * 200 epochs of 45,000 images are 180,000 steps, 9,000 of them warm-up. */
static const recipe_part lra[] = {
    {RECIPE_ALWAYS, "epochs=200 val_fraction=0.1 decay_of=everything batch=50 lr=0.01 "
                    "schedule=linear warmup=0.05 lr_start=1e-07 lr_final=0 decay=0.02 beta1=0.9 "
                    "beta2=0.98 eps=1e-08 clip=1 smoothing=0 norm_mean=0.48 norm_std=0.24 "
                    "channels=1 drop_path=0"},
    {0}};

static const recipe_part quick[] = {
    {RECIPE_ALWAYS, "epochs=4 batch=128 lr=0.002 schedule=cosine warmup=0.1 decay=0.05 "
                    "smoothing=0.1 drop_path=0"},
    {0}};

static const recipe table[] = {
    {"small",
     "small data sets, as Lee et al. and the authors of 2-D SSM train on CIFAR: 100 epochs", small},
    {"deit", "ImageNet, as DeiT, Swin and Mega: 300 epochs", deit},
    {"celeba", "attributes of CelebA: as deit, 20 epochs", celeba},
    {"lra", "grey images of the Long Range Arena, as Mega: 180,000 steps on CIFAR-10", lra},
    {"quick", "a few minutes: 4 epochs without augmentation, the defaults of named data sets",
     quick},
};
enum { RECIPES = sizeof table / sizeof *table };

const recipe *recipe_at(int i) { return i >= 0 && i < RECIPES ? &table[i] : NULL; }

const recipe *recipe_find(const char *name, ssm2d_error *error)
{
    const char *names[RECIPES + 1] = {NULL};
    char list[128] = "", shown[48];
    for (int i = 0; i < RECIPES; i++) {
        if (!strcmp(table[i].name, name)) return &table[i];
        names[i] = table[i].name;
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", table[i].name);
    }
    const char *near = closest_name(name, names);
    text_show(name, strlen(name), shown, sizeof shown);
    if (near)
        fail(error, SSM2D_ERROR_ARGUMENT, "there is no recipe %s; did you mean %s?", shown, near);
    else
        fail(error, SSM2D_ERROR_ARGUMENT, "there is no recipe %s: use one of %s", shown, list);
    return NULL;
}

int recipe_line_at(const recipe *r, int i, recipe_line *line)
{
    int length;
    for (const recipe_part *part = r->parts; part->settings; part++) {
        const char *at = part->settings;
        line->when = part->when;
        for (; sscanf(at, " %31[^=]=%31s%n", line->key, line->value, &length) == 2; at += length)
            if (i-- == 0) return 1;
    }
    return 0;
}

static int is_of_family(const train_settings *run, const char *name)
{
    return !strcmp(run->model.model->family->name, name);
}

static int is_tiny_imagenet(const char *data)
{
    const char *kind = dataset_kind(data);
    return kind && !strcmp(kind, "tiny-imagenet");
}

int recipe_line_applies(const recipe_line *line, const train_settings *run)
{
    if (!train_settings_have(run, line->key)) return 0;
    switch (line->when) {
    case RECIPE_SSM2D: return run->model.mixer.kind == &layer_ssm2d;
    case RECIPE_TINY_IMAGENET: return is_tiny_imagenet(run->options.data);
    case RECIPE_SWIN: return is_of_family(run, "swin");
    case RECIPE_MEGA: return is_of_family(run, "mega");
    case RECIPE_CONVNEXT: return is_of_family(run, "convnext");
    case RECIPE_ALWAYS: break;
    }
    return 1;
}

ssm2d_status recipe_apply(const recipe *r, const train_settings *run, train_settings *s,
                          ssm2d_error *error)
{
    char where[48];
    recipe_line line;
    ssm2d_status status = SSM2D_OK;
    snprintf(where, sizeof where, "recipe %s", r->name);
    for (int i = 0; !status && recipe_line_at(r, i, &line); i++)
        if (recipe_line_applies(&line, run))
            status = train_settings_set(s, where, line.key, line.value, error);
    train_settings_close_training(s); /* settings that a recipe omits keep their defaults */
    return status;
}
