#include "published.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *published_variant_name(int i)
{
    static const char *const names[VARIANTS] = {"code", "text", "count", "library"};
    return i >= 0 && i < VARIANTS ? names[i] : NULL;
}

#define CODE_SIZES                                                                                 \
    "n_ssm and N as in its published commands, and where these name none, ViT has n_ssm 2, which " \
    "fits its printed parameter count, DeiT and Swin-T have what fits theirs, and Swin has n_ssm " \
    "8, by the text"
#define COUNT_MEANS                                                                                \
    "as code, but n_ssm and N are those that fit the printed parameter counts: Swin has n_ssm 16 " \
    "with real systems, and n_ssm 8 and a LayerNorm with complex ones"
#define LIBRARY_MEANS "models and mixers with the defaults of ssm2d train"

/* With the paper's training, and with a scale's own. */
#define ON_SMALL_DATA "on CIFAR-100 and Tiny-ImageNet, "
#define FULL_CODE                                                                                  \
    "learning rate 0.001 and AutoAugment " ON_SMALL_DATA                                           \
    "as in the authors' code of June 2023; " CODE_SIZES
#define FULL_TEXT                                                                                  \
    "learning rate 0.003 and Rand-Augment " ON_SMALL_DATA                                          \
    "n_ssm 8 and N 16 in every model, as the paper's text says"
#define SMALL_CODE                                                                                 \
    "initial values, weight decay and mixers as in the authors' code of June 2023; " CODE_SIZES
#define SMALL_TEXT "as code, but n_ssm 8 and N 16 in every model, as the paper's text says"

static const char *const means[2][VARIANTS] = {{SMALL_CODE, SMALL_TEXT, COUNT_MEANS, LIBRARY_MEANS},
                                               {FULL_CODE, FULL_TEXT, COUNT_MEANS, LIBRARY_MEANS}};

published_variant published_default(int has_training)
{
    return has_training ? VARIANT_CODE : VARIANT_LIBRARY;
}

/* "NAME, the default: what it means", behind other text. */
static void add_meaning(char *text, const char *before, published_variant v, int has_training)
{
    const size_t used = strlen(text);
    snprintf(text + used, PUBLISHED_NOTE - used, "%s%s%s: %s", before,
             published_variant_name((int)v),
             v == published_default(has_training) ? ", the default at this scale" : "",
             means[has_training != 0][v]);
}

void published_variant_note(published_variant v, int has_training, char text[PUBLISHED_NOTE])
{
    const char *before = ". The others are ";
    snprintf(text, PUBLISHED_NOTE, "%s",
             v == VARIANT_LIBRARY
                 ? ""
                 : "Text, code and printed parameter counts of the paper disagree. ");
    add_meaning(text, "This is the variant ", v, has_training);
    for (int i = 0; i < VARIANTS && v != VARIANT_LIBRARY; i++)
        if (i != (int)v) {
            add_meaning(text, before, (published_variant)i, has_training);
            before = i + 2 < VARIANTS ? "; " : "; and ";
        }
    const size_t used = strlen(text);
    snprintf(text + used, PUBLISHED_NOTE - used, "%s%s",
             v == VARIANT_LIBRARY
                 ? ". With --variant code, text or count models and mixers follow the paper."
                 : ".",
             has_training ? "" : " Training is the scale's own in every variant.");
}

/* ---- mixers ---------------------------------------------------------------------------------- */

/* The layer of 2023, whatever its size. */
#define LAYER                                                                                      \
    "mixer.init=authors mixer.assign=paper mixer.place=attn mixer.c_per_channel=false "            \
    "mixer.skip=true mixer.norm=relaxed mixer.average=false "
#define SIZE(directions, n_ssm, n)                                                                 \
    "mixer.directions=" #directions " mixer.n_ssm=" #n_ssm " mixer.d_state=" #n
#define S4ND(n_ssm)                                                                                \
    "mixer.form=dplr mixer.init=authors mixer.place=attn mixer.d_state=16 mixer.n_ssm=" #n_ssm
#define EMA "mixer.d_state=16"

