/* preparation - converts pixels to a model's input as in the run's evaluation, or as the caller
 * specifies. */
#include "core/sized.h"
#include "core/status.h"
#include "inference/trained_model.h"

#include <stdio.h>
#include <string.h>

static const char crop_key[] = "eval_crop", filter_key[] = "interpolation";

void ssm2d_model_preparation_init(ssm2d_model_preparation *preparation, size_t size)
{
    const ssm2d_model_preparation defaults = {.std = {1, 1, 1}};
    sized_init(preparation, size, &defaults, sizeof defaults);
}

/* The value of an augmentation's field. */
static const void *field_value(const augment_options *options, const char *name)
{
    field_group groups[MAX_AUGMENTATIONS + 1] = {{0}};
    void *config = (void *)options;
    augment_options_groups(0, groups);
    const ssm2d_field *f = field_find_in(groups, name, &config);
    return (const char *)config + f->offset;
}

int ssm2d_model_preparation_get(const ssm2d_model *m, ssm2d_model_preparation *preparation)
{
    ssm2d_model_preparation p = {0};
    int filter;
    if (!m->is_run) return 0;
    memcpy(p.mean, m->data.norm.mean, sizeof p.mean);
    memcpy(p.std, m->data.norm.std, sizeof p.std);
    memcpy(&p.crop, field_value(&m->augment, crop_key), sizeof p.crop);
    memcpy(&filter, field_value(&m->augment, filter_key), sizeof filter);
    p.filter = filter == RESIZE_BICUBIC ? SSM2D_BICUBIC : SSM2D_BILINEAR;
    sized_init(preparation, preparation->size, &p, sizeof p);
    return 1;
}

/* Converts a preparation to options, whose checks refuse bad values. */
static ssm2d_status set_options(const ssm2d_model_preparation *p, augment_options *options,
                                ssm2d_error *error)
{
    char crop[32];
    if (p->filter != SSM2D_BILINEAR && p->filter != SSM2D_BICUBIC)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "preparation.filter=%d: use SSM2D_BILINEAR or SSM2D_BICUBIC", (int)p->filter);
    snprintf(crop, sizeof crop, "%.17g", p->crop);
    ssm2d_status status = augment_options_set(options, crop_key, crop, error);
    return status ? status
                  : augment_options_set(options, filter_key,
                                        p->filter == SSM2D_BICUBIC ? "bicubic" : "bilinear", error);
}

ssm2d_status preparation_read(const ssm2d_model *m, const ssm2d_model_preparation *given,
                              augment_options *options, normalisation *norm, ssm2d_error *error)
{
    static const size_t sizes[] = {sizeof(ssm2d_model_preparation), 0};
    ssm2d_model_preparation p;
    *options = m->is_run ? m->augment : augment_options_default();
    *norm = m->data.norm;
    if (!given) return SSM2D_OK;
    ssm2d_status status = sized_read(&p, given, sizes, "model_preparation", error);
    if (status) return status;
    memcpy(norm->mean, p.mean, sizeof p.mean);
    memcpy(norm->std, p.std, sizeof p.std);
    return set_options(&p, options, error);
}
