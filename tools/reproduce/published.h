/* published - layers, models and training of the paper's date, June 2023, as settings. The paper's
 * text, the authors' code and the printed parameter counts disagree in places; a variant says which
 * of them is followed there (docs/errata.md). */
#ifndef SSM2D_TOOLS_REPRODUCE_PUBLISHED_H
#define SSM2D_TOOLS_REPRODUCE_PUBLISHED_H

typedef enum published_variant {
    VARIANT_CODE,
    VARIANT_TEXT,
    VARIANT_COUNT,
    VARIANTS
} published_variant;

const char *published_variant_name(int i); /* NULL past the last */
/* What the variant means, and what the others would be; as sentences. */
const char *published_variant_note(published_variant v);

/* Settings as words for --set, separated by spaces; never NULL. */
typedef struct published_settings {
    const char *model;    /* of the model and its training, whatever the mixer */
    const char *mixer;    /* of the mixer, by the code */
    const char *variant;  /* replace some of these in the variant */
    const char *training; /* replace settings of training in the variant */
} published_settings;

/* What a run of the paper has. is_complex: the layer's systems are. */
published_settings published_find(const char *model, const char *mixer, int is_complex,
                                  const char *recipe, published_variant v);

#endif