enum { REAL = 1, COMPLEX = 2, ANY = REAL | COMPLEX };

static const struct {
    const char *model, *mixer;
    int values; /* REAL, COMPLEX or ANY */
    const char *code, *text, *count;
} mixers[] = {
    {"vit", "ssm2d", ANY, LAYER SIZE(4, 2, 16), "mixer.n_ssm=8", ""},
    {"vit", "s4nd", ANY, S4ND(2), "mixer.n_ssm=8", ""},
    {"vit", "ema", ANY, EMA, "", ""},
    {"mega", "ssm2d", ANY, LAYER SIZE(4, 8, 16), "", ""},
    {"mega", "s4nd", ANY, S4ND(2), "mixer.n_ssm=8", ""},
    {"mega", "ema", ANY, EMA, "", ""},
    {"swin", "ssm2d", REAL, LAYER SIZE(4, 8, 16), "", "mixer.n_ssm=16"},
    {"swin", "ssm2d", COMPLEX, LAYER SIZE(4, 8, 16), "", "mixer.layer_norm=true"},
    {"swin", "s4nd", ANY, S4ND(8), "", ""},
    {"swin", "ema", ANY, EMA, "", ""},
    {"deit-t", "ssm2d", ANY, LAYER SIZE(4, 2, 4), "mixer.n_ssm=8 mixer.d_state=16", ""},
    {"deit-s", "ssm2d", ANY, LAYER SIZE(4, 2, 4), "mixer.n_ssm=8 mixer.d_state=16", ""},
    {"deit-b", "ssm2d", ANY, LAYER SIZE(4, 2, 4), "mixer.n_ssm=8 mixer.d_state=16", ""},
    {"swin-t", "ssm2d", ANY, LAYER SIZE(4, 1, 4), "mixer.n_ssm=8 mixer.d_state=16", ""},
    {"mega-lra", "ssm2d", ANY, LAYER "mixer.activation=silu " SIZE(2, 2, 1),
     "mixer.directions=4 mixer.n_ssm=8 mixer.d_state=16", ""},
    {"mega-lra", "ema", ANY, EMA, "", ""},
    {"mega-t", "ssm2d", ANY, LAYER SIZE(4, 8, 16), "", ""},
    {"mega-t", "ema", ANY, EMA, "", ""},
};

/* ---- models and training --------------------------------------------------------------------- */

static const struct {
    const char *model, *settings;
    int has_text; /* the text says how it is trained */
} models[] = {
    {"vit", "decay_of=paper", 1},
    {"swin", "decay_of=paper init=torch", 1},
    {"mega", "decay_of=paper init=authors", 1},
    {"mega-lra", "decay_of=everything head=lra", 0},
};

static const struct {
    const char *small, *paper;
} smaller[] = {{"vit-mini", "vit"}, {"swin-mini", "swin"}, {"mega-mini", "mega"}};

/* The learning rate and the policy of the text, DeiT's Rand-Augment. */
static const char text_training[] =
    "lr=0.003 autoaugment=none randaugment=2 randaugment_magnitude=9 randaugment_std=0.5 "
    "randaugment_probability=0.5";

const char *published_model(const char *model)
{
    for (size_t i = 0; i < sizeof smaller / sizeof *smaller; i++)
        if (!strcmp(smaller[i].small, model)) return smaller[i].paper;
    return model;
}

published_settings published_find(const char *model, const char *mixer, int is_complex,
                                  published_variant v)
{
    published_settings found = {"", "", "", ""};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (strcmp(models[i].model, model)) continue;
        found.model = models[i].settings;
        if (v == VARIANT_TEXT && models[i].has_text) found.training = text_training;
    }
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        if (strcmp(mixers[i].model, model) || strcmp(mixers[i].mixer, mixer)
            || !(mixers[i].values & (is_complex ? COMPLEX : REAL)))
            continue;
        found.mixer = mixers[i].code;
        if (v == VARIANT_TEXT) found.variant = mixers[i].text;
        if (v == VARIANT_COUNT) found.variant = mixers[i].count;
    }
    return found;
}
