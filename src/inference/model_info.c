/* model_info - what a model is. */
#include "core/sized.h"
#include "inference/trained_model.h"

const char *ssm2d_model_version(void) { return SSM2D_VERSION; }

void ssm2d_model_info_get(const ssm2d_model *m, ssm2d_model_info *info)
{
    const model_config *c = &m->config;
    const model_family *family = c->model->family;
    const ssm2d_model_info i = {.model = c->model->name,
                                .family = family->name,
                                .mixer = c->mixer.kind->name,
                                .classes = c->classes,
                                .labels = m->data.labels == LABEL_BINARY ? SSM2D_LABELS_BINARY
                                                                         : SSM2D_LABELS_CLASS,
                                .rows = c->image[0],
                                .cols = c->image[1],
                                .channels = c->channels,
                                .parameters = m->weights->learned,
                                .blocks = family->tokens && family->depth ? family->depth(c) : 0};
    sized_init(info, info->size, &i, sizeof i);
}

const char *ssm2d_model_class_name(const ssm2d_model *m, int i)
{
    return i >= 0 && i < m->data.classes ? m->data.names[i] : NULL;
}
