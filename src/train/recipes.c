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
static const recipe_line small[] = {
    {"epochs", "100", RECIPE_ALWAYS},        {"batch", "128", RECIPE_ALWAYS},
    {"lr", "0.001", RECIPE_ALWAYS},          {"schedule", "cosine", RECIPE_ALWAYS},
    {"warmup", "0.1", RECIPE_ALWAYS},        {"lr_start", "1e-06", RECIPE_ALWAYS},
    {"lr_final", "1e-06", RECIPE_ALWAYS},    {"decay", "0.05", RECIPE_ALWAYS},
    {"beta1", "0.9", RECIPE_ALWAYS},         {"beta2", "0.999", RECIPE_ALWAYS},
    {"eps", "1e-08", RECIPE_ALWAYS},         {"smoothing", "0.1", RECIPE_ALWAYS},
    {"flip", "true", RECIPE_ALWAYS},         {"crop_padding", "4", RECIPE_ALWAYS},
    {"autoaugment", "cifar", RECIPE_ALWAYS}, {"autoaugment", "imagenet", RECIPE_TINY_IMAGENET},
    {"erasing", "0.25", RECIPE_ALWAYS},      {"erasing_area", "0.4", RECIPE_ALWAYS},
    {"erasing_fill", "mean", RECIPE_ALWAYS}, {"erasing_ratio", "uniform", RECIPE_ALWAYS},
    {"erasing_tries", "100", RECIPE_ALWAYS}, {"mixup", "1", RECIPE_ALWAYS},
    {"cutmix", "1", RECIPE_ALWAYS},          {"mix_probability", "0.5", RECIPE_ALWAYS},
    {"mix_switch", "0.5", RECIPE_ALWAYS},    {"mix_partner", "permutation", RECIPE_ALWAYS},
    {"repeats", "3", RECIPE_ALWAYS},         {"repeat_kind", "passes", RECIPE_ALWAYS},
    {"drop_path", "0.1", RECIPE_ALWAYS},     {"drop_path", "0.2", RECIPE_SSM2D},
    {"drop_path", "0", RECIPE_MEGA},         {"decay", "0.1", RECIPE_CONVNEXT},
    {"drop_path", "0.1", RECIPE_CONVNEXT},   {0}};

/* Shared by deit and celeba: the augmentation and regularisation of DeiT. */
#define DEIT_LINES                                                                                 \
    {"batch", "64", RECIPE_ALWAYS}, {"lr", "0.0005", RECIPE_ALWAYS},                               \
        {"lr_batch", "512", RECIPE_ALWAYS}, {"schedule", "cosine", RECIPE_ALWAYS},                 \
        {"schedule_start", "run", RECIPE_ALWAYS}, {"lr_every", "epoch", RECIPE_ALWAYS},            \
        {"lr_start", "1e-06", RECIPE_ALWAYS}, {"lr_final", "1e-05", RECIPE_ALWAYS},                \
        {"decay", "0.05", RECIPE_ALWAYS}, {"decay_of", "matrices", RECIPE_ALWAYS},                 \
        {"beta1", "0.9", RECIPE_ALWAYS}, {"beta2", "0.999", RECIPE_ALWAYS},                        \
        {"eps", "1e-08", RECIPE_ALWAYS}, {"ema", "0.99996", RECIPE_ALWAYS},                        \
        {"smoothing", "0.1", RECIPE_ALWAYS}, {"interpolation", "bicubic", RECIPE_ALWAYS},          \
        {"resized_crop", "0.08", RECIPE_ALWAYS},                                                   \
        {"resized_crop_ratio", "1.3333333333333333", RECIPE_ALWAYS},                               \
        {"reduced_decoding", "true", RECIPE_ALWAYS}, {"flip", "true", RECIPE_ALWAYS},              \
        {"randaugment", "2", RECIPE_ALWAYS}, {"randaugment_magnitude", "9", RECIPE_ALWAYS},        \
        {"randaugment_std", "0.5", RECIPE_ALWAYS},                                                 \
        {"randaugment_probability", "0.5", RECIPE_ALWAYS}, {"erasing", "0.25", RECIPE_ALWAYS},     \
        {"erasing_area", "0.3333333333333333", RECIPE_ALWAYS},                                     \
        {"erasing_fill", "pixel", RECIPE_ALWAYS}, {"erasing_ratio", "log-uniform", RECIPE_ALWAYS}, \
        {"erasing_tries", "10", RECIPE_ALWAYS}, {"mixup", "0.8", RECIPE_ALWAYS},                   \
        {"cutmix", "1", RECIPE_ALWAYS}, {"mix_probability", "1", RECIPE_ALWAYS},                   \
        {"mix_switch", "0.5", RECIPE_ALWAYS}, {"mix_partner", "reversed", RECIPE_ALWAYS},          \
        {"repeats", "3", RECIPE_ALWAYS}, {"repeat_kind", "images", RECIPE_ALWAYS},                 \
        {"drop_path", "0.1", RECIPE_ALWAYS},                                                       \
    {                                                                                              \
        "drop_path_ramp", "true", RECIPE_ALWAYS                                                    \
    }

/* Where the authors of Swin and Mega differ on ImageNet; their warm-up is 20 of 300 epochs. Mega's
 * batch of 1024 images is cut into slices to save memory. */
