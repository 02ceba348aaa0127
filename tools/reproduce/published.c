#include "published.h"

#include <stddef.h>
#include <string.h>

const char *published_variant_name(int i)
{
    static const char *const names[VARIANTS] = {"code", "text", "count"};
    return i >= 0 && i < VARIANTS ? names[i] : NULL;
}

#define CODE_MEANS                                                                                 \
    "learning rate 0.001 and AutoAugment, as in the authors' code of June 2023; n_ssm and N as "   \
    "in "                                                                                          \
    "its published commands, and where these name none, ViT has n_ssm 2, which fits its printed "  \
    "parameter count, DeiT and Swin-T have what fits theirs, and Swin has n_ssm 8, by the text"
#define TEXT_MEANS                                                                                 \
    "learning rate 0.003, Rand-Augment, n_ssm 8 and N 16 in every model, as the paper's text says"
#define COUNT_MEANS                                                                                \
    "as code, but n_ssm and N are those that fit the printed parameter counts: Swin has n_ssm 16 " \
    "with real systems, and n_ssm 8 and a LayerNorm with complex ones"

const char *published_variant_note(published_variant v)
{
    static const char *const notes[VARIANTS] = {
        "Text, code and printed parameter counts of the paper disagree. This is the variant code, "
        "the default: " CODE_MEANS ". The others are text: " TEXT_MEANS "; and count: " COUNT_MEANS
        ".",
        "Text, code and printed parameter counts of the paper disagree. This is the variant "
        "text: " TEXT_MEANS ". The others are code, the default: " CODE_MEANS
        "; and count: " COUNT_MEANS ".",
        "Text, code and printed parameter counts of the paper disagree. This is the variant "
        "count: " COUNT_MEANS ". The others are code, the default: " CODE_MEANS
        "; and text: " TEXT_MEANS "."};
    return notes[v];
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
    const char *model, *recipe; /* NULL: any */
    const char *settings;
} models[] = {
    /* the first that fits */
    {"swin", "small", "decay_of=paper init=torch"},
    {"mega", "small", "decay_of=paper init=authors"},
    {NULL, "small", "decay_of=paper"},
    {"mega-lra", "lra", "decay_of=everything head=lra"},
    {NULL, NULL, ""},
};

/* The learning rate and the policy of the text, DeiT's Rand-Augment. */
static const char text_training[] =
    "lr=0.003 autoaugment=none randaugment=2 randaugment_magnitude=9 randaugment_std=0.5 "
    "randaugment_probability=0.5";

static int fits(const char *wanted, const char *is) { return !wanted || !strcmp(wanted, is); }

published_settings published_find(const char *model, const char *mixer, int is_complex,
                                  const char *recipe, published_variant v)
{
    published_settings found = {"", "", "", ""};
    for (size_t i = sizeof models / sizeof *models; i-- > 0;)
        if (fits(models[i].model, model) && fits(models[i].recipe, recipe))
            found.model = models[i].settings;
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        if (strcmp(mixers[i].model, model) || strcmp(mixers[i].mixer, mixer)
            || !(mixers[i].values & (is_complex ? COMPLEX : REAL)))
            continue;
        found.mixer = mixers[i].code;
        if (v == VARIANT_TEXT) found.variant = mixers[i].text;
        if (v == VARIANT_COUNT) found.variant = mixers[i].count;
    }
    if (v == VARIANT_TEXT && !strcmp(recipe, "small")) found.training = text_training;
    return found;
}
