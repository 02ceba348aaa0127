#include "models/weights_match.h"

#include "core/status.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 64 };

const char *const quantized_parts[QUANTIZED_PARTS] = {".scale", ".input_scale", ".input_zero"};

/* Whether it belongs to an array of 8 bits in the file. */
static int is_quantized_part(const weights *w, const safetensors *file, const char *name)
{
    for (int i = 0; i < QUANTIZED_PARTS; i++) {
        const size_t all = strlen(name), end = strlen(quantized_parts[i]);
        char of[PARAM_NAME];
        if (all <= end || all - end >= PARAM_NAME || strcmp(name + all - end, quantized_parts[i]))
            continue;
        snprintf(of, sizeof of, "%.*s", (int)(all - end), name);
        const safetensors_array *a = safetensors_find(file, of);
        if (a && a->type == SAFETENSORS_I8 && weights_find(w, of)) return 1;
    }
    return 0;
}

static int has_array(const void *file, const char *name)
{
    return safetensors_find(file, name) != NULL;
}

/* The model's name for an array of the file; NULL: it is not a parameter. */
static const char *our_name(const model_family *family, const safetensors *file, const char *name,
                            char ours[PARAM_NAME])
{
    const array_names names = {file, has_array};
    if (!family->rename || strlen(name) >= PARAM_NAME) return name;
    snprintf(ours, PARAM_NAME, "%s", name);
    return family->rename(&names, name, ours) ? ours : NULL;
}

/* PyTorch counts the batches of a BatchNorm in an array besides its moments, which is ignored. */
static int is_counter(const weights *w, const char *name)
{
    static const char counter[] = ".num_batches_tracked";
    const size_t length = strlen(name);
    char mean[PARAM_NAME];
    if (length < sizeof counter || strcmp(name + length - (sizeof counter - 1), counter)) return 0;
    snprintf(mean, sizeof mean, "%.*s.running_mean", (int)(length - (sizeof counter - 1)), name);
    return weights_find(w, mean) != NULL;
}

ssm2d_status weights_match(const weights *w, const char *path, const safetensors *file,
                           int quantized, const safetensors_array **found, ssm2d_error *error)
{
    char ours[PARAM_NAME], one[SHOWN], two[SHOWN];
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const safetensors_array *array = safetensors_get(file, i);
        const char *name = our_name(w->config.model->family, file, array->name, ours);
        if (!name) continue;
        const param_array *a = weights_find(w, name);
        if (!a && is_counter(w, name)) continue;
        if (!a && quantized && is_quantized_part(w, file, name)) continue;
        if (!a)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: has the array %s, which the model does not have: it was written with "
                        "other settings (mixer, pos_embed, qkv_bias ..)",
                        text_path(path),
                        text_show(array->name, strlen(array->name), one, sizeof one));
        const safetensors_array **mine = &found[a - w->arrays];
        if (*mine)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: has both %s and %s, which are the same array of the model",
                        text_path(path),
                        text_show((*mine)->name, strlen((*mine)->name), one, sizeof one),
                        text_show(array->name, strlen(array->name), two, sizeof two));
        *mine = array;
    }
    return SSM2D_OK;
}