#define SWIN_AND_MEGA_LINES                                                                        \
    {"lr_scaled", "all", RECIPE_SWIN}, {"schedule_start", "warmup", RECIPE_SWIN},                  \
        {"lr_every", "step", RECIPE_SWIN}, {"lr_start", "5e-07", RECIPE_SWIN},                     \
        {"lr_final", "5e-06", RECIPE_SWIN}, {"clip", "5", RECIPE_SWIN},                            \
        {"repeats", "1", RECIPE_SWIN}, {"ema", "0", RECIPE_SWIN},                                  \
        {"drop_path", "0.2", RECIPE_SWIN}, {"batch", "1024", RECIPE_MEGA},                         \
        {"slices", "16", RECIPE_MEGA}, {"ema", "0", RECIPE_MEGA},                                  \
        {"drop_path", "0.2", RECIPE_MEGA}, {"erasing_clip", "2", RECIPE_MEGA},                     \
        {"lr", "0.002", RECIPE_MEGA}, {"lr_batch", "0", RECIPE_MEGA},                              \
        {"beta2", "0.98", RECIPE_MEGA}, {"clip", "1", RECIPE_MEGA},                                \
        {"lr_start", "1e-05", RECIPE_MEGA},                                                        \
    {                                                                                              \
        "lr_final", "1e-06", RECIPE_MEGA                                                           \
    }

/* The warm-up is 5 of 300 epochs. DeiT's code has an option for 10 cooldown epochs, but ends before
 * them. */
static const recipe_line deit[] = {{"epochs", "300", RECIPE_ALWAYS},
                                   {"cooldown_epochs", "0", RECIPE_ALWAYS},
                                   {"warmup", "0.016666666666666666", RECIPE_ALWAYS},
                                   {"warmup", "0.06666666666666667", RECIPE_SWIN},
                                   {"warmup", "0.06666666666666667", RECIPE_MEGA},
                                   DEIT_LINES,
                                   SWIN_AND_MEGA_LINES,
                                   {"eval_crop", "0.875", RECIPE_ALWAYS},
                                   {0}};

/* The warm-up is 5 of 20 epochs, and every model uses the settings of DeiT, as in the paper. The
 * faces are already cropped, so evaluation uses the whole image. */
static const recipe_line celeba[] = {{"epochs", "20", RECIPE_ALWAYS},
                                     {"cooldown_epochs", "0", RECIPE_ALWAYS},
                                     {"warmup", "0.25", RECIPE_ALWAYS},
                                     DEIT_LINES,
                                     {"eval_crop", "0", RECIPE_ALWAYS},
                                     {"binary_smoothing", "0", RECIPE_ALWAYS},
                                     {0}};

/* As in the paper's code of 2023: 5,000 of the 50,000 images are held out to choose the best epoch;
 * 200 epochs of 45,000 images are 180,000 steps, 9,000 of them warm-up. */
static const recipe_line lra[] = {{"epochs", "200", RECIPE_ALWAYS},
                                  {"val_fraction", "0.1", RECIPE_ALWAYS},
                                  {"decay_of", "everything", RECIPE_ALWAYS},
                                  {"batch", "50", RECIPE_ALWAYS},
                                  {"lr", "0.01", RECIPE_ALWAYS},
                                  {"schedule", "linear", RECIPE_ALWAYS},
                                  {"warmup", "0.05", RECIPE_ALWAYS},
                                  {"lr_start", "1e-07", RECIPE_ALWAYS},
                                  {"lr_final", "0", RECIPE_ALWAYS},
                                  {"decay", "0.02", RECIPE_ALWAYS},
                                  {"beta1", "0.9", RECIPE_ALWAYS},
                                  {"beta2", "0.98", RECIPE_ALWAYS},
                                  {"eps", "1e-08", RECIPE_ALWAYS},
                                  {"clip", "1", RECIPE_ALWAYS},
                                  {"smoothing", "0", RECIPE_ALWAYS},
                                  {"norm_mean", "0.48", RECIPE_ALWAYS},
                                  {"norm_std", "0.24", RECIPE_ALWAYS},
                                  {"channels", "1", RECIPE_ALWAYS},
                                  {"drop_path", "0", RECIPE_ALWAYS},
                                  {0}};

static const recipe_line quick[] = {{"epochs", "4", RECIPE_ALWAYS},
                                    {"batch", "128", RECIPE_ALWAYS},
                                    {"lr", "0.002", RECIPE_ALWAYS},
                                    {"schedule", "cosine", RECIPE_ALWAYS},
                                    {"warmup", "0.1", RECIPE_ALWAYS},
                                    {"decay", "0.05", RECIPE_ALWAYS},
                                    {"smoothing", "0.1", RECIPE_ALWAYS},
                                    {"drop_path", "0", RECIPE_ALWAYS},
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
    ssm2d_status status = SSM2D_OK;
    snprintf(where, sizeof where, "recipe %s", r->name);
    for (const recipe_line *line = r->lines; line->key && !status; line++)
        if (recipe_line_applies(line, run))
            status = train_settings_set(s, where, line->key, line->value, error);
    train_settings_close_training(s); /* settings that a recipe omits keep their defaults */
    return status;
}
