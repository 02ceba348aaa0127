/* published - layers, models and training of the paper's date, June 2023, as settings. The paper's
 * text, the authors' code and the printed parameter counts disagree in places; a variant says which
 * of them is followed there (docs/errata.md), or that nothing published is, and models and mixers
 * have the defaults of this library. */
#ifndef SSM2D_TOOLS_REPRODUCE_PUBLISHED_H
#define SSM2D_TOOLS_REPRODUCE_PUBLISHED_H

typedef enum published_variant {
    VARIANT_CODE,
    VARIANT_TEXT,
    VARIANT_COUNT,
    VARIANT_LIBRARY,
    VARIANTS
} published_variant;

const char *published_variant_name(int i); /* NULL past the last */
/* The default where training is the paper's as well, and where only models and mixers can be. */
published_variant published_default(int has_training);
/* What the variant means, and what the others would be; as sentences. */
enum { PUBLISHED_NOTE = 1600 };
void published_variant_note(published_variant v, int has_training, char text[PUBLISHED_NOTE]);

/* Settings as words for --set, separated by spaces; never NULL. */
typedef struct published_settings {
    const char *model;    /* of the model and its decay, whatever the mixer */
    const char *mixer;    /* of the mixer, by the code */
    const char *variant;  /* replace some of these in the variant */
    const char *training; /* replace settings of training in the variant */
} published_settings;

/* The model of the paper that a smaller one of the same family stands for; else the name itself. */
const char *published_model(const char *model);
/* What a run of one of the paper's models has, in a variant that follows the paper. is_complex: the
 * layer's systems are. */
published_settings published_find(const char *model, const char *mixer, int is_complex,
                                  published_variant v);

#endif
